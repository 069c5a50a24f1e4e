//! Element by element.

use hippocrene_ckks::{Short, encoder::EncodeError};

use crate::server::Server;
use crate::{Array, EncryptedArray, Error, Form, Interval, SlotContents};

impl Server {
    /// `a + b`, element by element; shapes broadcast as numpy's do.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shapes do not fit, [`Error::KeyMismatch`] when the keys do. Of
    /// integers, here and in what follows: [`Error::Budget`] when the noise would be too large,
    /// [`Error::PlainModulusMismatch`] when the plaintext moduli differ.
    pub fn add<F: Form>(&self, a: &Array<F>, b: &Array<F>) -> Result<Array<F>, Error> {
        const OPERATION: &str = "add";
        if std::ptr::eq(a, b) {
            let twice = self.map(a, OPERATION, true, 0.0, |form, x| form.add(self, x, x))?;
            return Ok(
                F::within(twice, F::interval(a).times_count(2)).with_terms(a.terms().clone())
            );
        }
        let sum = self.combined(a, b, OPERATION, |form, x, y| form.add(self, x, y))?;
        Ok(F::within(sum, F::interval(a) + F::interval(b)))
    }

    /// A sum or a difference, which knows where both have terms in common: their errors add up
    /// then.
    fn combined<F: Form>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
        operation: &'static str,
        combine: impl Fn(&F, &F::Ciphertext, &F::Ciphertext) -> Result<F::Ciphertext, Error> + Sync,
    ) -> Result<Array<F>, Error> {
        let is_dependent = a.terms().meet(b.terms());
        let sum = self.zip(a, b, operation, SlotContents::of_sum, 0.0, |form, x, y| {
            let sum = combine(form, x, y)?;
            Ok(if is_dependent { form.of_dependent(sum, x, y) } else { sum })
        })?;
        Ok(sum.with_terms(a.terms().join(b.terms())))
    }

    /// `a - b`, element by element; shapes broadcast as numpy's do.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shapes do not fit, [`Error::KeyMismatch`] when the keys do.
    pub fn sub<F: Form>(&self, a: &Array<F>, b: &Array<F>) -> Result<Array<F>, Error> {
        let difference = self.combined(a, b, "subtract", |form, x, y| form.sub(self, x, y))?;
        Ok(F::within(difference, F::interval(a) - F::interval(b)))
    }

    /// `-a`.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the array belongs to another key.
    pub fn negate<F: Form>(&self, a: &Array<F>) -> Result<Array<F>, Error> {
        let negated = self.map(a, "negate", true, 0.0, |form, x| form.negate(self, x))?;
        Ok(F::within(negated, -F::interval(a)).with_terms(a.terms().clone()))
    }

    /// `a b`, element by element; shapes broadcast as numpy's do.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shapes do not fit, [`Error::KeyMismatch`] when the keys do,
    /// [`Error::Capacity`] or [`Error::Budget`] when no multiplication is left.
    pub fn mul<F: Form>(&self, a: &Array<F>, b: &Array<F>) -> Result<Array<F>, Error> {
        const OPERATION: &str = "multiply";
        if std::ptr::eq(a, b) {
            return self.square(a).map_err(|e| e.during(OPERATION));
        }
        let bits = self.form_of(&[a, b]).product_bits(self);
        // Factors with terms in common have errors in common: they add up, as those of two copies
        // do.
        let copies = if a.terms().meet(b.terms()) { 2 } else { 1 };
        let product = self.zip(a, b, OPERATION, SlotContents::of_product, bits, |form, x, y| {
            Ok(form.of_copies(form.mul(self, x, y)?, copies))
        })?;
        Ok(F::within(product, F::interval(a) * F::interval(b)))
    }

    /// `a^2`, element by element.
    ///
    /// # Errors
    /// [`Error::Capacity`] or [`Error::Budget`] when no multiplication is left.
    pub fn square<F: Form>(&self, a: &Array<F>) -> Result<Array<F>, Error> {
        let bits = self.form_of(&[a]).product_bits(self);
        let square = self.map(a, "square", true, bits, |form, x| form.mul(self, x, x))?;
        Ok(F::within(square, F::interval(a).power(2)))
    }

    /// `a + p` for plain numbers in the shape of `a`, in row-major order.
    ///
    /// # Errors
    /// [`Error::Shape`] when there are not as many, [`Error::Encode`] when one is NaN, infinite or
    /// too large.
    pub fn add_plain<'v, F: Form>(
        &self,
        a: &Array<F>,
        p: impl Into<F::Plain<'v>>,
    ) -> Result<Array<F>, Error> {
        const OPERATION: &str = "add plain numbers";
        let (p, form) = (p.into(), self.form_of(&[a]));
        self.check_plain::<F>(a, p, OPERATION)?;
        let sum = self.with_capacity([a], 0.0, |[a]| {
            let ciphertexts = a.expanded(&self.session);
            let out = form
                .add_plain(self, a.layout(), &ciphertexts, p)
                .map_err(|e| e.during(OPERATION))?;
            Ok(Array::from_ciphertexts(
                a.layout().clone(),
                form.clone().with_plain(p),
                SlotContents::zero_if(a.is_clean()),
                out,
            ))
        })?;
        Ok(F::within(sum, F::interval(a) + a.form().plain_interval(p))
            .with_terms(a.terms().clone()))
    }

    /// `a p` for plain numbers in the shape of `a`, in row-major order. Slots that hold no element
    /// become zero.
    ///
    /// # Errors
    /// [`Error::Shape`] when there are not as many, [`Error::Encode`] when one is NaN, infinite or
    /// too large, [`Error::Capacity`] or [`Error::Budget`] when no multiplication is left.
    pub fn mul_plain<'v, F: Form>(
        &self,
        a: &Array<F>,
        p: impl Into<F::Plain<'v>>,
    ) -> Result<Array<F>, Error> {
        const OPERATION: &str = "multiply by plain numbers";
        let (p, form) = (p.into(), self.form_of(&[a]));
        self.check_plain::<F>(a, p, OPERATION)?;
        let product = self.with_capacity([a], form.product_bits(self), |[a]| {
            let ciphertexts = a.expanded(&self.session);
            let out = form
                .mul_plain(self, a.layout(), &ciphertexts, p)
                .map_err(|e| e.during(OPERATION))?;
            Ok(Array::from_ciphertexts(
                a.layout().clone(),
                form.clone().with_plain(p),
                SlotContents::Zero,
                out,
            ))
        })?;
        Ok(F::within(product, F::interval(a) * a.form().plain_interval(p)))
    }

    /// `a + c`, the number `c` added to every element.
    ///
    /// # Errors
    /// [`Error::Argument`] when `c` is not finite, [`Error::Capacity`] or [`Error::Encode`] when it
    /// is too large.
    pub fn add_number<F: Form>(&self, a: &Array<F>, c: F::Number) -> Result<Array<F>, Error> {
        const OPERATION: &str = "add a number";
        let not_finite =
            |c: f64| Error::argument(OPERATION, format!("the number {c} is not finite"));
        if a.is_clean() && !a.layout().is_full() {
            let sum = self.add_plain(a, F::plain(&vec![c; a.size()]));
            return sum.map_err(|error| match error {
                Error::Encode(EncodeError::NotFinite { value, .. }) => not_finite(value),
                other => other,
            });
        }
        let sum = self
            .map(a, OPERATION, a.layout().is_full(), 0.0, |form, x| form.add_number(self, x, c))?;
        Ok(F::within(sum, F::interval(a) + a.form().number_interval(c))
            .with_terms(a.terms().clone()))
    }

    /// `a c`, every element times the number `c`. Numbers that are an integer over `2^k`, `k` up to
    /// 12, are exact and take only `k` bits of capacity (and the bits by which they are larger than
    /// 1); others take as much as any product. Arrays of integers are multiplied by a `c` that is a
    /// unit modulo the plaintext modulus for nothing, but for sums that they meet in later.
    ///
    /// What takes as much as a product sets to zero what sums have left in slots that hold no
    /// element, so that the result can be repeated or summed without another.
    ///
    /// # Errors
    /// [`Error::Argument`] when `c` is not finite or too large for the modulus, [`Error::Capacity`]
    /// or [`Error::Budget`] when no multiplication is left or the product is too large.
    pub fn mul_number<F: Form>(&self, a: &Array<F>, c: F::Number) -> Result<Array<F>, Error> {
        const OPERATION: &str = "multiply by a number";
        if !a.is_regular() && !F::is_exact(c) {
            let product = self.mul_plain(a, F::plain(&vec![c; a.size()]));
            return product.map_err(|error| match error {
                Error::Encode(_) => {
                    let what = format!(
                        "a factor of {} is too large for the modulus",
                        Short(F::magnitude(c))
                    );
                    Error::argument(OPERATION, what)
                }
                other => other.during(OPERATION),
            });
        }
        let product = self.map(a, OPERATION, true, 0.0, |form, x| form.mul_number(self, x, c))?;
        let product = F::within(product, F::interval(a) * a.form().number_interval(c));
        Ok(product.with_terms(a.terms().clone()))
    }

    /// Declares that the elements lie in `interval`, as [`EncryptedArray::with_interval`]. The
    /// bound of a ciphertext also holds for its stray slots, such as the other elements of the
    /// array that a slice is of, and parts of sums. If there are such and the bound becomes
    /// tighter, they are set to zero, which is one multiplication.
    ///
    /// # Errors
    /// As [`EncryptedArray::with_interval`], [`Error::Argument`] if the modulus is too small for
    /// such values, and [`Error::Capacity`] if that multiplication is not left.
    pub fn declare_interval(
        &self,
        a: &EncryptedArray,
        interval: Interval,
    ) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "declare an interval";
        self.check(a, OPERATION)?;
        if a.has_strays() && a.interval().declared(interval, OPERATION)?.bound() < a.bound() {
            return self.cleaned(a)?.with_interval(interval);
        }
        let declared = a.clone().with_interval(interval)?;
        declared.check_room(&self.session, OPERATION)?;
        Ok(declared)
    }

    /// Declares that no element is larger than `bound` in absolute value:
    /// [`Server::declare_interval`] of `[-bound, bound]`.
    ///
    /// # Errors
    /// As [`Server::declare_interval`], and [`Error::Argument`] if `bound` is negative.
    pub fn declare_bound(&self, a: &EncryptedArray, bound: f64) -> Result<EncryptedArray, Error> {
        self.declare_interval(a, Interval::finite(-bound, bound)?)
    }

    /// Declares how precise the elements are, for who knows better than
    /// [`EncryptedArray::precision_bits`].
    ///
    /// That estimate follows errors through every operation as if nothing ever made them smaller.
    /// Iterations that correct themselves, such as Newton's, gradient descent or normalised powers
    /// of a matrix, make them smaller in every step; the estimate grows all the same, until a
    /// bootstrap gives it up ([`EncryptedArray::is_error_known`]). Where the declaration is wrong,
    /// so is what later operations say of their errors,
    /// [`ClientKey::decrypt_for_sharing`](crate::ClientKey::decrypt_for_sharing) hides less than it
    /// says, and a bootstrap may return anything.
    ///
    /// What such an iteration corrects is the elements: an error in a slot without one may grow in
    /// every step. Where the estimate of those is larger than what is declared, they are set to
    /// zero, which is one multiplication.
    ///
    /// # Errors
    /// [`Error::Argument`] when `bits` is not finite, [`Error::KeyMismatch`] when the array belongs
    /// to another key, and [`Error::Capacity`] when that multiplication is not left.
    pub fn declare_precision(
        &self,
        a: &EncryptedArray,
        bits: f64,
    ) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "declare a precision";
        self.check(a, OPERATION)?;
        if !a.has_others() || a.precision_bits_elsewhere(&self.session) >= bits || !bits.is_finite()
        {
            return a.clone().with_precision_bits(bits, &self.session);
        }
        let entries = a.layout().positions().map(|place| (place, place, 1.0)).collect::<Vec<_>>();
        self.linear_map(a, a.layout().clone(), entries, OPERATION)?
            .with_precision_bits(bits, &self.session)
    }

    /// Sets every slot that holds no element to zero; one multiplication deep unless they are.
    pub(in crate::server) fn cleaned<F: Form>(&self, a: &Array<F>) -> Result<Array<F>, Error> {
        if a.is_clean() || a.layout().is_full() {
            return Ok(a.clone());
        }
        let cleaned = self.mul_plain(a, F::plain(&vec![F::ONE; a.size()]))?;
        Ok(F::within(cleaned, F::interval(a)))
    }

    /// Checks that there is a plain number for each element.
    fn check_plain<F: Form>(
        &self,
        a: &Array<F>,
        p: F::Plain<'_>,
        operation: &'static str,
    ) -> Result<(), Error> {
        self.check(a, operation)?;
        if F::count(p) == a.size() {
            return Ok(());
        }
        Err(Error::shape(operation, format!("{} numbers for shape {:?}", F::count(p), a.shape())))
    }
}
