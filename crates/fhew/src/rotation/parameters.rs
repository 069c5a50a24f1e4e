//! The parameters of blind rotations.

use hippocrene_ring::{SIGMA, digits::Digits};
use hippocrene_rlwe::{Noise, SecretDistribution, noise, security};

use crate::{FhewError, LweParameters, noise::gadget_rounding};

/// How an external product decomposes the two parts of an accumulator.
///
/// See [`PreparedBlindRotationKey`](crate::PreparedBlindRotationKey) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RotationGadget {
    /// Into the highest `count` digits of `base_log2` bits ([`Digits`]).
    ///
    /// A step needs `2 count` forward and 2 inverse transforms.
    Digits {
        /// `log2` of the base.
        base_log2: u32,
        /// The number of digits of each part.
        count: usize,
    },
    /// No decomposition: keys are modulo `q p`, and products are divided by the special prime `p`
    /// (PEGASUS IV.A, the RNS gadget for one `q`).
    ///
    /// A step needs 4 forward and 4 inverse transforms, and adds much less noise.
    SpecialPrime {
        /// The special prime `p`.
        p: u64,
    },
}

/// The parameters of blind rotations: the LWE ciphertexts that go in, the ring of the accumulator,
/// and the gadget.
///
/// The ring has degree `N`, modulus `q` and a secret of its own. See
/// [`PreparedBlindRotationKey`](crate::PreparedBlindRotationKey) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RotationParameters {
    input: LweParameters,
    ring: LweParameters,
    gadget: RotationGadget,
}

impl RotationParameters {
    /// Makes parameters of at least 128 bits of security.
    ///
    /// The input is checked at its modulus, and the ring at the modulus of its keys.
    ///
    /// # Errors
    /// The same as [`LweParameters::new`] for either, and as [`RotationParameters::insecure`].
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

    /// Makes parameters without a check of their security, for tests and the parameter sets of
    /// papers.
    ///
    /// Key generation, not this function, checks that the moduli are primes with a transform of the
    /// ring degree.
    ///
    /// # Errors
    /// [`FhewError::Parameters`] in any of these cases:
    ///
    /// - The ring degree is not a power of two from 64 to 2^17.
    /// - The modulus or the special prime is a power of two, or both are the same.
    /// - The digits do not fit the modulus.
    /// - The secret of inputs is binary and its dimension is odd.
    pub fn insecure(
        input: LweParameters,
        ring: LweParameters,
        gadget: RotationGadget,
    ) -> Result<Self, FhewError> {
        let degree = ring.dimension();
        if !degree.is_power_of_two() || !(64..=1 << 17).contains(&degree) {
            let what = format!(
                "the ring degree is {degree}, but a power of two from 64 to 2^17 is needed"
            );
            return Err(FhewError::Parameters { what });
        }
        let parameters = RotationParameters { input, ring, gadget };
        if !input.dimension().is_multiple_of(parameters.coefficients()) {
            let what = format!(
                "binary secrets are read in pairs, but the dimension is {}, which is odd",
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

    /// Returns the parameters of the LWE ciphertexts that are looked up.
    ///
    /// Ciphertexts of any modulus can be looked up. Keys that switch to this secret have this
    /// modulus.
    pub fn input(&self) -> LweParameters {
        self.input
    }

    /// Returns the degree, the modulus and the secret of the accumulator's ring.
    ///
    /// Results are LWE ciphertexts with these parameters.
    pub fn ring(&self) -> LweParameters {
        self.ring
    }

    /// Returns the gadget.
    pub fn gadget(&self) -> RotationGadget {
        self.gadget
    }

    /// Returns the number of steps of a rotation.
    ///
    /// A step handles one coefficient of the secret of inputs, or two if it is binary.
    pub fn steps(&self) -> usize {
        self.input.dimension() / self.coefficients()
    }

    /// Returns the number of bits of the secret that a step has RGSW encryptions of.
    ///
    /// There is one for each value of the step's coefficients other than 0.
    pub fn bits(&self) -> usize {
        self.coefficients() + 1
    }

    /// Returns the number of coefficients of the secret that a step handles.
    pub(super) fn coefficients(&self) -> usize {
        match self.input.secret() {
            SecretDistribution::Binary => 2,
            SecretDistribution::Ternary | SecretDistribution::SparseTernary { .. } => 1,
        }
    }

    /// Returns the average number of steps that turn the accumulator.
    ///
    /// In the other steps all bits are 0.
    fn turning_steps(&self) -> f64 {
        match self.input.secret() {
            SecretDistribution::Binary => 0.75 * self.steps() as f64,
            SecretDistribution::Ternary | SecretDistribution::SparseTernary { .. } => {
                self.input.secret_weight()
            }
        }
    }

    /// Returns the primes of the key's modulus: `q`, and `p` if there is one.
    pub(super) fn moduli(&self) -> Vec<u64> {
        match self.gadget {
            RotationGadget::Digits { .. } => vec![self.ring.modulus()],
            RotationGadget::SpecialPrime { p } => vec![self.ring.modulus(), p],
        }
    }

    /// Returns the number of limbs of each polynomial of
    /// [`BlindRotationKey::b`](crate::BlindRotationKey::b).
    ///
    /// Such a polynomial holds the RGSW encryptions of one step's bits, without the `a`. It has one
    /// limb for every row of every bit and every prime.
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

    /// Returns the weight of row `k`, modulo `q`.
    pub(super) fn weight(&self, k: usize) -> u64 {
        match self.gadget {
            RotationGadget::Digits { .. } => self.digits().expect("checked when made").weight(k),
            RotationGadget::SpecialPrime { p } => p % self.ring.modulus(),
        }
    }

    /// Returns the number of polynomials that an accumulator is decomposed into.
    pub(crate) fn rows(&self) -> usize {
        match self.gadget {
            RotationGadget::Digits { count, .. } => 2 * count,
            RotationGadget::SpecialPrime { .. } => 2,
        }
    }

    /// Returns the error of an accumulator after a rotation.
    ///
    /// A step adds `sum_j (X^e_j - 1) E_j`. Its variance is twice the number of bits times that of
    /// the error `E` of an external product, which is `sigma^2 N sum_r D_r^2 / 12` over the rows
    /// `r` of width `D_r`. Rounding to digits adds `(r0 + r1 s) (X^e_j - 1)` for a bit that is 1,
    /// so its variance counts twice. With a special prime, the sum is divided by `p` and rounded.
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
                        .scaled(0.5 * (2.0 * self.turning_steps()).log2()),
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

    /// Returns the error of the exponent in entries of the table, for an input modulo `q = modulus`
    /// with the error `input`.
    ///
    /// The variance is `(2N input / q)^2 + (1 + |s|^2) / 12` (PEGASUS, Appendix C.2). The second
    /// term is the rounding to the modulus `2N`. For binary secrets it has `|s - 1/2|^2` instead
    /// ([`crate::LweCiphertext::switch_modulus`]). An input modulo `2N` is not rounded, so its
    /// error is that of the exponent.
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
