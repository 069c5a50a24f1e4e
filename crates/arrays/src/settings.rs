//! Settings: a parameter set and the precision of computations with it.

use hippocrene_bgv::{BgvError, Encoder, Scheme, shared_unit};
use hippocrene_ckks::{Scale, Short};
use hippocrene_ring::arith::inv_mod;
use hippocrene_rlwe::{
    Modulus, Noise, Parameters, SIGMA,
    noise::{rounding, secret_key_encryption},
};

use crate::Error;

/// The least log2 of a scale. With fewer bits, plain factors would hardly be more than 0 and 1.
const LEAST_SCALE: u32 = 10;

/// A parameter set and the default precision of results.
///
/// A precision is in bits after the binary point: `p` bits mean an error of standard deviation
/// `2^-p`.
///
/// The precision determines the scale, `2^ceil(p + overhead)`. Arrays are encrypted at this scale,
/// and products are rescaled to it. The overhead is the number of bits that a typical product loses
/// to noise: a product of fresh arrays with values up to 1, relinearised, rescaled and rotated
/// once. If `e` is the standard deviation of its error in a coefficient, the error in a slot is
/// `e sqrt(N/2)/scale`. The error is larger after longer computations, with larger values and under
/// public keys. [`EncryptedArray::precision_bits`](crate::EncryptedArray::precision_bits) estimates
/// it.
///
/// The digest names the parameter set, not the precision. Settings that differ only in precision
/// can work on each other's arrays, since every scale is stored exactly. Key files hold the
/// client's settings, so that a server made from them has the same settings.
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::Preset;
///
/// let settings = Preset::by_name("n13")?.settings()?.with_precision(20.0)?;
/// assert_eq!(settings.parameters().degree(), 8192);
/// assert_eq!(settings.scale().log2(), (20.0 + settings.overhead()).ceil());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    parameters: Parameters,
    precision: f64,
    overhead: f64,
    /// The modulus of fresh ciphertexts: the largest modulus, possibly with a smaller power of two.
    fresh: Modulus,
    integers: Option<Integers>,
}

/// The scheme and the plaintext modulus of integers.
///
/// Keys do not depend on them: one key serves arrays of numbers, BGV, BFV and every plaintext
/// modulus.
///
/// See [`ClientKey::encrypt_integers`](crate::ClientKey::encrypt_integers) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Integers {
    /// The scheme that computes products.
    ///
    /// Ciphertexts are the same in both schemes.
    pub scheme: Scheme,
    /// The plaintext modulus `t`: integers are computed modulo `t`.
    ///
    /// For arrays it is a prime that is 1 modulo `2N`, such as [`Integers::default_plain_modulus`].
    pub plain_modulus: u64,
}

impl Integers {
    /// Returns the scheme of this name.
    ///
    /// # Errors
    /// [`Error::Parameters`] when it is neither `bgv` nor `bfv`.
    pub fn scheme_by_name(name: &str) -> Result<Scheme, Error> {
        let named = [Scheme::Bgv, Scheme::Bfv].into_iter().find(|scheme| scheme.name() == name);
        named.ok_or_else(|| {
            Error::Parameters(format!(
                "there is no scheme {name:?} for integers; there are bgv and bfv"
            ))
        })
    }

    /// A default plaintext modulus for arrays: 65537, or 786433 at the ring degrees `2^16` and
    /// `2^17`.
    pub fn default_plain_modulus(degree: usize) -> u64 {
        if degree <= 1 << 15 { 65_537 } else { 786_433 }
    }

    /// Returns the smallest plaintext modulus for arrays that is at least `least`, with these
    /// parameters.
    ///
    /// It is a prime that is 1 modulo twice the ring degree. It has to be coprime to the units, so
    /// it is none of them.
    ///
    /// # Errors
    /// [`Error::Argument`] when there is none below `2^61`.
    pub fn plain_modulus_from(parameters: &Parameters, least: u64) -> Result<u64, Error> {
        moduli_with_slots(parameters.degree(), least)
            .find(|t| shared_unit(parameters, *t).is_none())
            .ok_or_else(|| {
                let what = format!("from {least} on: there is none below 2^61");
                Error::argument("choose a plaintext modulus", what)
            })
    }

    /// Checks that arrays can have the plaintext modulus `t` at this ring degree.
    ///
    /// Other moduli are for single ciphertexts only ([`crate::Server::integer_evaluator`]).
    ///
    /// # Errors
    /// [`Error::Parameters`] when `t` gives no slots; the message names a modulus that does, the
    /// next larger one if there is any. [`Error::Argument`] when there is no ring of this degree.
    pub fn check_slots(t: u64, degree: usize) -> Result<(), Error> {
        if !(degree.is_power_of_two() && Settings::DEGREES.contains(&degree)) {
            let [least, most] = [Settings::DEGREES.start(), Settings::DEGREES.end()];
            let what = format!(
                "a ring degree of {degree}: a power of two from {least} to {most} is possible"
            );
            return Err(Error::argument("check a plaintext modulus", what));
        }
        if Encoder::gives_slots(t, degree) {
            return Ok(());
        }
        let (modulus, least) = (2 * degree, Integers::default_plain_modulus(degree));
        let good = moduli_with_slots(degree, t.max(least)).next().unwrap_or(least);
        let what = format!(
            "it gives no slots for the elements of arrays. A prime that is 1 modulo {modulus}, \
             twice the ring degree, gives slots, such as {good}."
        );
        Err(BgvError::PlainModulus { t, what }.into())
    }
}

/// The plaintext moduli from `least` to `2^61` that give slots at this ring degree, in rising
/// order.
fn moduli_with_slots(degree: usize, least: u64) -> impl Iterator<Item = u64> {
    let (step, most) = (2 * degree as u64, 1 << 61);
    let first = least.saturating_sub(1).div_ceil(step).max(1);
    let candidates = (first..=most / step).map(move |k| k * step + 1);
    candidates.filter(move |t| *t < most && Encoder::gives_slots(*t, degree))
}

impl Settings {
    /// The supported ring degrees: powers of two in this range.
    pub const DEGREES: std::ops::RangeInclusive<usize> = 1 << 4..=1 << 17;

    /// The precision of presets, in bits after the binary point: nine decimal digits.
    ///
    /// It leaves enough precision to publish results
    /// ([`ClientKey::sharing_bits`](crate::ClientKey::sharing_bits)).
    pub const DEFAULT_PRECISION: f64 = 32.0;

    /// Makes settings of a parameter set and a precision in bits after the binary point.
    ///
    /// # Errors
    /// [`Error::Parameters`] when the scale does not fit the modulus, or would be below `2^10`.
    pub fn new(parameters: Parameters, precision: f64) -> Result<Self, Error> {
        let (overhead, fresh) = (overhead(&parameters), parameters.top());
        let settings = Settings { parameters, precision, overhead, fresh, integers: None };
        settings.scale_of(precision)?;
        Ok(settings)
    }

    /// Makes settings of the scale `2^bits`, for a simple chain whose units after the first have
    /// `bits` bits.
    ///
    /// The precision is `bits` minus the overhead.
    ///
    /// # Errors
    /// As [`Settings::new`].
    pub fn at_scale(parameters: Parameters, bits: u32) -> Result<Self, Error> {
        let precision = f64::from(bits) - overhead(&parameters);
        Self::new(parameters, precision)
    }

    /// Changes the precision, in bits after the binary point.
    ///
    /// # Errors
    /// As [`Settings::new`].
    pub fn with_precision(self, precision: f64) -> Result<Self, Error> {
        self.scale_of(precision)?;
        Ok(Settings { precision, ..self })
    }

    /// Sets the power of two of fresh ciphertexts: their modulus has the factor `2^two` of the
    /// sprout.
    ///
    /// A limb modulo a power of two costs as much as several others. Smaller moduli use it anyway
    /// where they need it.
    ///
    /// # Errors
    /// [`Error::Parameters`] when the sprout's power of two is smaller than `2^two`, or when the
    /// scale does not fit the modulus.
    pub fn with_fresh_two(self, two: u8) -> Result<Self, Error> {
        let top = self.parameters.top();
        if two > top.two() {
            let most = top.two();
            return Err(Error::Parameters(format!(
                "fresh ciphertexts modulo 2^{two}; the sprout's power of two is 2^{most}"
            )));
        }
        let fresh = top.words().lcm(Modulus::of_sprout(top.odd(), two));
        let settings = Settings { fresh, ..self };
        settings.scale_of(settings.precision)?;
        Ok(settings)
    }

    /// Enables integers, with the given scheme and plaintext modulus.
    ///
    /// # Errors
    /// [`Error::Parameters`] when the plaintext modulus is not in `[2, 2^61)` or is one of the
    /// units, or when no modulus of these parameters is coprime to it and larger than four times
    /// it.
    pub fn with_integers(self, integers: Integers) -> Result<Self, Error> {
        let t = integers.plain_modulus;
        if shared_unit(&self.parameters, t) == Some(t) {
            let next = Integers::plain_modulus_from(&self.parameters, t)?;
            let what = format!(
                "it is a unit of the ciphertext modulus, and they must be coprime. The next \
                 possible one is {next}."
            );
            return Err(BgvError::PlainModulus { t, what }.into());
        }
        hippocrene_bgv::Context::check(&self.parameters, t)?;
        Ok(Settings { integers: Some(integers), ..self })
    }

    /// The scheme and plaintext modulus of integers, if they are enabled.
    pub fn integers(&self) -> Option<Integers> {
        self.integers
    }

    /// Settings of the second parameter set, for arrays converted to it with at least `capacity`
    /// bits of capacity.
    ///
    /// The set consists of the sprout and the first units, as few as leave that capacity
    /// ([`Parameters::key_transfer_set`]). This assumes the precision of these settings and values
    /// up to 1. Its keys are smaller than those of these settings. If integers are enabled,
    /// `capacity` is the noise budget of their arrays after the conversion, in bits.
    ///
    /// # Errors
    /// [`Error::Argument`] when the capacity is not positive, or needs all units, so that nothing
    /// would be saved. [`Error::Parameters`] where no second set is possible.
    pub fn for_second_key(&self, capacity: f64) -> Result<Self, Error> {
        const OPERATION: &str = "second key";
        if capacity.is_nan() || capacity <= 0.0 {
            return Err(Error::argument(
                OPERATION,
                format!("{} bits of capacity: a positive number is needed", Short(capacity)),
            ));
        }
        let parameters = &self.parameters;
        let top = |units: usize| {
            self.parameters.top().gcd(Modulus::of_range(0..units).lcm(parameters.top().sprout()))
        };
        let room =
            |modulus: Modulus| parameters.log2(modulus.gcd(self.fresh)) - self.scale().log2() - 1.0;
        let capacity_at = |modulus: Modulus| {
            self.integers.map_or(room(modulus), |how| self.budget_at(modulus, how))
        };
        let holds =
            |units: &usize| capacity_at(top(*units)) >= capacity && room(top(*units)) >= 0.0;
        let Some(units) = (1..parameters.unit_count()).find(holds) else {
            let have = capacity_at(parameters.top());
            let rooms =
                (1..parameters.unit_count()).map(top).filter(|modulus| room(*modulus) >= 0.0);
            let most = rooms.map(capacity_at).fold(0.0, f64::max);
            let instead = match (10.0 * most).floor() / 10.0 {
                most if most > 0.0 => format!(", and at most {most:.1} are possible"),
                _ => ", and none is possible".to_owned(),
            };
            return Err(Error::argument(
                OPERATION,
                format!(
                    "{} bits of capacity, of {have:.1} of the first key, are requested{instead}",
                    Short(capacity)
                ),
            ));
        };
        let second = match parameters.security() {
            Some(_) => parameters.key_transfer_set(top(units)),
            // The user waived security for the first set, and so for this one.
            None => parameters.key_transfer_set_insecure(top(units)),
        };
        let second = Settings::new(second?, self.precision)?.with_fresh_two(self.fresh.two())?;
        self.integers.map_or(Ok(second.clone()), |integers| second.with_integers(integers))
    }

    /// The noise budget of integers after a key switch at this modulus, in bits.
    ///
    /// Not all moduli have the sprout's power of two, so this leaves it out. It also leaves out the
    /// primes of the sprout that divide the plaintext modulus.
    fn budget_at(&self, modulus: Modulus, Integers { plain_modulus: t, .. }: Integers) -> f64 {
        let parameters = &self.parameters;
        let primes = parameters.literal().sprout.primes.iter().enumerate();
        let odd = primes.filter(|(_, prime)| inv_mod(t % **prime, **prime).is_some());
        let odd = odd.fold(0, |all, (j, _)| all | 1 << j) & modulus.odd();
        let modulus = modulus.words().lcm(Modulus::of_sprout(odd, 0));
        let noise =
            parameters.largest_switching_noise().plus(rounding(parameters.secret_weight(), 2));
        hippocrene_bgv::budget_bits(parameters.log2(modulus), t, noise)
    }

    /// The modulus of fresh ciphertexts.
    pub fn fresh(&self) -> Modulus {
        self.fresh
    }

    /// The parameter set.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The default precision of results, in bits after the binary point.
    pub fn precision(&self) -> f64 {
        self.precision
    }

    /// The number of bits lost to noise.
    ///
    /// log2 of the scale is the sum of the precision and this overhead, rounded up.
    pub fn overhead(&self) -> f64 {
        self.overhead
    }

    /// The default scale of fresh ciphertexts.
    pub fn scale(&self) -> Scale {
        Scale::power_of_two(self.scale_bits(self.precision) as i32)
    }

    /// The scale that a precision needs.
    ///
    /// # Errors
    /// [`Error::Parameters`] when the scale does not fit the modulus, or would be below `2^10`.
    pub fn scale_of(&self, precision: f64) -> Result<Scale, Error> {
        let (bits, room) = (self.scale_bits(precision), self.parameters.log2(self.fresh) - 1.0);
        if (f64::from(LEAST_SCALE)..=room).contains(&bits) {
            return Ok(Scale::power_of_two(bits as i32));
        }
        Err(Error::Parameters(format!(
            "a precision of {} bits takes a scale of 2^{:.0}; these parameters allow \
             2^{LEAST_SCALE} to 2^{room:.0}, precisions of {:.1} to {:.1} bits",
            Short(precision),
            Short(bits),
            // Rounded inwards, so that both ends are allowed. Adding 0.0 removes the sign of a
            // zero.
            (10.0 * (f64::from(LEAST_SCALE) - self.overhead)).ceil() / 10.0 + 0.0,
            (10.0 * (room.floor() - self.overhead)).floor() / 10.0
        )))
    }

    /// log2 of the scale that a precision needs: a whole number, or NaN.
    fn scale_bits(&self, precision: f64) -> f64 {
        // A precision that was computed as bits minus overhead gives a whole sum, except for
        // rounding.
        (precision + self.overhead - 1e-9).ceil()
    }
}

/// The overhead in bits, `log2(e sqrt(N/2))` (see [`Settings`]).
fn overhead(parameters: &Parameters) -> f64 {
    // The product is x y + x e_y + y e_x, and in a square the two errors are the same.
    let product = secret_key_encryption(SIGMA).scaled(1.0);
    let switched = parameters.largest_switching_noise();
    let rounded = rounding(parameters.secret_weight(), 2);
    // One rounding in the rescale and one in the rotation.
    let error = [product, switched, rounded, rounded].into_iter().fold(Noise::NONE, Noise::plus);
    error.log2_std() + 0.5 * (parameters.degree() as f64 / 2.0).log2()
}

#[cfg(test)]
pub(crate) mod tests {
    use hippocrene_rlwe::{SecretDistribution, Sprout, design::Design};

    use super::*;

    /// Returns settings with a sprout, and with units and specials of these numbers of bits.
    pub(crate) fn grafted(log_degree: u32, units: &[u32], specials: &[u32]) -> Settings {
        let design = Design {
            log_degree,
            secret: SecretDistribution::Ternary,
            sprout: Sprout::named("sprout-15-16-32").unwrap(),
            units: units.to_vec(),
            specials: specials.to_vec(),
            gadget_rank: 3,
        };
        let parameters = Parameters::new(design.literal().unwrap()).unwrap();
        Settings::new(parameters, Settings::DEFAULT_PRECISION).unwrap()
    }

    #[test]
    fn slots_are_of_rings_that_there_are() {
        Integers::check_slots(65_537, 1 << 14).unwrap();
        let refused = Integers::check_slots(65_537, 1 << 16).unwrap_err();
        assert!(
            matches!(&refused, Error::Parameters(what) if what.contains("1 modulo 131072")),
            "{refused}"
        );
        for degree in [0, 1, 3, 1000, 1 << 18, 1 << 63, usize::MAX] {
            let refused = Integers::check_slots(65_537, degree).unwrap_err();
            let words =
                format!("a ring degree of {degree}: a power of two from 16 to 131072 is possible");
            assert!(
                matches!(&refused, Error::Argument { what, .. } if *what == words),
                "{refused}"
            );
        }
    }
}
