//! Element by element.

use std::borrow::Cow;

use hippocrene_ckks::{Ciphertext, Plaintext, Scale, Values};

use super::{SURPLUS, Server};
use crate::{EncryptedArray, Error};

/// Integers up to this, `2^53`, are multiplied with exactly.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// Numbers with so many places after the binary point, or fewer, are multiplied with exactly, at the price of one bit of capacity for each.
/// With more places the scale would be so much larger that bringing sums with other arrays to one scale costs more than is saved.
const MOST_BINARY_PLACES: i32 = 12;

impl Server {
    /// `a + b`, element by element; shapes broadcast as numpy's do.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shapes do not fit, [`Error::KeyMismatch`] when the keys do.
    pub fn add(&self, a: &EncryptedArray, b: &EncryptedArray) -> Result<EncryptedArray, Error> {
        if std::ptr::eq(a, b) {
            // The errors are one and the same, not independent: twice the array says so.
            return self.mul_number(a, 2.0);
        }
        self.zip(
            a,
            b,
            "add",
            |a, b| a && b,
            |x, y| {
                let (mut x, y) = self.evaluator.align(x, y)?;
                self.evaluator.add_assign(&mut x, &y)?;
                Ok(x)
            },
        )
    }

    /// `a - b`, element by element; shapes broadcast as numpy's do.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shapes do not fit, [`Error::KeyMismatch`] when the keys do.
    pub fn sub(&self, a: &EncryptedArray, b: &EncryptedArray) -> Result<EncryptedArray, Error> {
        self.zip(
            a,
            b,
            "subtract",
            |a, b| a && b,
            |x, y| {
                let (mut x, y) = self.evaluator.align(x, y)?;
                self.evaluator.sub_assign(&mut x, &y)?;
                Ok(x)
            },
        )
    }

    /// `-a`.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the array belongs to another key.
    pub fn negate(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        self.map(a, "negate", a.is_clean(), |x| Ok(self.evaluator.negate(x)?))
    }

    /// `a b`, element by element; shapes broadcast as numpy's do.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shapes do not fit, [`Error::KeyMismatch`] when the keys do, [`Error::Capacity`] when no multiplication is
    /// left.
    pub fn mul(&self, a: &EncryptedArray, b: &EncryptedArray) -> Result<EncryptedArray, Error> {
        if std::ptr::eq(a, b) {
            return self.square(a);
        }
        let target = self.scale_of(&[a, b])?;
        self.zip(
            a,
            b,
            "multiply",
            |a, b| a || b,
            |x, y| {
                let (x, y) = (self.lowered(x, target)?, self.lowered(y, target)?);
                let (x, y) = self.in_one_modulus(x, y)?;
                Ok(self.evaluator.mul_rescale(&x, &y, target)?)
            },
        )
    }

    /// `a^2`, element by element.
    ///
    /// # Errors
    /// [`Error::Capacity`] when no multiplication is left.
    pub fn square(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        let target = self.scale_of(&[a])?;
        self.map(a, "square", a.is_clean(), |x| {
            Ok(self.evaluator.square_rescale(&*self.lowered(x, target)?, target)?)
        })
    }

    /// `a^n`, element by element, for `n >= 1`; `ceil(log2 n)` multiplications deep.
    ///
    /// # Errors
    /// [`Error::Argument`] for `n = 0`, [`Error::Capacity`] when too few multiplications are left.
    pub fn pow(&self, a: &EncryptedArray, n: u32) -> Result<EncryptedArray, Error> {
        self.check(a, "power")?;
        if n == 0 {
            return Err(Error::argument("power", "the exponent is 0, an integer from 1 is needed"));
        }
        // The product of a^(2^k) over the bits of n, smallest first: the product so far is never deeper than the next factor by one.
        let mut square = a.clone();
        let mut product: Option<EncryptedArray> = None;
        for k in 0..=n.ilog2() {
            if k > 0 {
                square = self.square(&square)?;
            }
            if n >> k & 1 == 1 {
                product = Some(match product {
                    None => square.clone(),
                    Some(product) => self.mul(&square, &product)?,
                });
            }
        }
        product.ok_or_else(|| Error::argument("power", "the exponent has no bit set"))
    }

    /// `a + p` for plain numbers in the shape of `a`, in row-major order.
    ///
    /// # Errors
    /// [`Error::Shape`] when there are not as many, [`Error::Encode`] when one is NaN, infinite or too large.
    pub fn add_plain<'v>(
        &self,
        a: &EncryptedArray,
        p: impl Into<Values<'v>>,
    ) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "add plain numbers";
        self.with_plain(a, p.into(), OPERATION, a.is_clean(), |x, slots| {
            let plaintext = self.encode(slots, x.scale(), x)?;
            Ok(self.evaluator.add_plain(x, &plaintext)?)
        })
    }

    /// `a p` for plain numbers in the shape of `a`, in row-major order. Slots that hold no element become zero.
    ///
    /// # Errors
    /// [`Error::Shape`] when there are not as many, [`Error::Encode`] when one is NaN, infinite or too large, [`Error::Capacity`] when
    /// no multiplication is left.
    pub fn mul_plain<'v>(
        &self,
        a: &EncryptedArray,
        p: impl Into<Values<'v>>,
    ) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "multiply by plain numbers";
        let target = self.scale_of(&[a])?;
        self.with_plain(a, p.into(), OPERATION, true, |x, slots| {
            let x = self.lowered(x, target)?;
            let plaintext = self.encode(slots, x.scale(), &x)?;
            Ok(self.evaluator.rescale(&self.evaluator.mul_plain(&x, &plaintext)?, target)?)
        })
    }

    /// `a + c`, the number `c` added to every element.
    ///
    /// # Errors
    /// [`Error::Argument`] when `c` is not finite, [`Error::Capacity`] when it is too large.
    pub fn add_number(&self, a: &EncryptedArray, c: f64) -> Result<EncryptedArray, Error> {
        if a.is_clean() && !a.layout().is_full() {
            return self.add_plain(a, Values::Real(&vec![c; a.size()]));
        }
        self.map(a, "add a number", a.is_clean(), |x| Ok(self.evaluator.add_number(x, c)?))
    }

    /// `a c`, every element times the number `c`. Numbers that are an integer over `2^k`, `k` up to 12, are exact and take only `k` bits of
    /// capacity (and the bits by which they are larger than 1); others take as much as any product.
    ///
    /// # Errors
    /// [`Error::Argument`] when `c` is not finite, [`Error::Capacity`] when no multiplication is left or the product is too large.
    pub fn mul_number(&self, a: &EncryptedArray, c: f64) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "multiply by a number";
        let target = self.scale_of(&[a])?;
        self.map(a, OPERATION, a.is_clean(), |x| {
            if let Some(scale) = exact_scale(c) {
                return Ok(self.evaluator.mul_number(x, c, scale)?);
            }
            let x = self.lowered(x, target)?;
            Ok(self.evaluator.rescale(&self.evaluator.mul_number(&x, c, x.scale())?, target)?)
        })
    }

    /// The complex conjugate of every element.
    ///
    /// # Errors
    /// [`Error::MissingKey`] when the conjugation key is missing.
    pub fn conjugate(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        self.map(a, "conjugate", a.is_clean(), |x| Ok(self.evaluator.conjugate(x)?))
    }

    /// Sets every slot that holds no element to zero; one multiplication deep unless they are.
    pub(super) fn cleaned(&self, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        if a.is_clean() || a.layout().is_full() {
            return Ok(a.clone());
        }
        self.mul_plain(a, Values::Real(&vec![1.0; a.size()]))
    }

    /// Applies `f` to every ciphertext with its slots' worth of `p`.
    fn with_plain(
        &self,
        a: &EncryptedArray,
        p: Values<'_>,
        operation: &'static str,
        clean: bool,
        f: impl Fn(&Ciphertext, Values<'_>) -> Result<Ciphertext, Error>,
    ) -> Result<EncryptedArray, Error> {
        self.check(a, operation)?;
        if p.len() != a.size() {
            return Err(Error::shape(operation, format!("{} numbers for shape {:?}", p.len(), a.shape())));
        }
        let ciphertexts = a.expanded(&self.session);
        let layout = a.layout();
        let out = match p {
            Values::Real(v) => each(&ciphertexts, &layout.scatter(v), Values::Real, f),
            Values::Complex(v) => each(&ciphertexts, &layout.scatter(v), Values::Complex, f),
            Values::Big(v) => each(&ciphertexts, &layout.scatter(v), Values::Big, f),
            Values::BigComplex(v) => each(&ciphertexts, &layout.scatter(v), Values::BigComplex, f),
        }?;
        let (complex, precision) = (a.is_complex() || p.is_complex(), self.precision_of(&[a]));
        Ok(EncryptedArray::from_ciphertexts(a.layout().clone(), complex, clean, precision, out))
    }

    fn encode(&self, slots: Values<'_>, scale: Scale, x: &Ciphertext) -> Result<Plaintext, Error> {
        Ok(self.session.context().encode(slots, self.session.slots(), scale, x.modulus())?)
    }

    /// Two factors in one modulus. Factors of one scale keep that in common, so that their product can be added to others of its depth as it is;
    /// of factors of different precision only the moduli have to agree.
    fn in_one_modulus<'a>(
        &self,
        x: Cow<'a, Ciphertext>,
        y: Cow<'a, Ciphertext>,
    ) -> Result<(Cow<'a, Ciphertext>, Cow<'a, Ciphertext>), Error> {
        let parameters = self.session.settings().parameters();
        if x.modulus() == y.modulus() {
            return Ok((x, y));
        }
        if (x.scale().log2() - y.scale().log2()).abs() <= SURPLUS {
            let (x, y) = self.evaluator.align(&x, &y)?;
            return Ok((Cow::Owned(x), Cow::Owned(y)));
        }
        if parameters.log2(x.modulus()) >= parameters.log2(y.modulus()) {
            let x = self.evaluator.bring_to(&x, y.modulus())?;
            return Ok((Cow::Owned(x), y));
        }
        let y = self.evaluator.bring_to(&y, x.modulus())?;
        Ok((x, Cow::Owned(y)))
    }
}

/// `f` of every ciphertext and its slots' worth of numbers.
fn each<'v, T>(
    ciphertexts: &[Cow<'_, Ciphertext>],
    slots: &'v [Vec<T>],
    wrap: impl Fn(&'v [T]) -> Values<'v>,
    f: impl Fn(&Ciphertext, Values<'_>) -> Result<Ciphertext, Error>,
) -> Result<Vec<Ciphertext>, Error> {
    ciphertexts.iter().zip(slots).map(|(x, s)| f(x, wrap(s))).collect()
}

/// The least scale `2^k`, `k <= 12`, at which `c` is an integer that an `f64` holds exactly.
fn exact_scale(c: f64) -> Option<Scale> {
    let exact = |k: &i32| {
        let scaled = c * f64::from(*k).exp2();
        scaled.fract() == 0.0 && scaled.abs() <= LARGEST_EXACT
    };
    (0..=MOST_BINARY_PLACES).find(exact).map(Scale::power_of_two)
}
