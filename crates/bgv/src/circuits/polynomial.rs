//! Polynomials over the integers modulo `t`.

use hippocrene_ring::{
    arith::{add_mod, mul_mod, neg_mod, pow_mod, signed_mod},
    primes::is_prime,
};

use crate::{BgvError, Encoder};

/// A polynomial with coefficients modulo a plaintext modulus `t`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Polynomial {
    /// In `[0, t)`, lowest degree first; the last is not 0 unless it is the only one.
    coefficients: Vec<u64>,
    t: u64,
}

impl Polynomial {
    /// The polynomial with these coefficients modulo `t`, lowest degree first. Zeros at the end are
    /// dropped.
    ///
    /// # Errors
    /// [`BgvError::PlainModulus`] when `t` is out of range, [`BgvError::Argument`] when there are
    /// no coefficients.
    pub fn new(t: u64, coefficients: &[i64]) -> Result<Self, BgvError> {
        Encoder::check_plain_modulus(t)?;
        Self::of(t, coefficients.iter().map(|c| signed_mod(*c, t)).collect())
    }

    fn of(t: u64, mut coefficients: Vec<u64>) -> Result<Self, BgvError> {
        coefficients.truncate(trimmed(&coefficients).len());
        if coefficients.is_empty() {
            let what = "there are no coefficients".into();
            return Err(BgvError::Argument { operation: "make a polynomial", what });
        }
        Ok(Polynomial { coefficients, t })
    }

    /// `p - p(0)`, and `p(0)`.
    pub fn apart_from_constant(&self) -> (Self, u64) {
        let mut coefficients = self.coefficients.clone();
        let constant = std::mem::take(&mut coefficients[0]);
        (Polynomial { coefficients, t: self.t }, constant)
    }

    /// The polynomial of least degree whose value at each integer `x` modulo the prime `t` is
    /// `table[x]`, any function at all: in general of degree `t - 1`.
    ///
    /// Its coefficients are `c_0 = f(0)` and `c_j = -sum_x f(x) x^(t-1-j)`, with `0^0 = 1`. Over
    /// the powers `x = g^k` of a primitive root these sums are a Fourier transform of length `t -
    /// 1`, which takes `t - 1` products modulo `t` for each prime factor `p` of `t - 1`, times `p`.
    ///
    /// # Errors
    /// [`BgvError::PlainModulus`] when `t` is not a prime in range, [`BgvError::Argument`] when the
    /// table does not have `t` entries.
    pub fn of_table(t: u64, table: &[i64]) -> Result<Self, BgvError> {
        const OPERATION: &str = "make a polynomial of a table";
        Encoder::check_plain_modulus(t)?;
        if !is_prime(t) {
            let what = format!("{OPERATION}: a prime is needed");
            return Err(BgvError::PlainModulus { t, what });
        }
        if table.len() as u64 != t {
            let what = format!("a table of {} entries, {t} are needed", table.len());
            return Err(BgvError::Argument { operation: OPERATION, what });
        }
        let root = primitive_root(t);
        let mut x = 1;
        let mut values = Vec::with_capacity(table.len() - 1);
        for _ in 1..t {
            values.push(signed_mod(table[x as usize], t));
            x = mul_mod(x, root, t);
        }
        // Its inverse is the power t - 2 of the root.
        let sums = transform(&values, pow_mod(root, t - 2, t), t);
        let at_zero = signed_mod(table[0], t);
        let mut coefficients: Vec<u64> = sums.iter().map(|sum| neg_mod(*sum, t)).collect();
        // The sum over all x but 0 of f(x) stands first: that of x^(t-1), less f(0).
        let last = add_mod(coefficients[0], neg_mod(at_zero, t), t);
        coefficients[0] = at_zero;
        coefficients.push(last);
        Self::of(t, coefficients)
    }

    /// The polynomial of least degree whose value at each place `x = 0, 1, 2, ..` of the table is
    /// `entries[x]`, of degree less than there are entries; elsewhere it may be anything. (Newton's
    /// interpolation, by differences.)
    ///
    /// # Errors
    /// [`BgvError::PlainModulus`] when `t` is not a prime in range, [`BgvError::Argument`] when
    /// there are no entries, or more than `t`.
    pub fn of_entries(t: u64, entries: &[i64]) -> Result<Self, BgvError> {
        const OPERATION: &str = "make a polynomial of entries";
        if entries.len() as u64 == t {
            return Self::of_table(t, entries);
        }
        Encoder::check_plain_modulus(t)?;
        if !is_prime(t) {
            return Err(BgvError::PlainModulus {
                t,
                what: format!("{OPERATION}: a prime is needed"),
            });
        }
        if entries.is_empty() || entries.len() as u64 > t {
            let what = format!("{} entries: 1 to {t} are possible", entries.len());
            return Err(BgvError::Argument { operation: OPERATION, what });
        }
        // The j-th differences over j!, of which the first are the coefficients in x (x - 1) .. (x
        // - j + 1).
        let mut differences: Vec<u64> = entries.iter().map(|entry| signed_mod(*entry, t)).collect();
        for j in 1..differences.len() {
            let inverse = pow_mod(j as u64, t - 2, t);
            for i in (j..differences.len()).rev() {
                let difference = add_mod(differences[i], neg_mod(differences[i - 1], t), t);
                differences[i] = mul_mod(difference, inverse, t);
            }
        }
        // Horner's rule in these: times x - j, and the next one.
        let mut coefficients = Vec::with_capacity(differences.len());
        for (j, difference) in differences.iter().enumerate().rev() {
            let minus = neg_mod(j as u64, t);
            coefficients.insert(0, 0);
            for i in 1..coefficients.len() {
                coefficients[i - 1] =
                    add_mod(coefficients[i - 1], mul_mod(coefficients[i], minus, t), t);
            }
            coefficients[0] = add_mod(coefficients[0], *difference, t);
        }
        Self::of(t, coefficients)
    }

    /// The coefficients in `[0, t)`, lowest degree first.
    pub fn coefficients(&self) -> &[u64] {
        &self.coefficients
    }

    /// The plaintext modulus `t`.
    pub fn plain_modulus(&self) -> u64 {
        self.t
    }

    /// The degree; 0 for constants.
    pub fn degree(&self) -> usize {
        self.coefficients.len() - 1
    }

    /// Its value at `x`, modulo `t`.
    pub fn evaluate(&self, x: u64) -> u64 {
        let (t, x) = (self.t, x % self.t);
        self.coefficients.iter().rev().fold(0, |sum, c| add_mod(mul_mod(sum, x, t), *c, t))
    }
}

/// Without zeros at the end, but for the first number.
pub(super) fn trimmed(mut coefficients: &[u64]) -> &[u64] {
    while let [start @ .., 0] = coefficients
        && !start.is_empty()
    {
        coefficients = start;
    }
    coefficients
}

/// The smallest generator of the units modulo the prime `t`.
fn primitive_root(t: u64) -> u64 {
    let mut factors = Vec::new();
    let mut rest = t - 1;
    while rest > 1 {
        let p = smallest_factor(rest);
        factors.push(p);
        while rest.is_multiple_of(p) {
            rest /= p;
        }
    }
    let generates = |g: &u64| factors.iter().all(|p| pow_mod(*g, (t - 1) / p, t) != 1);
    (1..t).find(generates).unwrap_or(1)
}

fn smallest_factor(n: u64) -> u64 {
    (2..).take_while(|p| p * p <= n).find(|p| n.is_multiple_of(*p)).unwrap_or(n)
}

/// `sum_k values_k root^(jk)` for all `j`, `root` being a root of unity modulo `t` of the order of
/// how many there are (Cooley and Tukey).
fn transform(values: &[u64], root: u64, t: u64) -> Vec<u64> {
    let n = values.len();
    if n == 1 {
        return values.to_vec();
    }
    let p = smallest_factor(n as u64) as usize;
    let step = pow_mod(root, p as u64, t);
    let parts: Vec<Vec<u64>> = (0..p)
        .map(|r| {
            let part: Vec<u64> = values.iter().skip(r).step_by(p).copied().collect();
            transform(&part, step, t)
        })
        .collect();
    let mut power = 1;
    let mut out = Vec::with_capacity(n);
    for j in 0..n {
        // Horner's rule in root^j.
        let sum = parts
            .iter()
            .rev()
            .fold(0, |sum, part| add_mod(mul_mod(sum, power, t), part[j % (n / p)], t));
        out.push(sum);
        power = mul_mod(power, root, t);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn tables_are_interpolated(t in prop_oneof![Just(2u64), Just(3), Just(17), Just(31), Just(257), Just(263)], seed: u64) {
            let table: Vec<i64> = (0..t).map(|x| (seed.wrapping_mul(2 * x + 1) >> 9) as i64 - (1 << 50)).collect();
            let p = Polynomial::of_table(t, &table).unwrap();
            prop_assert!(p.degree() < t as usize);
            for x in 0..t {
                prop_assert_eq!(p.evaluate(x), table[x as usize].rem_euclid(t as i64) as u64);
            }
        }
    }

    proptest! {
        #[test]
        fn entries_are_interpolated(t in prop_oneof![Just(17u64), Just(257), Just(65537)], count in 1usize..300, seed: u64) {
            let count = count.min(t as usize);
            let entries: Vec<i64> = (0..count as u64).map(|x| (seed.wrapping_mul(2 * x + 1) >> 9) as i64 - (1 << 50)).collect();
            let p = Polynomial::of_entries(t, &entries).unwrap();
            prop_assert!(p.degree() < count);
            for (x, entry) in entries.iter().enumerate() {
                prop_assert_eq!(p.evaluate(x as u64), entry.rem_euclid(t as i64) as u64);
            }
        }
    }

    #[test]
    fn tables_of_low_degree_give_it_back() {
        let square =
            Polynomial::of_table(65537, &(0..65537i64).map(|x| x * x + 3).collect::<Vec<_>>())
                .unwrap();
        assert_eq!(square.coefficients(), [3, 0, 1]);
        assert_eq!(
            Polynomial::of_table(5, &[4; 5]).unwrap(),
            Polynomial::new(5, &[-1, 5, 0]).unwrap()
        );
    }

    #[test]
    fn what_is_no_polynomial_is_refused() {
        assert!(Polynomial::new(5, &[]).unwrap_err().to_string().contains("no coefficients"));
        assert!(Polynomial::new(1, &[1]).is_err());
        assert!(Polynomial::of_table(15, &[0; 15]).unwrap_err().to_string().contains("prime"));
        assert!(Polynomial::of_entries(15, &[0; 4]).unwrap_err().to_string().contains("prime"));
        assert!(Polynomial::of_entries(17, &[]).unwrap_err().to_string().contains("0 entries"));
        assert!(
            Polynomial::of_entries(17, &[0; 18])
                .unwrap_err()
                .to_string()
                .contains("18 entries: 1 to 17")
        );
        assert!(
            Polynomial::of_table(17, &[0; 16]).unwrap_err().to_string().contains("16 entries, 17")
        );
    }
}
