//! What a blind rotation is computed with.

use hippocrene_ring::{SIGMA, digits::Digits};
use hippocrene_rlwe::{Noise, SecretDistribution, noise, security};

use crate::{FhewError, LweParameters, noise::gadget_rounding};

/// How an external product decomposes the two parts of an accumulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RotationGadget {
    /// Into `count` digits of `base_log2` bits, the highest ones ([`Digits`]): `2 count` forward
    /// and 2 inverse transforms.
    Digits {
        /// `log2` of the base.
        base_log2: u32,
        /// How many.
        count: usize,
    },
    /// Not at all: keys are modulo `q p`, and products are divided by the special prime `p`
    /// (PEGASUS IV.A, the RNS gadget for one `q`). 4 forward and 4 inverse transforms, and much
    /// less noise.
    SpecialPrime {
        /// `p`.
        p: u64,
    },
}

/// The LWE ciphertexts that go in, the ring of the accumulator (degree `N`, modulus `q`, its
/// secret), and the gadget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RotationParameters {
    input: LweParameters,
    ring: LweParameters,
    gadget: RotationGadget,
}

impl RotationParameters {
    /// Parameters of at least 128 bits of security: of the input at its modulus, and of the ring at
    /// the modulus of its keys.
    ///
    /// # Errors
    /// As [`LweParameters::new`] for either, and as [`RotationParameters::insecure`].
    pub fn new(
        input: LweParameters,
        ring: LweParameters,
        gadget: RotationGadget,
    ) -> Result<Self, FhewError> {
        let parameters = Self::insecure(input, ring, gadget)?;
        let log2_keys: f64 = parameters.moduli().iter().map(|q| (*q as f64).log2()).sum();
        for (of, log2_modulus) in [(input, input.log2_modulus()), (ring, log2_keys)] {
            security::check_dimension(of.dimension(), of.secret(), log2_modulus)?;
        }
        Ok(parameters)
    }

    /// Parameters whose security nobody has checked: for tests, and for the sets of papers.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] when the ring degree is no power of two from 64 to 2^17, the
    /// modulus or the special prime is a power of two, both are the same, the digits make no sense
    /// for the modulus, or a binary secret of inputs has an odd dimension. Whether they are primes
    /// with a transform of that degree is found when keys are made.
    pub fn insecure(
        input: LweParameters,
        ring: LweParameters,
        gadget: RotationGadget,
    ) -> Result<Self, FhewError> {
        let degree = ring.dimension();
        if !degree.is_power_of_two() || !(64..=1 << 17).contains(&degree) {
            let what =
                format!("the ring degree is a power of two from 64 to 2^17, but not {degree}");
            return Err(FhewError::Parameters { what });
        }
        let parameters = RotationParameters { input, ring, gadget };
        if !input.dimension().is_multiple_of(parameters.coefficients()) {
            let what = format!(
                "binary secrets are read in pairs, but the dimension is {}",
                input.dimension()
            );
            return Err(FhewError::Parameters { what });
        }
        let moduli = parameters.moduli();
        if let Some(q) = moduli.iter().find(|q| q.is_power_of_two()) {
            let what = format!("accumulators are rotated modulo primes, but {q} is a power of two");
            return Err(FhewError::Parameters { what });
        }
        if moduli.first() == moduli.get(1) {
            let what = format!("the special prime and the modulus are both {}", ring.modulus());
            return Err(FhewError::Parameters { what });
        }
        if let RotationGadget::Digits { base_log2, count } = gadget
            && parameters.digits().is_none()
        {
            let what = format!(
                "{count} digits of {base_log2} bits are not a gadget of the modulus {}",
                ring.modulus()
            );
            return Err(FhewError::Parameters { what });
        }
        Ok(parameters)
    }

    /// Parameters of the LWE ciphertexts that are looked up. Those of any modulus can be; keys that
    /// switch to this secret are modulo this one.
    pub fn input(&self) -> LweParameters {
        self.input
    }

    /// The ring of the accumulator: degree, modulus, secret. Results are LWE ciphertexts of these
    /// parameters.
    pub fn ring(&self) -> LweParameters {
        self.ring
    }

    /// The gadget.
    pub fn gadget(&self) -> RotationGadget {
        self.gadget
    }

    /// The number of steps of a rotation: one for each coefficient of the secret of inputs, or one
    /// for each two if it is binary.
    pub fn steps(&self) -> usize {
        self.input.dimension() / self.coefficients()
    }

    /// The number of bits of the secret that a step has RGSW encryptions of: one for each value of
    /// its coefficients other than 0.
    pub fn bits(&self) -> usize {
        self.coefficients() + 1
    }

    /// The number of coefficients of the secret in a step.
    pub(super) fn coefficients(&self) -> usize {
        match self.input.secret() {
            SecretDistribution::Binary => 2,
            SecretDistribution::Ternary | SecretDistribution::SparseTernary { .. } => 1,
        }
    }

    /// The average number of steps that turn the accumulator. In the others all bits are 0.
    fn turns(&self) -> f64 {
        match self.input.secret() {
            SecretDistribution::Binary => 0.75 * self.steps() as f64,
            SecretDistribution::Ternary | SecretDistribution::SparseTernary { .. } => {
                self.input.secret_weight()
            }
        }
    }

    /// The primes that keys are modulo: `q`, and `p` where there is one.
    pub(super) fn moduli(&self) -> Vec<u64> {
        match self.gadget {
            RotationGadget::Digits { .. } => vec![self.ring.modulus()],
            RotationGadget::SpecialPrime { p } => vec![self.ring.modulus(), p],
        }
    }

    /// How many limbs each of [`BlindRotationKey::b`](crate::BlindRotationKey::b) has: the RGSW
    /// encryptions of the bits of one of [`RotationParameters::steps`], without the seeded half, a
    /// limb for every row and prime.
    pub fn limbs(&self) -> usize {
        self.bits() * self.rows() * self.moduli().len()
    }

    pub(super) fn digits(&self) -> Option<Digits> {
        match self.gadget {
            RotationGadget::Digits { base_log2, count } => {
                Digits::new(self.ring.modulus(), base_log2, count)
            }
            RotationGadget::SpecialPrime { .. } => None,
        }
    }

    /// The weight of row `k`, modulo `q`.
    pub(super) fn weight(&self, k: usize) -> u64 {
        match self.gadget {
            RotationGadget::Digits { .. } => self.digits().expect("checked when made").weight(k),
            RotationGadget::SpecialPrime { p } => p % self.ring.modulus(),
        }
    }

    /// How many polynomials an accumulator is decomposed into.
    pub(crate) fn rows(&self) -> usize {
        match self.gadget {
            RotationGadget::Digits { count, .. } => 2 * count,
            RotationGadget::SpecialPrime { .. } => 2,
        }
    }

    /// The error of an accumulator after a rotation.
    ///
    /// A step adds `sum_j (X^e_j - 1) E_j`, whose variance is twice the number of bits times that
    /// of an external product's error `E`: `sigma^2 N sum_r D_r^2 / 12` over the rows `r`, of width
    /// `D_r`. Digits round the accumulator by `r0 + r1 s`, which counts times `X^e_j - 1`, so twice
    /// where a bit is 1. With a special prime the sum is divided by `p`, and rounded.
    pub fn noise(&self) -> Noise {
        let (degree, weight) = (self.ring.dimension(), self.ring.secret_weight());
        let steps = self.steps() as f64;
        let products_log2 = 0.5 * (2.0 * self.bits() as f64 * steps).log2();
        match self.gadget {
            RotationGadget::Digits { count, .. } => {
                let digits = self.digits().expect("checked when made");
                let widths = (0..2 * count).map(|row| digits.log2_width(row % count));
                let products = noise::inner_product(degree, SIGMA, widths).scaled(products_log2);
                products.plus(
                    gadget_rounding(&digits, 1.0 + weight)
                        .scaled(0.5 * (2.0 * self.turns()).log2()),
                )
            }
            RotationGadget::SpecialPrime { p } => {
                let log2_q = self.ring.log2_modulus();
                let products = noise::inner_product(degree, SIGMA, [log2_q; 2])
                    .scaled(products_log2 - (p as f64).log2());
                products.plus(noise::rounding(weight, 2).scaled(0.5 * steps.log2()))
            }
        }
    }

    /// The error of the exponent that the error of an input modulo `modulus` and the switch to the
    /// modulus `2N` give: variance `(2N input / q)^2 + (1 + |s|^2) / 12`, in entries of the table
    /// (PEGASUS, Appendix C.2); of binary secrets with `|s - 1/2|^2`
    /// ([`crate::LweCiphertext::switch_modulus`]). An input modulo `2N` is not rounded: its error
    /// is that of the exponent.
    pub fn index_noise(&self, input: Noise, modulus: u64) -> Noise {
        if modulus == 2 * self.ring.dimension() as u64 {
            return input;
        }
        let entries = (2 * self.ring.dimension()) as f64;
        input
            .scaled((entries / modulus as f64).log2())
            .plus(noise::rounding(self.input.secret_spread(), 2))
    }
}
