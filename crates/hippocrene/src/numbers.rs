//! Arrays of real and complex numbers.

use hippocrene_ckks::{Scale, Short};
use hippocrene_rlwe::{Noise, noise::log2};
use num_complex::Complex64;

use crate::{Array, CiphertextBody, Error, Interval, Session, interval::EXCESS};

/// The form of arrays of real or complex numbers (CKKS).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Numbers {
    /// Whether the elements are complex; else the imaginary parts are only noise.
    pub complex: bool,
    /// The precision that what is computed from them is to have, in bits after the binary point. It
    /// must be possible with their parameters ([`Settings::scale_of`](crate::Settings::scale_of)).
    pub precision: f64,
    /// The interval of the elements, where more is known of it than the bound of the ciphertexts
    /// says. Operations that say nothing of it leave `None`. It is `None` for complex elements.
    pub interval: Option<Interval>,
    /// Whether the estimate of the error says anything. A bootstrap of an array whose estimate
    /// exceeds a sixteenth of its values loses it, and so do operations on such an array.
    /// [`Server::declare_precision`](crate::Server::declare_precision) restores it.
    pub error_known: bool,
}

impl Numbers {
    /// The interval of elements that are at most `bound`.
    pub(crate) fn interval_within(&self, bound: f64) -> Interval {
        let bound = Interval::symmetric(bound);
        self.interval.filter(|_| !self.complex).map_or(bound, |known| known.intersection(bound))
    }
}

/// An encrypted array of real or complex numbers.
pub type EncryptedArray = Array<Numbers>;

impl EncryptedArray {
    /// Whether the elements are complex; else the imaginary parts are only noise.
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

    /// The interval that the elements lie in: declared at encryption, and propagated by every
    /// operation. For complex elements it holds the real and the imaginary parts. It says nothing
    /// of slots without an element.
    pub fn interval(&self) -> Interval {
        self.form().interval_within(self.bound())
    }

    /// The same array, whose elements lie in `interval` too. It changes nothing of complex arrays.
    ///
    /// If no slot holds anything but elements, copies of them and zeros, the bound of the
    /// ciphertexts becomes that of the interval: later operations take less capacity and are more
    /// precise.
    pub(crate) fn within(mut self, interval: Interval) -> Self {
        let known = self.interval().intersection(interval);
        if !self.is_complex() && known.bound() < self.bound() && !self.has_strays() {
            self.lower_bound(known.bound());
        }
        self.set_interval(known);
        self
    }

    /// Lowers the bounds of ciphertexts that are larger than `bound`.
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

    /// Sets the interval of real elements, which is kept if it says more than the bound.
    fn set_interval(&mut self, interval: Interval) {
        let says_more = !self.is_complex() && interval != Interval::symmetric(self.bound());
        self.form_mut().interval = says_more.then_some(interval);
    }

    /// The same array, of which this interval is said and nothing else.
    pub(crate) fn of_interval(mut self, interval: Interval) -> Self {
        self.set_bound(interval.bound());
        self.set_interval(interval);
        self
    }

    /// Declares that the elements lie in `interval`.
    ///
    /// The interval that operations propagate is that of the worst case, which a sum of many
    /// products is far from. If you know better, declare it; for example where a polynomial refuses
    /// an array whose interval exceeds its domain. A declaration that holds all of the known
    /// interval replaces it: for a fresh array that hides what encryption took from the values. Any
    /// other declaration is added knowledge: the elements lie in both intervals. Where the
    /// declaration is wrong, results may be.
    ///
    /// # Errors
    /// [`Error::Argument`] if an end is infinite or no value of the known interval lies in the
    /// declared one, if the array is complex and the interval is not symmetric, if the bound
    /// becomes tighter and slots between the elements hold other values
    /// ([`Server::declare_interval`](crate::Server::declare_interval) sets these to zero), and in a
    /// simulation if a value lies outside.
    pub fn with_interval(self, interval: Interval) -> Result<Self, Error> {
        const OPERATION: &str = "declare an interval";
        let declared = Interval::finite(interval.low(), interval.high())?;
        if self.is_complex() && declared != Interval::symmetric(declared.bound()) {
            let what = format!(
                "the array is complex, and {declared} is not symmetric. Declare a bound on absolute values"
            );
            return Err(Error::argument(OPERATION, what));
        }
        self.check_values(declared, OPERATION)?;
        let interval = self.interval().declared(declared, OPERATION)?;
        if interval.bound() < self.bound() && self.has_strays() {
            let what = format!(
                "other values up to {} stand between the elements, as slices and sums leave them, and {} would not hold for these. Use Server::declare_interval, which sets them to zero",
                Short(self.bound()),
                Short(interval.bound())
            );
            return Err(Error::argument(OPERATION, what));
        }
        Ok(self.of_interval(interval))
    }

    /// Declares that no element is larger than `bound` in absolute value:
    /// [`EncryptedArray::with_interval`] of `[-bound, bound]`.
    ///
    /// # Errors
    /// As [`EncryptedArray::with_interval`], and [`Error::Argument`] if `bound` is negative.
    pub fn with_bound(self, bound: f64) -> Result<Self, Error> {
        self.with_interval(Interval::finite(-bound, bound)?)
    }

    /// Checks, in a simulation, that the elements keep to an interval that is declared, but for
    /// [`EXCESS`] of its bound.
    fn check_values(&self, interval: Interval, operation: &'static str) -> Result<(), Error> {
        let slack = EXCESS * interval.bound();
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

    /// The elements of an array of a simulation, as far as they are known; none of any other array.
    pub(crate) fn known_elements(&self) -> impl Iterator<Item = Complex64> + '_ {
        let slots = self.layout().slots();
        let known = self.bodies().iter().map(|body| match body {
            CiphertextBody::Full(c) => c.known_values(),
            CiphertextBody::Seeded(c) => c.seeded().known_values(),
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

    /// How precise the elements are: `-log2` of the estimated standard deviation of their error, in
    /// bits after the binary point.
    ///
    /// An array whose error is exactly zero (an array times 0) counts as rounded to integers at its
    /// scale, which is all that it can hold. It is not a number for a session of other parameters,
    /// and where the error is not known ([`EncryptedArray::is_error_known`]).
    pub fn precision_bits(&self, session: &Session) -> f64 {
        match self.is_error_known() {
            true => self.least_precision(session, |noise| noise),
            false => f64::NAN,
        }
    }

    /// Whether [`EncryptedArray::precision_bits`] says how large the error is.
    ///
    /// Estimates follow errors through every operation as if nothing made them smaller. In
    /// iterations that correct themselves they grow beyond the values. A bootstrap of such an array
    /// goes on as if the elements were as precise as was asked for, and says that their error is
    /// not known.
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
                "the error of the array is not known: its estimate exceeded a sixteenth of the values before a bootstrap. Declare \
                 how precise the elements are (with_precision_bits) if that is known from elsewhere",
            )),
        }
    }

    /// How precise slots are that hold no element, as [`EncryptedArray::precision_bits`]: where
    /// they do not hold zero they count as elements.
    pub(crate) fn precision_bits_elsewhere(&self, session: &Session) -> f64 {
        let strays = self.has_strays();
        self.least_precision(session, |noise| if strays { noise } else { noise.in_zeros() })
    }

    /// That of the least precise ciphertext, by the noise that `of` takes of its estimate.
    fn least_precision(&self, session: &Session, of: impl Fn(Noise) -> Noise) -> f64 {
        if !self.is_of(session) {
            return f64::NAN;
        }
        let bits = |(scale, noise, slots)| precision_bits(scale, of(noise), slots);
        self.estimates().map(bits).fold(f64::INFINITY, f64::min)
    }

    /// Scale, noise and slots of each ciphertext.
    pub(crate) fn estimates(&self) -> impl Iterator<Item = (Scale, Noise, usize)> + '_ {
        self.bodies().iter().map(|body| match body {
            CiphertextBody::Full(c) => (c.scale(), c.inner().noise(), c.slots()),
            CiphertextBody::Seeded(c) => {
                (c.seeded().scale(), c.seeded().noise(), c.seeded().slots())
            }
        })
    }

    /// [`Server::declare_precision`](crate::Server::declare_precision) of the elements, whatever is
    /// in other slots.
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

    /// The same array, of whose error nothing is known.
    pub(crate) fn with_unknown_error(mut self) -> Self {
        self.form_mut().error_known = false;
        self
    }

    /// Declares that the elements are deviations of values up to `bound` from their mean, for sums
    /// of their squares or of products with other such deviations over all of them.
    ///
    /// A deviation may be twice as large as the bound, but the squares of all `n` add up to `n
    /// bound^2` at most. So the error of such a sum is at most that of a sum over deviations up to
    /// `bound`, which the estimate is set to.
    #[must_use]
    pub fn as_deviations(self, bound: f64) -> Self {
        let smaller = log2(bound / self.bound()).min(0.0);
        self.with_noises(|noise| if smaller.is_finite() { noise.scaled(smaller) } else { noise })
    }

    /// Declares that the elements are copies of one mean, which are subtracted from the values for
    /// sums over all of the deviations, times such deviations.
    ///
    /// The estimate says that all copies have one error, which would cancel: deviations add up to
    /// zero. But errors of rotations differ from copy to copy, and may be alike in every second
    /// one, or in neighbours. With the noise of each of the rotations that add up `n` slots, and
    /// make `n` copies, for the deviations of alternating signs for which they are largest, 1/6 and
    /// 2/9 of the variance are left. A fourth is stated.
    #[must_use]
    pub fn as_mean(self) -> Self {
        self.with_noises(|noise| {
            let left = noise.common().scaled(-1.0);
            noise.apart().plus(left)
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

    /// The same array of variances of numbers in `values` about their means, whose sums of squares
    /// were divided by a number of values that is `factor` times smaller than how many they are. A
    /// variance of numbers in an interval is no larger than a quarter of the square of its width,
    /// and not below 0.
    #[must_use]
    pub fn as_variances(self, values: Interval, factor: f64) -> Self {
        let largest = values.width().powi(2) / 4.0 * factor;
        match Interval::new(0.0, largest) {
            Some(interval) => self.within(interval),
            None => self,
        }
    }

    /// How many bits can still be computed away: a multiplication takes about as many as its
    /// precision and the overhead of the settings. It is not a number for a session of other
    /// parameters.
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
            "values up to {} take {:.1} bits more than there are: scale them down, ask for less precision, or take a preset with a larger modulus",
            Short(self.bound()),
            -capacity
        );
        Err(Error::argument(operation, what))
    }

    /// Checks that the error of encryption is not larger than the values may be.
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
            "at a precision of {:.1} bits the error of encryption is about {}, and values are up to {}. Ask for more precision, or scale the values up",
            self.precision(),
            Short((-bits).exp2()),
            Short(bound)
        );
        Err(Error::argument(operation, what))
    }

    /// The precision that what is computed from it is to have, in bits after the binary point: what
    /// was asked for, where [`EncryptedArray::precision_bits`] estimates what there is. Operations
    /// on arrays of different precision take the smaller.
    pub fn precision(&self) -> f64 {
        self.form().precision
    }

    /// Asks for another precision of what is computed from this array. Less precision takes less
    /// capacity in every product; more than the array has makes nothing more precise.
    ///
    /// # Errors
    /// [`Error::Parameters`] when these parameters do not allow it.
    pub fn with_precision(mut self, precision: f64, session: &Session) -> Result<Self, Error> {
        session.settings().scale_of(precision)?;
        self.form_mut().precision = precision;
        Ok(self)
    }
}

/// As [`Ciphertext::capacity_bits`], of a ciphertext of this modulus, as log2, this scale and this
/// bound.
pub(crate) fn capacity_bits(log2_modulus: f64, scale: Scale, bound: f64) -> f64 {
    log2_modulus - scale.log2() - bound.max(1.0).log2() - 1.0
}

/// As [`EncryptedArray::precision_bits`], of a ciphertext of this scale and noise: with `n` slots,
/// an error in the coefficients of standard deviation `e` is one of `e sqrt(n)/scale` in each slot
/// ([`Ciphertext::precision_bits`]), and none is smaller than that of rounding to integers,
/// `1/sqrt(12)`.
pub(crate) fn precision_bits(scale: Scale, noise: Noise, slots: usize) -> f64 {
    let rounding = 12f64.powf(-0.5).log2();
    scale.log2() - noise.log2_std().max(rounding) - 0.5 * (slots as f64).log2()
}
