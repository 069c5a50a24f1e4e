//! Polynomials over the integers modulo `t`.

use hippocrene_ring::{
    arith::{add_mod, mul_mod, neg_mod, pow_mod, signed_mod},
    primes::is_prime,
};

use crate::{BgvError, Encoder};

/// A polynomial with coefficients modulo a plaintext modulus `t`.
///
/// ```
/// use hippocrene_bgv::Polynomial;
///
/// let square = Polynomial::of_entries(257, &[0, 1, 4, 9])?;
/// assert_eq!(square.coefficients(), [0, 0, 1]);
/// assert_eq!(square.evaluate(20), 400 % 257);
/// # Ok::<(), hippocrene_bgv::BgvError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Polynomial {
    /// Coefficients in `[0, t)`, lowest degree first. The last one is not 0 unless it is the only
    /// one.
    coefficients: Vec<u64>,
    t: u64,
}

impl Polynomial {
    /// Makes the polynomial with these coefficients modulo `t`, lowest degree first. Zeros at the
    /// end are dropped.
    ///
    /// # Errors
    /// Returns [`BgvError::PlainModulus`] if `t` is out of range, and [`BgvError::Argument`] if
    /// there are no coefficients.
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

    /// Returns the polynomial without its constant, `p - p(0)`, and the constant `p(0)`.
    pub fn without_constant(&self) -> (Self, u64) {
        let mut coefficients = self.coefficients.clone();
        let constant = std::mem::take(&mut coefficients[0]);
        (Polynomial { coefficients, t: self.t }, constant)
    }

    /// Makes the polynomial of least degree whose value at each integer `x` modulo the prime `t` is
    /// `table[x]`. The table may be any function, so the degree is `t - 1` in general.
    ///
    /// The coefficients are `c_0 = f(0)` and `c_j = -sum_x f(x) x^(t-1-j)`, with `0^0 = 1`. Over
    /// the powers `x = g^k` of a primitive root `g` these sums are a Fourier transform of length
    /// `t - 1`. The transform needs `p (t - 1)` products modulo `t` for each prime factor `p` of
    /// `t - 1`.
    ///
    /// # Errors
    /// Returns [`BgvError::PlainModulus`] if `t` is not a prime in range, and
    /// [`BgvError::Argument`] if the table does not have `t` entries.
    pub fn of_table(t: u64, table: &[i64]) -> Result<Self, BgvError> {
        const OPERATION: &str = "make a polynomial of a table";
        Encoder::check_plain_modulus(t)?;
        if !is_prime(t) {
            let what = format!("{OPERATION}: a prime is needed");
            return Err(BgvError::PlainModulus { t, what });
        }
        if table.len() as u64 != t {
            let what = format!("the table has {} entries, but {t} are needed", table.len());
            return Err(BgvError::Argument { operation: OPERATION, what });
        }
        let root = primitive_root(t);
        let mut x = 1;
        let mut values = Vec::with_capacity(table.len() - 1);
        for _ in 1..t {
            values.push(signed_mod(table[x as usize], t));
            x = mul_mod(x, root, t);
        }
        // The inverse of the root is its power t - 2.
        let sums = transform(&values, pow_mod(root, t - 2, t), t);
        let at_zero = signed_mod(table[0], t);
        let mut coefficients: Vec<u64> = sums.iter().map(|sum| neg_mod(*sum, t)).collect();
        // The first sum is that of f(x) over all x except 0. Subtracting -f(0) completes the last
        // coefficient.
        let last = add_mod(coefficients[0], neg_mod(at_zero, t), t);
        coefficients[0] = at_zero;
        coefficients.push(last);
        Self::of(t, coefficients)
    }

    /// Makes the polynomial of least degree whose value at each index `x = 0, 1, 2, ..` is
    /// `entries[x]`. Its degree is below the number of entries. Its values at other integers are
    /// arbitrary. The method is Newton's interpolation by differences.
    ///
    /// # Errors
    /// Returns [`BgvError::PlainModulus`] if `t` is not a prime in range, and
    /// [`BgvError::Argument`] if there are no entries or more than `t`.
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
        // Divided differences: the j-th one is the coefficient of x (x - 1) .. (x - j + 1).
        let mut differences: Vec<u64> = entries.iter().map(|entry| signed_mod(*entry, t)).collect();
        for j in 1..differences.len() {
            let inverse = pow_mod(j as u64, t - 2, t);
            for i in (j..differences.len()).rev() {
                let difference = add_mod(differences[i], neg_mod(differences[i - 1], t), t);
                differences[i] = mul_mod(difference, inverse, t);
            }
        }
        // Horner's rule in these products: multiply by x - j and add the next difference.
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

    /// The degree. It is 0 for constants.
    pub fn degree(&self) -> usize {
        self.coefficients.len() - 1
    }

    /// Returns the value at `x`, modulo `t`.
    pub fn evaluate(&self, x: u64) -> u64 {
        let (t, x) = (self.t, x % self.t);
        self.coefficients.iter().rev().fold(0, |sum, c| add_mod(mul_mod(sum, x, t), *c, t))
    }
}

/// Returns the coefficients without the zeros at the end. The first coefficient always stays.
pub(super) fn trimmed(mut coefficients: &[u64]) -> &[u64] {
    while let [start @ .., 0] = coefficients
        && !start.is_empty()
    {
        coefficients = start;
    }
    coefficients
}

/// Returns the smallest generator of the units modulo the prime `t`.
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

/// Returns `sum_k values_k root^(jk)` for all `j` (Cooley and Tukey). `root` is a root of unity
/// modulo `t` whose order is the number of values.
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
        fn tables_are_interpolated(
            t in prop_oneof![Just(2u64), Just(3), Just(17), Just(31), Just(257), Just(263)],
            seed: u64,
        ) {
            let table: Vec<i64> =
                (0..t).map(|x| (seed.wrapping_mul(2 * x + 1) >> 9) as i64 - (1 << 50)).collect();
            let p = Polynomial::of_table(t, &table).unwrap();
            prop_assert!(p.degree() < t as usize);
            for x in 0..t {
                prop_assert_eq!(p.evaluate(x), table[x as usize].rem_euclid(t as i64) as u64);
            }
        }
    }

    proptest! {
        #[test]
        fn entries_are_interpolated(
            t in prop_oneof![Just(17u64), Just(257), Just(65537)],
            count in 1usize..300,
            seed: u64,
        ) {
            let count = count.min(t as usize);
            let entries: Vec<i64> = (0..count as u64)
                .map(|x| (seed.wrapping_mul(2 * x + 1) >> 9) as i64 - (1 << 50))
                .collect();
            let p = Polynomial::of_entries(t, &entries).unwrap();
            prop_assert!(p.degree() < count);
            for (x, entry) in entries.iter().enumerate() {
                prop_assert_eq!(p.evaluate(x as u64), entry.rem_euclid(t as i64) as u64);
            }
        }
    }

    #[test]
    fn tables_of_low_degree_give_low_degrees() {
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
    fn invalid_moduli_and_tables_are_refused() {
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
            Polynomial::of_table(17, &[0; 16])
                .unwrap_err()
                .to_string()
                .contains("16 entries, but 17")
        );
    }
}
