//! The choice of instruction sets for the kernels, made once at run time.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__cpuid;
use std::{fmt, str::FromStr, sync::OnceLock};

use crate::RingError;

/// A family of kernels, named by the most capable instruction set that it may use.
///
/// A family uses the kernels of less capable families where they are needed. Results do not depend
/// on the choice: every kernel gives the same residues in the same order.
///
/// ```
/// use hippocrene_ring::Kernel;
///
/// assert!(Kernel::supported().any(|kernel| kernel == Kernel::Portable));
/// assert_eq!("avx2".parse::<Kernel>().is_ok(), Kernel::Avx2.is_supported());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kernel {
    /// Plain Rust on 64-bit and 128-bit integers, for any modulus.
    Portable,
    /// AVX2 with FMA on `f64` for moduli below 2^50, and [`Kernel::Portable`] above.
    Avx2,
    /// AVX-512 (F, DQ, VL, BW) on 64-bit integers for moduli from 2^50 on, and [`Kernel::Avx2`]
    /// below where that is faster.
    Avx512,
    /// AVX-512 IFMA (and VBMI) for moduli below 2^50, and [`Kernel::Avx512`] above.
    Avx512Ifma,
}

impl Kernel {
    /// All kernels, from the least to the most capable.
    pub const ALL: [Kernel; 4] =
        [Kernel::Portable, Kernel::Avx2, Kernel::Avx512, Kernel::Avx512Ifma];

    /// Returns true if this CPU can run the kernel.
    pub fn is_supported(self) -> bool {
        match self {
            Kernel::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => {
                Kernel::Avx2.is_supported()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512bw")
            }
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512Ifma => {
                Kernel::Avx512.is_supported()
                    && is_x86_feature_detected!("avx512ifma")
                    && is_x86_feature_detected!("avx512vbmi")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// Returns the kernels that this CPU can run, from the least to the most capable.
    pub fn supported() -> impl Iterator<Item = Kernel> {
        Kernel::ALL.into_iter().filter(|k| k.is_supported())
    }

    /// Returns the kernel to use.
    ///
    /// The environment variable `HIPPOCRENE_KERNEL` selects it. Without the variable, it is the
    /// most capable kernel of this CPU. The variable is read once, and later changes have no
    /// effect.
    ///
    /// # Errors
    /// [`RingError::Kernel`] if the variable names no kernel, or one that this CPU cannot run.
    pub fn detect() -> Result<Kernel, RingError> {
        static CHOICE: OnceLock<Result<Kernel, RingError>> = OnceLock::new();
        CHOICE
            .get_or_init(|| match std::env::var("HIPPOCRENE_KERNEL") {
                Ok(value) => value.parse(),
                Err(_) => Ok(Kernel::supported().max().unwrap_or(Kernel::Portable)),
            })
            .clone()
    }
}

/// Returns true if prefetches of keys should go to the first-level cache instead of the second.
///
/// On AMD's Zen 5, reading keys from memory is then 1.15 to 1.3 times as fast (measured). Zen 4
/// should prefetch to the second-level cache, which can wait for more lines of memory at once.
#[cfg(target_arch = "x86_64")]
pub(crate) fn prefetches_to_l1() -> bool {
    static CHOICE: OnceLock<bool> = OnceLock::new();
    *CHOICE.get_or_init(|| Cpu::detect().design() == Design::Zen5)
}

/// The CPU that this process runs on, as `cpuid` identifies it.
///
/// ```
/// use hippocrene_ring::Cpu;
///
/// let cpu = Cpu::detect();
/// assert_eq!(cpu.to_string().split('-').count(), 3);
/// assert_eq!(cpu.design(), Cpu::detect().design());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu {
    vendor: [u8; 12],
    family: u32,
    model: u32,
}

/// The designs of CPUs that have measured cost profiles. See [`Cpu`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// AMD's CPUs of 2022 and 2023 with AVX-512.
    Zen4,
    /// AMD's CPUs from 2024 on.
    Zen5,
    /// Intel's server CPUs of 2023: Sapphire Rapids and Emerald Rapids, which have the same cores.
    SapphireRapids,
    /// Any design without a measured cost profile.
    Other,
}

impl Cpu {
    /// Identifies the CPU. On architectures other than x86-64, all fields are 0.
    pub fn detect() -> Cpu {
        #[cfg(target_arch = "x86_64")]
        {
            // `__cpuid` is unsafe in older compilers.
            #[allow(unused_unsafe)]
            // SAFETY: every x86-64 CPU has this instruction and its leaves 0 and 1.
            let cpuid = |leaf| unsafe { __cpuid(leaf) };
            let (name, signature) = (cpuid(0), cpuid(1).eax);
            let mut vendor = [0; 12];
            for (bytes, word) in vendor.chunks_exact_mut(4).zip([name.ebx, name.edx, name.ecx]) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
            let family = (signature >> 8 & 0xf) + (signature >> 20 & 0xff);
            Cpu { vendor, family, model: (signature >> 4 & 0xf) + (signature >> 12 & 0xf0) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        Cpu { vendor: [0; 12], family: 0, model: 0 }
    }

    /// Returns the design. AMD's family 25 also contains Zen 3, which has other model numbers.
    pub fn design(self) -> Design {
        match (&self.vendor, self.family, self.model) {
            (b"AuthenticAMD", 0x19, 0x10..=0x1f | 0x60..=0x7f | 0xa0..=0xaf) => Design::Zen4,
            (b"AuthenticAMD", 0x1a, _) => Design::Zen5,
            (b"GenuineIntel", 6, 0x8f | 0xcf) => Design::SapphireRapids,
            _ => Design::Other,
        }
    }
}

/// A name that is suitable for files, for example `AuthenticAMD-25-17`.
impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = self.vendor.iter().copied().filter(u8::is_ascii_alphanumeric).map(char::from);
        let vendor: String = letters.collect();
        let vendor = if vendor.is_empty() { std::env::consts::ARCH } else { &vendor };
        write!(f, "{vendor}-{}-{}", self.family, self.model)
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kernel::Portable => "portable",
            Kernel::Avx2 => "avx2",
            Kernel::Avx512 => "avx512",
            Kernel::Avx512Ifma => "avx512ifma",
        })
    }
}

impl FromStr for Kernel {
    type Err = RingError;

    fn from_str(value: &str) -> Result<Self, RingError> {
        let error = |reason: &str| RingError::Kernel { value: value.into(), reason: reason.into() };
        let kernel = Kernel::ALL
            .into_iter()
            .find(|k| k.to_string() == value)
            .ok_or_else(|| error("the kernels are portable, avx2, avx512 and avx512ifma"))?;
        if kernel.is_supported() {
            Ok(kernel)
        } else {
            Err(error("this CPU lacks its instructions"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[test]
    fn cpu_name_agrees_with_linux() {
        let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let value = |name: &str| {
            let line = cpu.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_once(": ").unwrap().1
        };
        assert_eq!(
            prefetches_to_l1(),
            value("vendor_id") == "AuthenticAMD" && value("cpu family") == "26"
        );
        let model = cpu.lines().find(|line| line.starts_with("model\t")).unwrap();
        let model = model.split_once(": ").unwrap().1;
        let named = format!("{}-{}-{model}", value("vendor_id"), value("cpu family"));
        assert_eq!(Cpu::detect().to_string(), named);
    }

    #[test]
    fn designs_are_recognised_by_family_and_model() {
        let design =
            |vendor: &[u8; 12], family, model| Cpu { vendor: *vendor, family, model }.design();
        assert_eq!(design(b"AuthenticAMD", 25, 17), Design::Zen4);
        assert_eq!(design(b"AuthenticAMD", 25, 1), Design::Other); // Zen 3
        assert_eq!(design(b"AuthenticAMD", 26, 2), Design::Zen5);
        assert_eq!(design(b"GenuineIntel", 6, 143), Design::SapphireRapids);
        assert_eq!(design(b"GenuineIntel", 6, 207), Design::SapphireRapids);
        assert_eq!(design(b"GenuineIntel", 6, 106), Design::Other); // Ice Lake
    }

    #[test]
    fn names_round_trip_and_unknown_ones_are_refused() {
        for kernel in Kernel::supported() {
            assert_eq!(kernel.to_string().parse(), Ok(kernel));
        }
        assert!(
            "avx1024"
                .parse::<Kernel>()
                .unwrap_err()
                .to_string()
                .contains("HIPPOCRENE_KERNEL=avx1024")
        );
    }
}
