//! From integers modulo `t` to polynomials and back.

use hippocrene_ring::{
    Kernel, ResidueRing, RingError, elementwise::Elementwise, ntt::exponent, primes,
};
use zeroize::Zeroize;

use crate::{BgvError, Plaintext};

/// The largest plaintext modulus is below this: integers modulo it, and their sums, fit 63 bits.
const LARGEST: u64 = 1 << 61;

/// The encoder of one plaintext modulus `t` and one ring degree `N`.
///
/// Where `t` is a prime with `t = 1 mod 2N`, a plaintext has `N` *slots* that are added and
/// multiplied one by one: the values of the polynomial at the odd powers of a `2N`-th root of unity
/// `psi` modulo `t` (Smart and Vercauteren, ePrint 2011/133). They stand in two rows of `N/2`: slot
/// `i` of the first row is the value at `psi^(5^i)`, slot `i` of the second that at `psi^(-5^i)`.
/// The automorphism `X -> X^(5^k)` rotates both rows by `k` to the left, `X -> X^-1` exchanges
/// them.
///
/// Any `t` from 2 serves for polynomials with coefficients modulo `t`.
pub struct Encoder {
    t: u64,
    degree: usize,
    slots: Option<Slots>,
    /// Of an odd `t`.
    elementwise: Option<Elementwise>,
}

/// Without its tables.
impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Encoder {{ t: {}, degree: {}, .. }}", self.t, self.degree)
    }
}

/// What batching needs.
#[derive(Debug)]
struct Slots {
    ring: ResidueRing,
    /// For each slot, row by row, its position in the evaluation domain.
    positions: Vec<u32>,
}

impl Encoder {
    /// The encoder for `t` in `[2, 2^61)`.
    ///
    /// # Errors
    /// [`BgvError::PlainModulus`] when `t` is out of range, [`RingError::RingDegree`] when the
    /// degree is not supported.
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

    /// Whether plaintexts modulo `t` have slots at this ring degree `N`: whether `t` is a prime
    /// that is 1 modulo `2N`.
    pub fn gives_slots(t: u64, degree: usize) -> bool {
        let order = 2 * degree as u128;
        order > 0 && u128::from(t) % order == 1 && primes::is_prime(t)
    }

    /// Checks that `t` is in range.
    pub(crate) fn check_plain_modulus(t: u64) -> Result<(), BgvError> {
        if (2..LARGEST).contains(&t) {
            return Ok(());
        }
        Err(BgvError::PlainModulus { t, what: "2 to 2^61 - 1 are supported".into() })
    }

    /// The plaintext modulus `t`.
    pub fn plain_modulus(&self) -> u64 {
        self.t
    }

    /// Whether plaintexts have slots.
    pub fn has_slots(&self) -> bool {
        self.slots.is_some()
    }

    /// Integers modulo `t` in the slots: the first row, then the second. Those that are not given
    /// are 0.
    ///
    /// # Errors
    /// [`BgvError::PlainModulus`] when `t` gives no slots, [`BgvError::Argument`] when there are
    /// more than `N` integers.
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

    /// The integers in the slots, in `[0, t)`.
    ///
    /// # Errors
    /// [`BgvError::PlainModulus`] when `t` gives no slots, or the plaintext has another plaintext
    /// modulus.
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

    /// The polynomial with these coefficients modulo `t`, lowest degree first; those that are not
    /// given are 0.
    ///
    /// # Errors
    /// [`BgvError::Argument`] when there are more than `N`.
    pub fn encode_coefficients(&self, values: &[i64]) -> Result<Plaintext, BgvError> {
        self.check_length(values, "encode coefficients")?;
        let mut limb = vec![0u64; self.degree];
        for (out, value) in limb.iter_mut().zip(values) {
            *out = reduced(*value, self.t);
        }
        Ok(Plaintext::from_residues(limb, self.t))
    }

    /// The coefficients, in `[0, t)`.
    ///
    /// # Errors
    /// When the plaintext has another plaintext modulus.
    pub fn decode_coefficients(&self, plaintext: &Plaintext) -> Result<Vec<u64>, BgvError> {
        self.check(plaintext, "decode coefficients")?;
        Ok(plaintext.residues())
    }

    /// `f m` modulo `t`, centred, for a checked plaintext `m`.
    pub(crate) fn times(&self, plaintext: &Plaintext, f: u64) -> Plaintext {
        let mut residues = plaintext.residues();
        self.multiply(&mut residues, f);
        Plaintext::from_residues(residues, self.t)
    }

    /// Multiplies residues in `[0, 2t)` by `f`, to `[0, t)`.
    pub(crate) fn multiply(&self, residues: &mut [u64], f: u64) {
        match &self.elementwise {
            Some(elementwise) => elementwise.mul_scalar_assign(residues, &elementwise.scalar(f)),
            None => multiply_even(residues, f, self.t),
        }
    }

    /// Checks that a plaintext is of this `t` and `N`.
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
                "a plaintext of ring degree {}, {} is needed",
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
        let what = format!("{} integers, a plaintext holds {}", values.len(), self.degree);
        Err(BgvError::Argument { operation, what })
    }

    fn slots(&self, operation: &'static str) -> Result<&Slots, BgvError> {
        self.slots.as_ref().ok_or_else(|| BgvError::PlainModulus {
            t: self.t,
            what: format!(
                "{operation} needs slots, which a prime gives that is 1 modulo {}",
                2 * self.degree
            ),
        })
    }
}

impl Slots {
    fn new(t: u64, degree: usize, kernel: Kernel) -> Result<Self, BgvError> {
        let ring = ResidueRing::prime(t, degree, kernel)?;
        // Of each odd exponent 2k + 1 the position.
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

/// Residues of any size times `f` in `[0, t)`, to `[0, t)`, modulo any `t < 2^61`, by Shoup's
/// quotient, which is one too small at most: no division by `t`, as residues are secret.
fn multiply_even(residues: &mut [u64], f: u64, t: u64) {
    let quotient = ((u128::from(f) << 64) / u128::from(t)) as u64;
    for x in residues {
        let whole = ((u128::from(*x) * u128::from(quotient)) >> 64) as u64;
        let product = x.wrapping_mul(f).wrapping_sub(whole.wrapping_mul(t));
        *x = product.min(product.wrapping_sub(t));
    }
}

/// An integer modulo `t < 2^61`, in `[0, t)`, without a branch.
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

    /// The polynomial at `x`, modulo `t`.
    fn value(coefficients: &[u64], x: u64, t: u64) -> u64 {
        let times = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(t)) as u64;
        coefficients.iter().rev().fold(0, |sum, c| (times(sum, x) + c) % t)
    }

    #[test]
    fn no_modulus_gives_slots_in_no_ring() {
        assert!(Encoder::gives_slots(65537, 1 << 15) && !Encoder::gives_slots(65537, 1 << 16));
        assert!(!Encoder::gives_slots(65537, 0) && !Encoder::gives_slots(65537, usize::MAX));
    }

    proptest! {
        #[test]
        fn slots_are_values_at_odd_powers_of_a_root(t in prop_oneof![Just(257u64), Just(65537), Just(786433)], seed: u64) {
            let encoder = encoder(t);
            let values: Vec<i64> = (0..DEGREE as u64).map(|i| (seed.wrapping_mul(2 * i + 1) >> 20) as i64 - (1 << 42)).collect();
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
                prop_assert_eq!(value(&coefficients, power(2 * DEGREE - e), t), expected[DEGREE / 2 + i]);
                e = 5 * e % (2 * DEGREE);
            }
            prop_assert_eq!(encoder.encode_coefficients(&coefficients.iter().map(|c| *c as i64).collect::<Vec<_>>()).unwrap(), plaintext);
        }

        #[test]
        fn residues_are_centred_and_back(t in 2u64..LARGEST, x: i64) {
            let residue = reduced(x, t);
            prop_assert_eq!(i128::from(residue), i128::from(x).rem_euclid(i128::from(t)));
            let small = centred(residue, t);
            prop_assert!(2 * small.unsigned_abs() <= t && small != -(t as i64 / 2) || t % 2 == 1);
            prop_assert_eq!(reduced(small, t), residue);
        }
    }

    /// By whichever kernel, of odd and even moduli, of residues that may exceed them.
    #[test]
    fn residues_are_multiplied() {
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
            LARGEST - 2,
            LARGEST - 1,
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
    fn what_cannot_be_encoded_is_refused() {
        assert!(
            Encoder::new(1, DEGREE, Kernel::Portable).is_err()
                && Encoder::new(LARGEST, DEGREE, Kernel::Portable).is_err()
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
