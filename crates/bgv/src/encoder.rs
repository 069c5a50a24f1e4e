//! The encoding of integers modulo `t` as polynomials, and the decoding.

use hippocrene_ring::{
    Kernel, ResidueRing, RingError, elementwise::Elementwise, ntt::exponent, primes,
};
use zeroize::Zeroize;

use crate::{BgvError, Plaintext};

/// Plaintext moduli are below this limit, so that residues and sums of two of them fit into 63
/// bits.
const PLAIN_MODULUS_LIMIT: u64 = 1 << 61;

/// The encoder of one plaintext modulus `t` and one ring degree `N`.
///
/// If `t` is a prime with `t = 1 mod 2N`, a plaintext has `N` *slots*, which are added and
/// multiplied one by one. The slots are the values of the polynomial at the odd powers of a `2N`-th
/// root of unity `psi` modulo `t` (Smart and Vercauteren, ePrint 2011/133). They form two rows of
/// `N/2`. Slot `i` of the first row is the value at `psi^(5^i)`, and slot `i` of the second row is
/// the value at `psi^(-5^i)`. The automorphism `X -> X^(5^k)` rotates both rows by `k` to the left,
/// and `X -> X^-1` exchanges the rows.
///
/// With any other `t` from 2 on, a plaintext is a polynomial with coefficients modulo `t`.
///
/// ```
/// use hippocrene_bgv::Encoder;
/// use hippocrene_ring::Kernel;
///
/// let encoder = Encoder::new(257, 128, Kernel::Portable)?;
/// let plaintext = encoder.encode(&[1, -2, 300])?;
/// assert_eq!(encoder.decode(&plaintext)?[..4], [1, 255, 43, 0]);
/// # Ok::<(), hippocrene_bgv::BgvError>(())
/// ```
pub struct Encoder {
    t: u64,
    degree: usize,
    slots: Option<Slots>,
    /// Element-wise arithmetic modulo `t`, if `t` is odd.
    elementwise: Option<Elementwise>,
}

/// Leaves out the tables.
impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Encoder {{ t: {}, degree: {}, .. }}", self.t, self.degree)
    }
}

/// The tables for slots.
#[derive(Debug)]
struct Slots {
    ring: ResidueRing,
    /// The position of each slot in the evaluation domain, row by row.
    positions: Vec<u32>,
}

impl Encoder {
    /// Prepares the encoder for `t` in `[2, 2^61)` and ring degree `degree`.
    ///
    /// # Errors
    /// Returns [`BgvError::PlainModulus`] if `t` is out of range, and [`RingError::RingDegree`] if
    /// the degree is not supported.
    pub fn new(t: u64, degree: usize, kernel: Kernel) -> Result<Self, BgvError> {
        Self::check_plain_modulus(t)?;
        if !degree.is_power_of_two() || !(16..=1 << 17).contains(&degree) {
            return Err(RingError::RingDegree { degree }.into());
        }
        let slots =
            if Self::gives_slots(t, degree) { Some(Slots::new(t, degree, kernel)?) } else { None };
        let elementwise = (t % 2 == 1).then(|| Elementwise::new(t, kernel));
        Ok(Encoder { t, degree, slots, elementwise })
    }

    /// Returns true if plaintexts modulo `t` have slots at this ring degree `N`, that is if `t` is
    /// a prime that is 1 modulo `2N`.
    pub fn gives_slots(t: u64, degree: usize) -> bool {
        let order = 2 * degree as u128;
        order > 0 && u128::from(t) % order == 1 && primes::is_prime(t)
    }

    /// Checks that `t` is in range.
    pub(crate) fn check_plain_modulus(t: u64) -> Result<(), BgvError> {
        if (2..PLAIN_MODULUS_LIMIT).contains(&t) {
            return Ok(());
        }
        Err(BgvError::PlainModulus { t, what: "2 to 2^61 - 1 are supported".into() })
    }

    /// The plaintext modulus `t`.
    pub fn plain_modulus(&self) -> u64 {
        self.t
    }

    /// Returns true if plaintexts have slots.
    pub fn has_slots(&self) -> bool {
        self.slots.is_some()
    }

    /// Encodes integers modulo `t` into the slots, first those of the first row and then those of
    /// the second. The remaining slots are 0.
    ///
    /// # Errors
    /// Returns [`BgvError::PlainModulus`] if `t` gives no slots, and [`BgvError::Argument`] if
    /// there are more than `N` integers.
    pub fn encode(&self, values: &[i64]) -> Result<Plaintext, BgvError> {
        const OPERATION: &str = "encode";
        let slots = self.slots(OPERATION)?;
        self.check_length(values, OPERATION)?;
        let mut limb = vec![0u64; self.degree];
        for (value, position) in values.iter().zip(&slots.positions) {
            limb[*position as usize] = reduced(*value, self.t);
        }
        slots.ring.inverse(&mut limb);
        Ok(Plaintext::from_residues(limb, self.t))
    }

    /// Returns the integers in the `N` slots, in `[0, t)`.
    ///
    /// # Errors
    /// Returns [`BgvError::PlainModulus`] if `t` gives no slots, and an error if the plaintext
    /// belongs to another plaintext modulus or ring degree.
    pub fn decode(&self, plaintext: &Plaintext) -> Result<Vec<u64>, BgvError> {
        const OPERATION: &str = "decode";
        let slots = self.slots(OPERATION)?;
        self.check(plaintext, OPERATION)?;
        let mut limb = plaintext.residues();
        slots.ring.forward(&mut limb);
        let values = slots.positions.iter().map(|position| limb[*position as usize]).collect();
        limb.zeroize();
        Ok(values)
    }

    /// Encodes coefficients modulo `t` as a polynomial, lowest degree first. The remaining
    /// coefficients are 0.
    ///
    /// # Errors
    /// Returns [`BgvError::Argument`] if there are more than `N` coefficients.
    pub fn encode_coefficients(&self, values: &[i64]) -> Result<Plaintext, BgvError> {
        self.check_length(values, "encode coefficients")?;
        let mut limb = vec![0u64; self.degree];
        for (out, value) in limb.iter_mut().zip(values) {
            *out = reduced(*value, self.t);
        }
        Ok(Plaintext::from_residues(limb, self.t))
    }

    /// Returns the `N` coefficients, in `[0, t)`.
    ///
    /// # Errors
    /// Returns an error if the plaintext belongs to another plaintext modulus or ring degree.
    pub fn decode_coefficients(&self, plaintext: &Plaintext) -> Result<Vec<u64>, BgvError> {
        self.check(plaintext, "decode coefficients")?;
        Ok(plaintext.residues())
    }

    /// Returns `f m` modulo `t`, centred, for a plaintext `m` that was checked.
    pub(crate) fn times(&self, plaintext: &Plaintext, f: u64) -> Plaintext {
        let mut residues = plaintext.residues();
        self.multiply(&mut residues, f);
        Plaintext::from_residues(residues, self.t)
    }

    /// Multiplies residues in `[0, 2t)` by `f`. The results are in `[0, t)`.
    pub(crate) fn multiply(&self, residues: &mut [u64], f: u64) {
        match &self.elementwise {
            Some(elementwise) => elementwise.mul_scalar_assign(residues, &elementwise.scalar(f)),
            None => multiply_even(residues, f, self.t),
        }
    }

    /// Checks that a plaintext belongs to this plaintext modulus and ring degree.
    pub(crate) fn check(
        &self,
        plaintext: &Plaintext,
        operation: &'static str,
    ) -> Result<(), BgvError> {
        if plaintext.plain_modulus() != self.t {
            let (left, right) = (self.t, plaintext.plain_modulus());
            return Err(BgvError::PlainModulusMismatch { operation, left, right });
        }
        if plaintext.coefficients().len() != self.degree {
            let what = format!(
                "the plaintext has ring degree {}, but {} is needed",
                plaintext.coefficients().len(),
                self.degree
            );
            return Err(BgvError::Argument { operation, what });
        }
        Ok(())
    }

    fn check_length(&self, values: &[i64], operation: &'static str) -> Result<(), BgvError> {
        if values.len() <= self.degree {
            return Ok(());
        }
        let what =
            format!("{} integers are given, but a plaintext holds {}", values.len(), self.degree);
        Err(BgvError::Argument { operation, what })
    }

    fn slots(&self, operation: &'static str) -> Result<&Slots, BgvError> {
        self.slots.as_ref().ok_or_else(|| BgvError::PlainModulus {
            t: self.t,
            what: format!(
                "{operation} needs slots. Use a prime that is 1 modulo {}",
                2 * self.degree
            ),
        })
    }
}

impl Slots {
    fn new(t: u64, degree: usize, kernel: Kernel) -> Result<Self, BgvError> {
        let ring = ResidueRing::prime(t, degree, kernel)?;
        // position[k] is the position of the exponent 2k + 1 in the evaluation domain.
        let mut position = vec![0u32; degree];
        for p in 0..degree {
            position[exponent(degree, p) / 2] = p as u32;
        }
        let mask = 2 * degree - 1;
        let powers =
            || std::iter::successors(Some(1usize), |e| Some((5 * e) & mask)).take(degree / 2);
        let exponents = powers().chain(powers().map(|e| 2 * degree - e));
        let positions = exponents.map(|e| position[e / 2]).collect();
        Ok(Slots { ring, positions })
    }
}

/// Multiplies residues of any size by `f` in `[0, t)`, for any `t < 2^61`. The results are in
/// `[0, t)`.
///
/// It uses Shoup's quotient, which is at most one too small. There is no division by `t`, because
/// the residues are secret and the time of a division may depend on them.
fn multiply_even(residues: &mut [u64], f: u64, t: u64) {
    let quotient = ((u128::from(f) << 64) / u128::from(t)) as u64;
    for x in residues {
        let multiple = ((u128::from(*x) * u128::from(quotient)) >> 64) as u64;
        let product = x.wrapping_mul(f).wrapping_sub(multiple.wrapping_mul(t));
        *x = product.min(product.wrapping_sub(t));
    }
}

/// Reduces an integer modulo `t < 2^61` to `[0, t)`, without a branch.
fn reduced(value: i64, t: u64) -> u64 {
    let remainder = value % t as i64;
    (remainder + (t as i64 & (remainder >> 63))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use hippocrene_ring::arith::{centred, mul_mod};
    use proptest::prelude::*;

    const DEGREE: usize = 64;

    fn encoder(t: u64) -> Encoder {
        Encoder::new(t, DEGREE, Kernel::Portable).unwrap()
    }

    /// The value of the polynomial at `x`, modulo `t`.
    fn value(coefficients: &[u64], x: u64, t: u64) -> u64 {
        let times = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(t)) as u64;
        coefficients.iter().rev().fold(0, |sum, c| (times(sum, x) + c) % t)
    }

    #[test]
    fn slots_need_a_degree_that_fits_the_modulus() {
        assert!(Encoder::gives_slots(65537, 1 << 15) && !Encoder::gives_slots(65537, 1 << 16));
        assert!(!Encoder::gives_slots(65537, 0) && !Encoder::gives_slots(65537, usize::MAX));
    }

    proptest! {
        #[test]
        fn slots_are_values_at_odd_powers_of_a_root(
            t in prop_oneof![Just(257u64), Just(65537), Just(786433)],
            seed: u64,
        ) {
            let encoder = encoder(t);
            let values: Vec<i64> = (0..DEGREE as u64)
                .map(|i| (seed.wrapping_mul(2 * i + 1) >> 20) as i64 - (1 << 42))
                .collect();
            let plaintext = encoder.encode(&values).unwrap();
            let expected: Vec<u64> = values.iter().map(|v| v.rem_euclid(t as i64) as u64).collect();
            prop_assert_eq!(encoder.decode(&plaintext).unwrap(), &expected[..]);
            prop_assert!(plaintext.coefficients().iter().all(|c| 2 * c.unsigned_abs() <= t));
            let coefficients = encoder.decode_coefficients(&plaintext).unwrap();
            let root = primes::primitive_root_2n(t, DEGREE).unwrap();
            let power = |e: usize| hippocrene_ring::arith::pow_mod(root, e as u64, t);
            let mut e = 1;
            for i in 0..DEGREE / 2 {
                prop_assert_eq!(value(&coefficients, power(e), t), expected[i]);
                prop_assert_eq!(
                    value(&coefficients, power(2 * DEGREE - e), t),
                    expected[DEGREE / 2 + i]
                );
                e = 5 * e % (2 * DEGREE);
            }
            prop_assert_eq!(
                encoder
                    .encode_coefficients(
                        &coefficients.iter().map(|c| *c as i64).collect::<Vec<_>>()
                    )
                    .unwrap(),
                plaintext
            );
        }

        #[test]
        fn centring_is_inverted_by_reduction(t in 2u64..PLAIN_MODULUS_LIMIT, x: i64) {
            let residue = reduced(x, t);
            prop_assert_eq!(i128::from(residue), i128::from(x).rem_euclid(i128::from(t)));
            let small = centred(residue, t);
            prop_assert!(2 * small.unsigned_abs() <= t && small != -(t as i64 / 2) || t % 2 == 1);
            prop_assert_eq!(reduced(small, t), residue);
        }
    }

    /// Tested with the fastest kernel, odd and even moduli, and residues of up to `2 t`.
    #[test]
    fn residues_are_multiplied_by_a_constant() {
        for t in [
            2u64,
            3,
            6,
            257,
            65536,
            65537,
            786_433,
            1_000_000,
            (1 << 40) + 15,
            PLAIN_MODULUS_LIMIT - 2,
            PLAIN_MODULUS_LIMIT - 1,
        ] {
            let encoder = Encoder::new(t, DEGREE, Kernel::detect().unwrap()).unwrap();
            let mut residues: Vec<u64> = (0..DEGREE as u64)
                .map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) % (2 * t))
                .collect();
            let f = t - 1;
            let expected: Vec<u64> = residues.iter().map(|x| mul_mod(*x % t, f, t)).collect();
            encoder.multiply(&mut residues, f);
            assert_eq!(residues, expected, "{t}");
        }
    }

    #[test]
    fn invalid_moduli_degrees_and_lengths_are_refused() {
        assert!(
            Encoder::new(1, DEGREE, Kernel::Portable).is_err()
                && Encoder::new(PLAIN_MODULUS_LIMIT, DEGREE, Kernel::Portable).is_err()
        );
        for degree in [0, 1, 8, 100, 1 << 18, 1 << 63, usize::MAX] {
            for t in [256, 257] {
                let refused = Encoder::new(t, degree, Kernel::Portable).unwrap_err();
                assert_eq!(refused, RingError::RingDegree { degree }.into());
            }
        }
        let without = encoder(256);
        assert!(without.encode(&[1]).unwrap_err().to_string().contains("modulo 128"));
        let plaintext = without.encode_coefficients(&[-1, 255, 128, 300]).unwrap();
        assert_eq!(plaintext.coefficients()[..5], [-1, -1, 128, 44, 0]);
        assert!(
            without
                .encode_coefficients(&[0; DEGREE + 1])
                .unwrap_err()
                .to_string()
                .contains("65 integers")
        );
        let error = encoder(257).decode(&plaintext).unwrap_err().to_string();
        assert!(error.contains("257 and 256"), "{error}");
    }
}
