//! Arithmetic element by element: sums, differences, products, and declared intervals and
//! precision.

use hippocrene_ckks::{Short, encoder::EncodeError};

use crate::server::{
    Computed, Server,
    planner::choose::{Candidate, MARGIN_BITS},
};
use crate::{Arithmetic, Array, EncryptedArray, Error, Interval, SlotContents, format_shape};

impl Server {
    /// Returns `a + b`, element by element.
    ///
    /// Shapes broadcast as in numpy.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shapes do not fit, [`Error::KeyMismatch`] when the arrays belong
    /// to different keys. For arrays of integers, this operation and the following ones also return
    /// [`Error::Budget`] when the noise would be too large, and [`Error::PlainModulusMismatch`]
    /// when the plaintext moduli differ.
    pub fn add<F: Arithmetic>(&self, a: &Array<F>, b: &Array<F>) -> Result<Array<F>, Error> {
        const OPERATION: &str = "add";
        let is_double = are_one(a, b);
        let sum = self.combined(a, b, OPERATION, |server, form, x, y| match is_double {
            true => form.add(server, x, x),
            false => form.add(server, x, y),
        })?;
        Ok(match is_double {
            true => F::with_known_interval(sum, F::interval(a).times_count(2))
                .with_terms(a.terms().clone()),
            false => F::with_known_interval(sum, F::interval(a) + F::interval(b)),
        })
    }

    /// Returns the sum or the difference that `combine` computes from each pair of ciphertexts.
    ///
    /// If `a` and `b` are the same values, or sums with terms in common, their errors are not
    /// independent. The noise estimate then adds them as equal errors.
    fn combined<F: Arithmetic>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
        operation: &'static str,
        combine: impl Fn(&Server, &F, &F::Ciphertext, &F::Ciphertext) -> Computed<F> + Sync,
    ) -> Result<Array<F>, Error> {
        let is_dependent = are_dependent(a, b) && !are_one(a, b);
        let most_bits = (F::log2_bound(a) - F::log2_bound(b)).abs() + 1.0 + MARGIN_BITS;
        let sum =
            self.zip(a, b, operation, SlotContents::of_sum, most_bits, |server, form, x, y| {
                let sum = combine(server, form, x, y)?;
                Ok(if is_dependent { form.of_dependent(sum, x, y) } else { sum })
            })?;
        Ok(sum.with_terms(a.terms().join(b.terms())))
    }

    /// Returns `a - b`, element by element.
    ///
    /// Shapes broadcast as in numpy.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shapes do not fit, [`Error::KeyMismatch`] when the arrays belong
    /// to different keys.
    pub fn sub<F: Arithmetic>(&self, a: &Array<F>, b: &Array<F>) -> Result<Array<F>, Error> {
        let difference =
            self.combined(a, b, "subtract", |server, form, x, y| form.sub(server, x, y))?;
        Ok(F::with_known_interval(difference, F::interval(a) - F::interval(b)))
    }

    /// Returns `-a`, element by element.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] when the array belongs to another key.
    pub fn negate<F: Arithmetic>(&self, a: &Array<F>) -> Result<Array<F>, Error> {
        let negated = self.map(a, "negate", true, 0.0, |server, form, x| form.negate(server, x))?;
        Ok(F::with_known_interval(negated, -F::interval(a)).with_terms(a.terms().clone()))
    }

    /// Returns `a b`, element by element.
    ///
    /// Shapes broadcast as in numpy.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shapes do not fit, [`Error::KeyMismatch`] when the arrays belong
    /// to different keys, [`Error::Capacity`] or [`Error::Budget`] when no multiplication is left.
    pub fn mul<F: Arithmetic>(&self, a: &Array<F>, b: &Array<F>) -> Result<Array<F>, Error> {
        const OPERATION: &str = "multiply";
        let growth = F::log2_bound(a).max(0.0) + F::log2_bound(b).max(0.0);
        let bits = self.form_of(&[a, b]).product_bits(self) + growth + MARGIN_BITS;
        let is_square = are_one(a, b);
        // Errors that factors have in common add up like the errors of two copies.
        let copies = if are_dependent(a, b) { 2 } else { 1 };
        let multiply = |server: &Server, form: &F, x: &F::Ciphertext, y: &F::Ciphertext| {
            Ok(match is_square {
                true => form.mul(server, x, x)?,
                false => form.of_copies(form.mul(server, x, y)?, copies),
            })
        };
        let product = self.zip(a, b, OPERATION, SlotContents::of_product, bits, multiply)?;
        let interval = match is_square {
            true => F::interval(a).power(2),
            false => F::interval(a) * F::interval(b),
        };
        Ok(F::with_known_interval(product, interval))
    }

    /// Returns `a^2`, element by element.
    ///
    /// # Errors
    /// [`Error::Capacity`] or [`Error::Budget`] when no multiplication is left.
    pub fn square<F: Arithmetic>(&self, a: &Array<F>) -> Result<Array<F>, Error> {
        let growth = F::log2_bound(a).max(0.0);
        let bits = self.form_of(&[a]).product_bits(self) + growth + MARGIN_BITS;
        let square = self.map(a, "square", true, bits, |server, form, x| form.mul(server, x, x))?;
        Ok(F::with_known_interval(square, F::interval(a).power(2)))
    }

    /// Returns `a + p` for plain numbers `p`, one for each element in row-major order.
    ///
    /// # Errors
    /// [`Error::Shape`] when the count of numbers is not the size of `a`, [`Error::Encode`] when a
    /// number is NaN, infinite or too large.
    pub fn add_plain<'v, F: Arithmetic>(
        &self,
        a: &Array<F>,
        p: impl Into<F::Plain<'v>>,
    ) -> Result<Array<F>, Error> {
        const OPERATION: &str = "add plain numbers";
        let (p, form) = (p.into(), self.form_of(&[a]));
        self.check_plain::<F>(a, p, OPERATION)?;
        let sums = Candidate::new("each ciphertext", |server: &Server, [a]: [&Array<F>; 1]| {
            let ciphertexts = a.expanded(&server.session);
            let out = form
                .add_plain(server, a.layout(), &ciphertexts, p)
                .map_err(|e| e.during(OPERATION))?;
            Ok(Array::from_ciphertexts(
                a.layout().clone(),
                form.clone().with_plain(p),
                SlotContents::zero_if(a.is_clean()),
                out,
            ))
        });
        let most_bits = growth_of_sum(a, a.form().plain_interval(p).bound()) + MARGIN_BITS;
        let sum = self.perform(OPERATION, [a], most_bits, &[sums])?;
        Ok(F::with_known_interval(sum, F::interval(a) + a.form().plain_interval(p))
            .with_terms(a.terms().clone()))
    }

    /// Returns `a p` for plain numbers `p`, one for each element in row-major order.
    ///
    /// Slots that hold no element become zero.
    ///
    /// # Errors
    /// [`Error::Shape`] when the count of numbers is not the size of `a`, [`Error::Encode`] when a
    /// number is NaN, infinite or too large, [`Error::Capacity`] or [`Error::Budget`] when no
    /// multiplication is left.
    pub fn mul_plain<'v, F: Arithmetic>(
        &self,
        a: &Array<F>,
        p: impl Into<F::Plain<'v>>,
    ) -> Result<Array<F>, Error> {
        const OPERATION: &str = "multiply by plain numbers";
        let (p, form) = (p.into(), self.form_of(&[a]));
        self.check_plain::<F>(a, p, OPERATION)?;
        let products = Candidate::new("each ciphertext", |server: &Server, [a]: [&Array<F>; 1]| {
            let ciphertexts = a.expanded(&server.session);
            let out = form
                .mul_plain(server, a.layout(), &ciphertexts, p)
                .map_err(|e| e.during(OPERATION))?;
            Ok(Array::from_ciphertexts(
                a.layout().clone(),
                form.clone().with_plain(p),
                SlotContents::Zero,
                out,
            ))
        });
        let growth = a.form().plain_interval(p).bound().max(1.0).log2();
        let most_bits = form.product_bits(self) + growth + MARGIN_BITS;
        let product = self.perform(OPERATION, [a], most_bits, &[products])?;
        Ok(F::with_known_interval(product, F::interval(a) * a.form().plain_interval(p)))
    }

    /// Returns `a + c`, with the number `c` added to every element.
    ///
    /// # Errors
    /// [`Error::Argument`] when `c` is not finite, [`Error::Capacity`] or [`Error::Encode`] when it
    /// is too large.
    pub fn add_number<F: Arithmetic>(&self, a: &Array<F>, c: F::Number) -> Result<Array<F>, Error> {
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
        let most_bits = growth_of_sum(a, F::magnitude(c)) + MARGIN_BITS;
        let sum = self.map(a, OPERATION, a.layout().is_full(), most_bits, |server, form, x| {
            form.add_number(server, x, c)
        })?;
        Ok(F::with_known_interval(sum, F::interval(a) + a.form().number_interval(c))
            .with_terms(a.terms().clone()))
    }

    /// Returns `a c`, with every element multiplied by the number `c`.
    ///
    /// If `c` is an integer over `2^k` with `k` up to 12, the product is exact. It then costs only
    /// `k` bits of capacity, and `log2 |c|` bits more if `|c|` is above 1. Any other `c` costs as
    /// much as a product of arrays.
    ///
    /// For arrays of integers, a `c` that is a unit modulo the plaintext modulus costs nothing
    /// here. It can make later sums with other arrays more expensive.
    ///
    /// A product at full cost also sets stray slots to zero, such as those that sums leave. The
    /// result can then be repeated or summed without another multiplication.
    ///
    /// # Errors
    /// [`Error::Argument`] when `c` is not finite or too large for the modulus, [`Error::Capacity`]
    /// or [`Error::Budget`] when no multiplication is left or the product is too large.
    pub fn mul_number<F: Arithmetic>(&self, a: &Array<F>, c: F::Number) -> Result<Array<F>, Error> {
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
        // log2(0) would set the flag of a division by zero, which numpy reports.
        let growth = F::magnitude(c).max(1.0).log2();
        let most_bits = self.form_of(&[a]).product_bits(self) + growth + MARGIN_BITS;
        let product = self
            .map(a, OPERATION, true, most_bits, |server, form, x| form.mul_number(server, x, c))?;
        let product = F::with_known_interval(product, F::interval(a) * a.form().number_interval(c));
        Ok(product.with_terms(a.terms().clone()))
    }

    /// Declares that the elements lie in `interval`, as [`EncryptedArray::with_interval`] does.
    ///
    /// The bound of a ciphertext also holds for its stray slots. These may hold the other elements
    /// of the array that a slice was taken from, or partial sums. If there are stray slots and the
    /// bound becomes tighter, this sets them to zero, which costs one multiplication.
    ///
    /// # Errors
    /// As [`EncryptedArray::with_interval`], [`Error::Argument`] if the modulus is too small for
    /// such values, and [`Error::Capacity`] if no multiplication is left for setting stray slots to
    /// zero.
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

    /// Declares that no element is larger than `bound` in absolute value.
    ///
    /// This is [`Server::declare_interval`] of `[-bound, bound]`.
    ///
    /// # Errors
    /// As [`Server::declare_interval`], and [`Error::Argument`] if `bound` is negative.
    pub fn declare_bound(&self, a: &EncryptedArray, bound: f64) -> Result<EncryptedArray, Error> {
        self.declare_interval(a, Interval::finite(-bound, bound)?)
    }

    /// Declares the precision of the elements in bits, if you know better than the estimate.
    ///
    /// The estimate, [`EncryptedArray::precision_bits`], follows errors through every operation as
    /// if no operation ever reduced them. Iterations that correct themselves reduce the error in
    /// every step. Examples are Newton's method, gradient descent and normalised powers of a
    /// matrix. The estimate grows all the same, until a bootstrap marks the error as unknown
    /// ([`EncryptedArray::is_error_known`]).
    ///
    /// If the declaration is wrong, three things go wrong. Later operations state wrong errors,
    /// [`ClientKey::decrypt_for_sharing`](crate::ClientKey::decrypt_for_sharing) hides less than it
    /// states, and a bootstrap may return anything.
    ///
    /// An iteration corrects only the elements. An error in a slot without an element may grow in
    /// every step. If the estimated error of such slots is larger than the declared one, this sets
    /// them to zero, which costs one multiplication.
    ///
    /// # Errors
    /// [`Error::Argument`] when `bits` is not finite, [`Error::KeyMismatch`] when the array belongs
    /// to another key, and [`Error::Capacity`] when no multiplication is left for setting slots to
    /// zero.
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

    /// Returns the array with zero in every slot that holds no element.
    ///
    /// This costs one multiplication, unless these slots are zero already or there are none.
    pub(in crate::server) fn cleaned<F: Arithmetic>(
        &self,
        a: &Array<F>,
    ) -> Result<Array<F>, Error> {
        if a.is_clean() || a.layout().is_full() {
            return Ok(a.clone());
        }
        let cleaned = self.mul_plain(a, F::plain(&vec![F::ONE; a.size()]))?;
        Ok(F::with_known_interval(cleaned, F::interval(a)))
    }

    /// Checks that there is one plain number for each element.
    fn check_plain<F: Arithmetic>(
        &self,
        a: &Array<F>,
        p: F::Plain<'_>,
        operation: &'static str,
    ) -> Result<(), Error> {
        self.check(a, operation)?;
        if F::count(p) == a.size() {
            return Ok(());
        }
        Err(Error::shape(
            operation,
            format!("{} numbers for shape {}", F::count(p), format_shape(a.shape())),
        ))
    }
}

/// Returns the bits by which the bound of an array grows if `number` is added to it.
fn growth_of_sum<F: Arithmetic>(a: &Array<F>, number: f64) -> f64 {
    let bound = F::log2_bound(a);
    (bound.exp2() + number).log2() - bound
}

/// True if both arrays are the same values in the same interval.
fn are_one<F: Arithmetic>(a: &Array<F>, b: &Array<F>) -> bool {
    F::interval(a) == F::interval(b) && a.is_same(b)
}

/// True if the errors of both arrays may have a part in common.
fn are_dependent<F: Arithmetic>(a: &Array<F>, b: &Array<F>) -> bool {
    a.terms().meet(b.terms()) || a.is_same(b)
}
