//! Operations on one limb: vectors of residues modulo one odd `q < 2^61`.
//!
//! Inputs and outputs are canonical, in `[0, q)`, unless an operation says otherwise. Slices of one
//! call have one length, a multiple of 8; an operation panics when they have not. **Lazily
//! reduced** inputs are those that [`crate::ntt::NttPlan::forward_lazy`] leaves: below `16q`, and
//! below `2^52` (IFMA, AVX2) or `2^63` (else).
//!
//! Products are taken position by position: of limbs in the evaluation domain, they are products of
//! polynomials.
//!
//! Each operation is written once, in [`ops`], over the few things that an arithmetic offers,
//! [`lanes::Lanes`]:
//!
//! | kernel | `q` | arithmetic | a product, per 8 residues |
//! |---|---|---|---|
//! | portable | below `2^61` | [`portable`]: 64 x 64 bits | 24 multiplications |
//! | AVX2 | `2^13` to `2^50` | [`avx2`]: doubles with fused multiply-add | 12 |
//! | AVX-512 | below `2^61` | [`word61`]: 32 x 32 bits | 8 |
//! | AVX-512 IFMA | `2^13` to `2^50` | [`ifma`]: 52 x 52 bits | 4 |
//!
//! What an operation costs stands with it, in vector instructions per 8 residues beyond loads and
//! stores, as IFMA / 61 bits.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod entry;
#[cfg(target_arch = "x86_64")]
mod ifma;
mod key;
mod lanes;
mod operations;
mod ops;
mod portable;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod word61;

use crate::{
    Kernel,
    arith::{inv64, pow_mod},
    monomial::Monomial,
};
#[cfg(target_arch = "x86_64")]
use {avx2::F64, ifma::Ifma, word61::Word61};

pub(crate) use key::digit_bytes;
use lanes::{KeyWord, Lanes};
use portable::Portable;

pub(crate) use operations::operations;

pub use key::{KeyLimb, KeyRing, PutDigit};
pub use scalar::Scalar;

/// The operations modulo one `q`, with the constants they need.
#[derive(Debug, Clone)]
pub struct Elementwise {
    pub(crate) q: u64,
    /// `q^-1 mod 2^64`.
    q_inverse: u64,
    /// The Montgomery factor of key residues.
    key_factor: Scalar,
    arithmetic: Arithmetic,
}

/// What [`Elementwise::inner_product_beside`] adds to an inner product: each takes no pass of its
/// own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    /// A digit of the key, the `x` that it is multiplied by, lazily reduced, and by what `x` is
    /// multiplied first.
    pub scaled: Option<(usize, &'a [u64], &'a Scalar)>,
    /// For each of both sums what is added, lazily reduced, and by what it is multiplied.
    pub added: [Option<(&'a [u64], &'a Scalar)>; 2],
}

/// A term of [`Elementwise::sum_products`]: what both of a pair are multiplied by, and the pair.
pub type PairTerm<'a> = (&'a [u64], [&'a [u64]; 2]);

/// A term of [`Elementwise::inner_product_turned`]: digits of a key and what they are multiplied
/// by, and the monomial.
pub type Turned<'a> = (&'a [(usize, &'a [u64])], Monomial<'a>);

/// Variants with vectors exist only where the CPU has been found to have their instructions.
#[derive(Debug, Clone)]
enum Arithmetic {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Avx2(F64),
    #[cfg(target_arch = "x86_64")]
    Avx512(Word61<false>),
    #[cfg(target_arch = "x86_64")]
    IfmaBelow61(Word61<true>),
    #[cfg(target_arch = "x86_64")]
    IfmaBelow50(Ifma<false>),
    #[cfg(target_arch = "x86_64")]
    IfmaBelow48(Ifma<true>),
}

/// Evaluates an expression for the arithmetic at hand.
macro_rules! with_lanes {
    ($arithmetic:expr, $l:ident => $value:expr) => {
        match $arithmetic {
            Arithmetic::Portable($l) => $value,
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Avx2($l) => $value,
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Avx512($l) => $value,
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow61($l) => $value,
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow50($l) => $value,
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow48($l) => $value,
        }
    };
}

impl Arithmetic {
    fn new(q: u64, kernel: Kernel) -> Self {
        match kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 | Kernel::Avx512 if F64::supports(q) => Arithmetic::Avx2(F64::new(q)),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512Ifma if Ifma::<true>::supports(q) => {
                Arithmetic::IfmaBelow48(Ifma::new(q))
            }
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512Ifma if Ifma::<false>::supports(q) => {
                Arithmetic::IfmaBelow50(Ifma::new(q))
            }
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512Ifma if q >= 1 << 50 => Arithmetic::IfmaBelow61(Word61::new(q)),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512Ifma | Kernel::Avx512 => Arithmetic::Avx512(Word61::new(q)),
            _ => Arithmetic::Portable(Portable::new(q)),
        }
    }

    /// How key residues are stored.
    fn key_word(&self) -> KeyWord {
        fn of<L: Lanes>(_: &L) -> KeyWord {
            L::KEY_WORD
        }
        with_lanes!(self, l => of(l))
    }
}

/// Calls an operation of [`ops`] on the arithmetic at hand.
macro_rules! run {
    ($elementwise:expr, $operation:ident($($argument:expr),*)) => {
        match &$elementwise.arithmetic {
            Arithmetic::Portable(l) => ops::$operation(*l, $($argument),*),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the variant exists only where the CPU has AVX2 and FMA.
            Arithmetic::Avx2(l) => unsafe { entry::avx2::$operation(l, $($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the variant exists only where the CPU has AVX-512 F, DQ, VL and BW.
            Arithmetic::Avx512(l) => unsafe { entry::avx512::$operation(l, $($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the variant exists only where the CPU has those, IFMA and VBMI.
            Arithmetic::IfmaBelow61(l) => unsafe { entry::avx512ifma::$operation(l, $($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Arithmetic::IfmaBelow50(l) => unsafe { entry::avx512ifma::$operation(l, $($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Arithmetic::IfmaBelow48(l) => unsafe { entry::avx512ifma::$operation(l, $($argument),*) },
        }
    };
}

/// Defines the methods of [`operations`]. Each calls the operation of its name.
macro_rules! methods {
    ($($group:ident {
        $($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*);)*
    })*) => {
        $($(
            $(#[$doc])*
            #[allow(clippy::too_many_arguments)]
            pub fn $name(&self, $($argument: $type),*) {
                run!(self, $name($($argument),*));
            }
        )*)*
    };
}

impl Elementwise {
    /// For any odd `q` in `[3, 2^61)`. A kernel that this CPU cannot run gives way to the portable
    /// one.
    ///
    /// # Panics
    /// For any other `q`.
    pub fn new(q: u64, kernel: Kernel) -> Self {
        assert!(
            q % 2 == 1 && (3..1 << 61).contains(&q),
            "{q} is no odd modulus from 3 to 2^61 - 1"
        );
        let kernel = if kernel.is_supported() { kernel } else { Kernel::Portable };
        let (q_inverse, arithmetic) = (inv64(q), Arithmetic::new(q, kernel));
        let factor = pow_mod(2, u64::from(arithmetic.key_word().montgomery_log2), q);
        Elementwise { q, q_inverse, key_factor: Scalar::new(factor, q, q_inverse), arithmetic }
    }

    /// The modulus.
    pub fn modulus(&self) -> u64 {
        self.q
    }

    /// The multiple of `q` below which lazily reduced inputs may lie: 16, or `floor(2^52 / q)`
    /// (IFMA, AVX2) or `floor(2^63 / q)` (else) where that is less.
    pub fn lazy_multiple(&self) -> u64 {
        with_lanes!(&self.arithmetic, l => l.lazy_multiple())
    }

    /// Prepares the constant `c` (reduced modulo `q` first). It serves every kernel.
    pub fn scalar(&self, c: u64) -> Scalar {
        Scalar::new(c % self.q, self.q, self.q_inverse)
    }

    operations!(methods!());

    /// [`Elementwise::inner_product`] with more summands: a multiple of a digit, and multiples of
    /// other limbs.
    ///
    /// Beside what the inner product takes: 11 / 51 with IFMA, 78 without, for the scaled digit,
    /// and 2 / 9, 13 for each limb that is added.
    ///
    /// # Panics
    /// As `inner_product`.
    pub fn inner_product_beside(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        digits: &[(usize, &[u64])],
        key: &KeyLimb,
        beside: &Beside<'_>,
    ) {
        run!(self, inner_product_beside(acc0, acc1, digits, key, beside, &self.key_factor));
    }

    /// `acc0 = sum_j (X^e_j - 1) sum x b_d` and `acc1` with `a` likewise, for up to three pairs of
    /// digits and a monomial `X^e_j`; the inner sums are over the pairs `(d, x)` of the digits, as
    /// in [`Elementwise::inner_product`]. The key is read once, and nothing but the sums is
    /// written.
    ///
    /// Beside what the inner products take: 14 / 60 for each pair, for the values of the monomial
    /// and the products by them, and one more reduction.
    ///
    /// # Panics
    /// As `inner_product`, when there is no pair or more than three, or a monomial is of another
    /// ring degree.
    pub fn inner_product_turned(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        turned: &[Turned<'_>],
        key: &KeyLimb,
    ) {
        run!(self, inner_product_turned(acc0, acc1, turned, key, &self.key_factor));
    }

    /// `acc0 = sum x y0` and `acc1 = sum x y1` over the terms `(x, [y0, y1])`, reduced once for as
    /// many terms as in [`Elementwise::inner_product`].
    ///
    /// Per term: 4 / 17 with IFMA, 26 without; and for the reductions together, with `t` terms,
    /// 18 + 4 log2(t + 1) / 60 with IFMA, 100 without.
    ///
    /// # Panics
    /// When lengths differ.
    pub fn sum_products(&self, acc0: &mut [u64], acc1: &mut [u64], terms: &[PairTerm<'_>]) {
        run!(self, sum_products(acc0, acc1, terms, &self.key_factor));
    }

    /// [`Elementwise::sum_products`] for `x` whose values repeat: of every 64 positions all groups
    /// of 8 are alike, and the first of them stands in `x`, which has an eighth of the length. So
    /// are, in the evaluation domain, the limbs of polynomials in `X^8` ([`crate::ntt`]); they take
    /// an eighth of the memory.
    ///
    /// # Panics
    /// When lengths differ, or are no multiple of 64.
    pub fn sum_repeated_products(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        terms: &[PairTerm<'_>],
    ) {
        run!(self, sum_repeated_products(acc0, acc1, terms, &self.key_factor));
    }

    /// The Montgomery factor of key residues, modulo `q`.
    pub(crate) fn key_factor(&self) -> u64 {
        self.key_factor.value
    }

    /// Bytes that each digit takes of a [`KeyLimb`] with residues modulo `q` of this kernel, for
    /// polynomials of `length` coefficients.
    pub fn key_bytes(&self, length: usize) -> usize {
        digit_bytes(length, self.arithmetic.key_word().bytes)
    }
}

impl KeyRing for Elementwise {
    fn key_shape(&self, digits: usize, length: usize) -> KeyLimb {
        fn of<L: Lanes>(_: &L, digits: usize, length: usize) -> KeyLimb {
            KeyLimb::shape::<L>(digits, length)
        }
        with_lanes!(&self.arithmetic, l => of(l, digits, length))
    }

    fn write_key_digit(&self, out: &mut [u8], [digits, d]: [usize; 2], b: &[u64], a: &[u64]) {
        let size = out.len() / digits;
        run!(self, pack_key(&mut out[d * size..(d + 1) * size], b, a, &self.key_factor));
    }

    fn coalesce_into(&self, out: &mut [u8], key: &KeyLimb, groups: &[&[usize]]) {
        run!(self, coalesce_key(out, key, groups));
    }
}
