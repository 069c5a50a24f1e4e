//! Arrays of real and complex numbers.

use hippocrene_ckks::{Scale, Short};
use hippocrene_rlwe::{Noise, noise::log2};
use num_complex::Complex64;

use crate::{Array, CiphertextBody, Error, Interval, Session, interval::INTERVAL_TOLERANCE};

/// The form of arrays of real or complex numbers (CKKS).
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{ClientKey, Encryption, Interval, Preset};
///
/// let client = ClientKey::generate(Preset::by_name("n13")?.settings()?)?;
/// let how = Encryption { interval: Interval::new(0.0, 120.0), ..Encryption::default() };
/// let ages = client.encrypt_with((&[31.0, 64.0][..]).into(), &[2], &how)?;
/// assert!(!ages.form().complex && ages.form().error_known);
/// assert_eq!(Some(ages.interval()), how.interval);
/// assert!(ages.precision_bits(client.session()) > ages.form().precision);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Numbers {
    /// True if the elements are complex. Otherwise the imaginary parts are only noise.
    pub complex: bool,
    /// The requested precision of results computed from the array, in bits after the binary point.
    ///
    /// The parameters must allow it ([`Settings::scale_of`](crate::Settings::scale_of)).
    pub precision: f64,
    /// The interval of the elements, where it is narrower than the bound of the ciphertexts.
    ///
    /// Operations that do not propagate an interval leave `None`. It is `None` for complex
    /// elements.
    pub interval: Option<Interval>,
    /// True if the estimate of the error is meaningful.
    ///
    /// A bootstrap of an array whose estimate exceeds a sixteenth of its values makes it false, and
    /// so do operations on such an array.
    /// [`Server::declare_precision`](crate::Server::declare_precision) makes it true again.
    pub error_known: bool,
}

impl Numbers {
    /// The interval of elements whose absolute values are at most `bound`.
    pub fn interval_within(&self, bound: f64) -> Interval {
        let bound = Interval::symmetric(bound);
        self.interval.filter(|_| !self.complex).map_or(bound, |known| known.intersection(bound))
    }
}

/// An encrypted array of real or complex numbers.
pub type EncryptedArray = Array<Numbers>;

impl EncryptedArray {
    /// True if the elements are complex. Otherwise the imaginary parts are only noise.
    pub fn is_complex(&self) -> bool {
        self.form().complex
    }

    /// A bound on the absolute values of the elements.
    pub fn bound(&self) -> f64 {
        let bound = |body: &CiphertextBody<Numbers>| match body {
            CiphertextBody::Full(c) => c.bound(),
            CiphertextBody::Seeded(c) => c.seeded().bound(),
        };
        self.bodies().iter().map(bound).fold(0.0, f64::max)
    }

    /// The interval that the elements lie in, declared at encryption and propagated by every
    /// operation.
    ///
    /// For complex elements it holds the real and the imaginary parts. It does not cover slots
    /// without an element.
    pub fn interval(&self) -> Interval {
        self.form().interval_within(self.bound())
    }

    /// The same array, with the knowledge that its elements lie in `interval` too.
    ///
    /// It leaves the interval of complex arrays unchanged.
    ///
    /// If every slot holds an element, a copy of one or zero, the bound of the ciphertexts becomes
    /// that of the interval. Later operations then need less capacity and are more precise.
    pub(crate) fn with_known_interval(mut self, interval: Interval) -> Self {
        let known = self.interval().intersection(interval);
        if !self.is_complex() && known.bound() < self.bound() && !self.has_strays() {
            self.lower_bound(known.bound());
        }
        self.set_interval(known);
        self
    }

    /// Lowers the bounds of all ciphertexts to at most `bound`.
    fn lower_bound(&mut self, bound: f64) {
        for body in self.bodies_mut() {
            match body {
                CiphertextBody::Full(c) => c.set_bound(c.bound().min(bound)),
                CiphertextBody::Seeded(c) => {
                    let lower = c.seeded().bound().min(bound);
                    c.seeded_mut().set_bound(lower);
                }
            }
        }
    }

    /// Sets the interval of real elements; it is stored only if it is narrower than the bound.
    fn set_interval(&mut self, interval: Interval) {
        let says_more = !self.is_complex() && interval != Interval::symmetric(self.bound());
        self.form_mut().interval = says_more.then_some(interval);
    }

    /// The same array with exactly this interval and its bound, instead of those known before.
    pub(crate) fn of_interval(mut self, interval: Interval) -> Self {
        self.set_bound(interval.bound());
        self.set_interval(interval);
        self
    }

    /// Declares that the elements lie in `interval`.
    ///
    /// Operations propagate the interval of the worst case, and a sum of many products is far from
    /// that. If you know better, declare it, for example where a polynomial refuses an array whose
    /// interval exceeds its domain.
    ///
    /// A declaration that contains the known interval replaces it. For a fresh array this hides the
    /// interval that encryption took from the values. Any other declaration is added knowledge: the
    /// elements lie in both intervals. If the declaration is wrong, results may be wrong.
    ///
    /// # Errors
    /// [`Error::Argument`] in each of these cases:
    /// - an end is infinite, or no value of the known interval lies in the declared one;
    /// - the array is complex and the interval is not symmetric;
    /// - the bound becomes tighter and slots between the elements hold other values;
    ///   [`Server::declare_interval`](crate::Server::declare_interval) sets these to zero;
    /// - in a simulation, a value lies outside.
    pub fn with_interval(self, interval: Interval) -> Result<Self, Error> {
        const OPERATION: &str = "declare an interval";
        let declared = Interval::finite(interval.low(), interval.high())?;
        if self.is_complex() && declared != Interval::symmetric(declared.bound()) {
            let what = format!(
                "the array is complex, and {declared} is not symmetric. Declare a bound on \
                 absolute values"
            );
            return Err(Error::argument(OPERATION, what));
        }
        self.check_values(declared, OPERATION)?;
        let interval = self.interval().declared(declared, OPERATION)?;
        if interval.bound() < self.bound() && self.has_strays() {
            let what = format!(
                "stray slots, as slices and sums leave them, hold values up to {}, and {} would \
                 not hold for these. Use Server::declare_interval, which sets them to zero.",
                Short(self.bound()),
                Short(interval.bound())
            );
            return Err(Error::argument(OPERATION, what));
        }
        Ok(self.of_interval(interval))
    }

    /// Declares that no element is larger than `bound` in absolute value.
    ///
    /// This is [`EncryptedArray::with_interval`] of `[-bound, bound]`.
    ///
    /// # Errors
    /// As [`EncryptedArray::with_interval`], and [`Error::Argument`] if `bound` is negative.
    pub fn with_bound(self, bound: f64) -> Result<Self, Error> {
        self.with_interval(Interval::finite(-bound, bound)?)
    }

    /// In a simulation, checks that the elements lie in a declared interval.
    ///
    /// They may exceed it by the fraction [`INTERVAL_TOLERANCE`] of its bound.
    fn check_values(&self, interval: Interval, operation: &'static str) -> Result<(), Error> {
        let slack = INTERVAL_TOLERANCE * interval.bound();
        let beyond = |x: &Complex64| match self.is_complex() {
            true => x.norm() > interval.bound() + slack,
            false => x.re < interval.low() - slack || x.re > interval.high() + slack,
        };
        match self.known_elements().find(beyond) {
            None => Ok(()),
            Some(x) => {
                let what = format!(
                    "a value of {} does not lie {interval}",
                    Short(if self.is_complex() { x.norm() } else { x.re })
                );
                Err(Error::argument(operation, what))
            }
        }
    }

    /// The known elements of an array of a simulation; none for any other array.
    pub(crate) fn known_elements(&self) -> impl Iterator<Item = Complex64> + '_ {
        let slots = self.layout().slots();
        let known = self.bodies().iter().map(|body| match body {
            CiphertextBody::Full(c) => c.tracked_values(),
            CiphertextBody::Seeded(c) => c.seeded().tracked_values(),
        });
        let values: Vec<Option<&[Complex64]>> = known.collect();
        self.layout().positions().filter_map(move |at| {
            values.get(at / slots)?.and_then(|of| of.get(at % slots)).copied()
        })
    }

    pub(crate) fn set_bound(&mut self, bound: f64) {
        for body in self.bodies_mut() {
            match body {
                CiphertextBody::Full(c) => c.set_bound(bound),
                CiphertextBody::Seeded(c) => c.seeded_mut().set_bound(bound),
            }
        }
    }

    /// The precision of the elements, in bits after the binary point.
    ///
    /// It is `-log2` of the estimated standard deviation of their error.
    ///
    /// An array whose error is exactly zero (an array times 0) counts as rounded to integers at its
    /// scale, since it cannot hold more. The result is NaN for a session of other parameters, and
    /// where the error is not known ([`EncryptedArray::is_error_known`]).
    pub fn precision_bits(&self, session: &Session) -> f64 {
        match self.is_error_known() {
            true => self.least_precision(session, |noise| noise),
            false => f64::NAN,
        }
    }

    /// True if [`EncryptedArray::precision_bits`] knows how large the error is.
    ///
    /// Estimates follow errors through every operation as if nothing reduced them. In iterations
    /// that correct themselves, the estimates grow beyond the values. A bootstrap of such an array
    /// assumes that the elements have the requested precision, and marks their error as unknown.
    pub fn is_error_known(&self) -> bool {
        self.form().error_known
    }

    /// Checks that the error is known, for an operation that relies on it.
    ///
    /// # Errors
    /// [`Error::Argument`] when it is not.
    pub(crate) fn check_error_known(&self, operation: &'static str) -> Result<(), Error> {
        match self.is_error_known() {
            true => Ok(()),
            false => Err(Error::argument(
                operation,
                "the error of the array is not known: its estimate exceeded a sixteenth of the \
                 values before a bootstrap. Declare how precise the elements are \
                 (with_precision_bits) if that is known from elsewhere",
            )),
        }
    }

    /// The precision of slots without an element, as [`EncryptedArray::precision_bits`].
    ///
    /// If they are stray slots, they count as elements.
    pub(crate) fn precision_bits_elsewhere(&self, session: &Session) -> f64 {
        let strays = self.has_strays();
        self.least_precision(session, |noise| if strays { noise } else { noise.in_zeros() })
    }

    /// The precision of the least precise ciphertext; `of` maps its noise estimate to the noise
    /// that counts.
    fn least_precision(&self, session: &Session, of: impl Fn(Noise) -> Noise) -> f64 {
        if !self.is_of(session) {
            return f64::NAN;
        }
        let bits = |(scale, noise, slots)| precision_bits(scale, of(noise), slots);
        self.estimates().map(bits).fold(f64::INFINITY, f64::min)
    }

    /// The scale, noise and number of slots of each ciphertext.
    pub(crate) fn estimates(&self) -> impl Iterator<Item = (Scale, Noise, usize)> + '_ {
        self.bodies().iter().map(|body| match body {
            CiphertextBody::Full(c) => (c.scale(), c.inner().noise(), c.slots()),
            CiphertextBody::Seeded(c) => {
                (c.seeded().scale(), c.seeded().noise(), c.seeded().slots())
            }
        })
    }

    /// Sets the precision as [`Server::declare_precision`](crate::Server::declare_precision) does,
    /// without regard to other slots.
    pub(crate) fn with_precision_bits(
        mut self,
        bits: f64,
        session: &Session,
    ) -> Result<Self, Error> {
        const OPERATION: &str = "declare a precision";
        if !bits.is_finite() {
            return Err(Error::argument(
                OPERATION,
                format!("{bits} bits: a finite number is needed"),
            ));
        }
        session.context().rlwe().check_digest(self.parameters(), OPERATION)?;
        for body in self.bodies_mut() {
            let mut c = match body {
                CiphertextBody::Full(c) => c.clone(),
                CiphertextBody::Seeded(c) => c.expand(session).into_owned(),
            };
            c.set_precision_bits(bits);
            *body = CiphertextBody::Full(c);
        }
        self.form_mut().error_known = true;
        Ok(self)
    }

    /// The same array, marked as having an unknown error.
    pub(crate) fn with_unknown_error(mut self) -> Self {
        self.form_mut().error_known = false;
        self
    }

    /// Declares that the elements are deviations of values up to `bound` from their mean.
    ///
    /// This is for sums over all of them, of their squares or of products with other such
    /// deviations.
    ///
    /// A deviation may be twice as large as the bound, but the squares of all `n` add up to at most
    /// `n bound^2`. So the error of such a sum is at most that of a sum over deviations up to
    /// `bound`. The estimate is set to that.
    #[must_use]
    pub fn as_deviations(self, bound: f64) -> Self {
        let smaller = log2(bound / self.bound()).min(0.0);
        self.with_noises(|noise| if smaller.is_finite() { noise.scaled(smaller) } else { noise })
    }

    /// Declares that the elements are copies of one mean, for sums over all deviations from it.
    ///
    /// The copies are subtracted from the values, and each difference is multiplied by such a
    /// deviation.
    ///
    /// The estimate treats the error of all copies as common. A common error would cancel, since
    /// deviations add up to zero. But errors of rotations differ from copy to copy, and may agree
    /// in every second copy or in neighbours.
    ///
    /// The rotations that add up `n` slots and make `n` copies leave at most 1/6 and 2/9 of the
    /// variance. These are the values for deviations of alternating signs, the worst case. The
    /// estimate keeps one fourth.
    #[must_use]
    pub fn as_mean(self) -> Self {
        self.with_noises(|noise| {
            let left = noise.common().scaled(-1.0);
            noise.independent_part().plus(left)
        })
    }

    fn with_noises(mut self, noise: impl Fn(Noise) -> Noise) -> Self {
        for body in self.bodies_mut() {
            if let CiphertextBody::Full(c) = body {
                c.set_noise(noise(c.inner().noise()));
            }
        }
        self
    }

    /// Declares that the elements are variances of numbers in `values` about their means.
    ///
    /// The sums of squares were divided by a number that is `factor` times smaller than the number
    /// of values. A variance of numbers in an interval is at least 0 and at most a quarter of the
    /// square of its width.
    #[must_use]
    pub fn as_variances(self, values: Interval, factor: f64) -> Self {
        let largest = values.width().powi(2) / 4.0 * factor;
        match Interval::new(0.0, largest) {
            Some(interval) => self.with_known_interval(interval),
            None => self,
        }
    }

    /// The capacity: the number of bits of modulus left to compute with.
    ///
    /// A multiplication uses about the precision plus the overhead of the settings. The result is
    /// NaN for a session of other parameters.
    pub fn capacity_bits(&self, session: &Session) -> f64 {
        if !self.is_of(session) {
            return f64::NAN;
        }
        let parameters = session.settings().parameters();
        let bits = |body: &CiphertextBody<Numbers>| {
            let (scale, bound) = match body {
                CiphertextBody::Full(c) => (c.scale(), c.bound()),
                CiphertextBody::Seeded(c) => (c.seeded().scale(), c.seeded().bound()),
            };
            capacity_bits(parameters.log2(body.modulus()), scale, bound)
        };
        self.bodies().iter().map(bits).fold(f64::INFINITY, f64::min)
    }

    /// Checks that values up to the bound fit the modulus.
    ///
    /// # Errors
    /// [`Error::Argument`] when they do not.
    pub(crate) fn check_room(
        &self,
        session: &Session,
        operation: &'static str,
    ) -> Result<(), Error> {
        let capacity = self.capacity_bits(session);
        if capacity >= 0.0 {
            return Ok(());
        }
        let what = format!(
            "values up to {} need {:.1} bits more than the modulus has. Scale them down, request \
             less precision, or take a preset with a larger modulus.",
            Short(self.bound()),
            -capacity
        );
        Err(Error::argument(operation, what))
    }

    /// Checks that the error of encryption is not larger than the bound of the values.
    pub(crate) fn check_precision(
        &self,
        session: &Session,
        operation: &'static str,
    ) -> Result<(), Error> {
        let (bits, bound) = (self.precision_bits(session), self.bound());
        if bound == 0.0 || -bits <= log2(bound) {
            return Ok(());
        }
        let what = format!(
            "at a precision of {:.1} bits the error of encryption is about {}, and values are up \
             to {}. Ask for more precision, or scale the values up",
            self.precision(),
            Short((-bits).exp2()),
            Short(bound)
        );
        Err(Error::argument(operation, what))
    }

    /// The requested precision of results computed from this array, in bits after the binary point.
    ///
    /// [`EncryptedArray::precision_bits`] estimates the precision that the array has. Operations on
    /// arrays of different requested precision use the smaller one.
    pub fn precision(&self) -> f64 {
        self.form().precision
    }

    /// Requests another precision of results computed from this array.
    ///
    /// With less precision every product uses less capacity. A higher precision than the array has
    /// makes nothing more precise.
    ///
    /// # Errors
    /// [`Error::Parameters`] when these parameters do not allow the precision.
    pub fn with_precision(mut self, precision: f64, session: &Session) -> Result<Self, Error> {
        session.settings().scale_of(precision)?;
        self.form_mut().precision = precision;
        Ok(self)
    }
}

/// The fields of a ciphertext of numbers besides those of an RLWE ciphertext.
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{ClientKey, Elements, Numbers, Preset};
///
/// let client = ClientKey::generate(Preset::by_name("n13")?.settings()?)?;
/// let x = client.encrypt(&[3.0], &[1])?;
/// let own = Numbers::own(&x.bodies()[0]);
/// assert_eq!((own.scale, own.bound), (client.session().settings().scale(), 4.0));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ScaleAndBound {
    /// The scale.
    pub scale: Scale,
    /// The bound on the absolute values in the slots, which is finite.
    pub bound: f64,
}

/// As [`hippocrene_ckks::Ciphertext::capacity_bits`], from log2 of the modulus, the scale and the
/// bound of a ciphertext.
pub fn capacity_bits(log2_modulus: f64, scale: Scale, bound: f64) -> f64 {
    log2_modulus - scale.log2() - bound.max(1.0).log2() - 1.0
}

/// As [`EncryptedArray::precision_bits`], from the scale, noise and number of slots of a
/// ciphertext.
///
/// With `n` slots, an error of standard deviation `e` in the coefficients becomes `e sqrt(n)/scale`
/// in each slot ([`hippocrene_ckks::Ciphertext::precision_bits`]). An error counts at least as that
/// of rounding to integers, `1/sqrt(12)`.
pub fn precision_bits(scale: Scale, noise: Noise, slots: usize) -> f64 {
    let rounding = 12f64.powf(-0.5).log2();
    scale.log2() - noise.log2_std().max(rounding) - 0.5 * (slots as f64).log2()
}
