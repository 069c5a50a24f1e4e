//! Arrays of real and complex numbers.

use hippocrene_ckks::{Scale, Short};
use hippocrene_rlwe::{Noise, noise::log2};

use crate::{Array, CiphertextBody, Error, Interval, Session, simulation::check_bound};

/// The form of arrays of real or complex numbers (CKKS).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Numbers {
    /// Whether the elements are complex; else the imaginary parts are only noise.
    pub complex: bool,
    /// The precision that what is computed from them is to have, in bits after the binary point. It must be possible with their parameters
    /// ([`Settings::scale_of`](crate::Settings::scale_of)).
    pub precision: f64,
    /// The interval of the elements, where more is known of it than the bound of the ciphertexts says. Operations that
    /// say nothing of it leave `None`. It is `None` for complex elements.
    pub interval: Option<Interval>,
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

    /// The interval that the elements lie in: declared at encryption, and propagated by every operation. For complex
    /// elements it holds the real and the imaginary parts. It says nothing of slots without an element.
    pub fn interval(&self) -> Interval {
        let bound = Interval::symmetric(self.bound());
        self.form().interval.filter(|_| !self.is_complex()).map_or(bound, |known| known.intersection(bound))
    }

    /// The same array, whose elements lie in `interval` too. It changes nothing of complex arrays.
    pub(crate) fn within(mut self, interval: Interval) -> Self {
        if !self.is_complex() {
            self.form_mut().interval = Some(self.interval().intersection(interval));
        }
        self
    }

    /// Declares that no element is larger than `bound` in absolute value.
    ///
    /// The bound that operations follow is that of the worst case, which a sum of many products is far from; who knows better says so,
    /// where a Chebyshev series refuses an array whose bound exceeds its interval. For a fresh array it replaces the bound that
    /// encryption took from the values, and so hides how large they are. Where the declaration is wrong, results may be.
    ///
    /// # Errors
    /// [`Error::Argument`] when `bound` is negative or not finite, when it is tighter than before and there are slots between the elements that hold other values
    /// ([`Server::declare_bound`](crate::Server::declare_bound) sets these to zero), and in a simulation when a value exceeds it.
    pub fn with_bound(mut self, bound: f64) -> Result<Self, Error> {
        const OPERATION: &str = "declare a bound";
        if !(bound.is_finite() && bound >= 0.0) {
            return Err(Error::argument(
                OPERATION,
                format!("{} is not a finite number from 0", Short(bound)),
            ));
        }
        if bound < self.bound() && self.has_strays() {
            let what = format!(
                "other values up to {} stand between the elements, as slices and sums leave them, and {} would not hold for these: Server::declare_bound sets them to zero",
                Short(self.bound()),
                Short(bound)
            );
            return Err(Error::argument(OPERATION, what));
        }
        check_bound(self.bodies(), bound, OPERATION)?;
        self.set_bound(bound);
        Ok(self)
    }

    pub(crate) fn set_bound(&mut self, bound: f64) {
        for body in self.bodies_mut() {
            match body {
                CiphertextBody::Full(c) => c.set_bound(bound),
                CiphertextBody::Seeded(c) => c.seeded_mut().set_bound(bound),
            }
        }
    }

    /// How precise the elements are: `-log2` of the estimated standard deviation of their error, in bits after the binary point.
    ///
    /// An array whose error is exactly zero (an array times 0) counts as rounded to integers at its scale, which is all that it can hold. It is not a number for
    /// a session of other parameters.
    pub fn precision_bits(&self, session: &Session) -> f64 {
        self.least_precision(session, |noise| noise)
    }

    /// How precise slots are that hold no element, as [`EncryptedArray::precision_bits`]: where they do not hold zero they count as elements.
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
            CiphertextBody::Seeded(c) => (c.seeded().scale(), c.seeded().noise(), c.seeded().slots()),
        })
    }

    /// [`Server::declare_precision`](crate::Server::declare_precision) of the elements, whatever is in other slots.
    pub(crate) fn with_precision_bits(mut self, bits: f64, session: &Session) -> Result<Self, Error> {
        const OPERATION: &str = "declare a precision";
        if !bits.is_finite() {
            return Err(Error::argument(OPERATION, format!("{bits} bits: a finite number is needed")));
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
        Ok(self)
    }

    /// The same array, whose elements add up to zero, for what is the sum of products with such over all of them, as a variance is: what their errors have in common
    /// ([`Noise::common`]) is multiplied by zero there, and its own square is what counts.
    #[must_use]
    pub fn as_deviations(mut self) -> Self {
        for body in self.bodies_mut() {
            if let CiphertextBody::Full(c) = body {
                let noise = c.inner().noise();
                let size = -precision_bits(c.scale(), noise.common(), c.slots());
                // In a product each factor counts it at its bound: together they then count its square.
                let square = size - log2(2.0 * c.bound());
                c.set_noise(noise.apart().plus(noise.common().scaled(square.min(0.0))));
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

    /// How many bits can still be computed away: a multiplication takes about as many as its precision and the overhead of the settings. It is not a number
    /// for a session of other parameters.
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
    pub(crate) fn check_room(&self, session: &Session, operation: &'static str) -> Result<(), Error> {
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

    /// The precision that what is computed from it is to have, in bits after the binary point: what was asked for, where
    /// [`EncryptedArray::precision_bits`] estimates what there is. Operations on arrays of different precision take the smaller.
    pub fn precision(&self) -> f64 {
        self.form().precision
    }

    /// Asks for another precision of what is computed from this array. Less precision takes less capacity in every product; more than the array
    /// has makes nothing more precise.
    ///
    /// # Errors
    /// [`Error::Parameters`] when these parameters do not allow it.
    pub fn with_precision(mut self, precision: f64, session: &Session) -> Result<Self, Error> {
        session.settings().scale_of(precision)?;
        self.form_mut().precision = precision;
        Ok(self)
    }
}

/// As [`Ciphertext::capacity_bits`], of a ciphertext of this modulus, as log2, this scale and this bound.
pub(crate) fn capacity_bits(log2_modulus: f64, scale: Scale, bound: f64) -> f64 {
    log2_modulus - scale.log2() - bound.max(1.0).log2() - 1.0
}

/// As [`EncryptedArray::precision_bits`], of a ciphertext of this scale and noise: with `n` slots, an error in the coefficients of standard deviation `e` is
/// one of `e sqrt(n)/scale` in each slot ([`Ciphertext::precision_bits`]), and none is smaller than that of rounding to integers, `1/sqrt(12)`.
pub(crate) fn precision_bits(scale: Scale, noise: Noise, slots: usize) -> f64 {
    let rounding = 12f64.powf(-0.5).log2();
    scale.log2() - noise.log2_std().max(rounding) - 0.5 * (slots as f64).log2()
}
