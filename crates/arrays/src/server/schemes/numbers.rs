//! The primitives on ciphertexts of real and complex numbers (CKKS).

use std::borrow::Cow;

use hippocrene_ckks::{
    BigFloat, Ciphertext, CkksError, Scale, SeededCiphertext, Short, Transfer, Values,
    circuits::{Basis, LinearTransform, Polynomial, SlotValues},
    encoder::Rounding,
};
use hippocrene_rlwe::{self as rlwe, Noise, SIGMA, noise::secret_key_encryption};

use crate::server::{
    Server,
    functions::polynomial::{self, OPERATION as POLYNOMIAL, PolynomialWay},
    functions::{
        polynomial_in_parts::polynomial_in_parts, polynomial_of_sines::polynomial_of_sines,
    },
    linear::map_cache::Maps,
    planner::bootstrap,
    schemes::plain::{encode, largest, with_plain},
    schemes::shared_error::{with_errors_of_factors, with_errors_of_matrix, with_errors_of_vector},
};
use crate::{
    Argument, Arithmetic, Capacity, CiphertextBody, Diagonals, Elements, EncryptedArray, Error,
    Extent, Interval, Layout, LinearMaps, Numbers, PlainNumbers, Polynomials, ScaleAndBound,
    Session, SharedErrors, interval::INTERVAL_TOLERANCE,
};

/// The largest absolute value, `2^53`, of integers that products multiply by exactly.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// Maximum number of binary places of factors that products multiply by exactly, if the array has a
/// small bound.
///
/// Each place costs one bit of capacity. With more places the scale would be so much larger that
/// bringing the product to one scale with other arrays costs more than is saved.
const MAX_BINARY_PLACES_OF_EXACT_FACTORS: i32 = 12;

/// Maximum number of binary places of such factors if the array has a large bound, which allows one
/// place for each of its bits.
const MAX_BINARY_PLACES_FOR_LARGE_BOUNDS: f64 = 512.0;

/// The capacity, in bits, that products leave for sums of their results, as sums have larger
/// bounds.
const CAPACITY_FOR_SUMS_BITS: f64 = 10.0;

/// The share of its bound by which an argument may exceed the interval of a polynomial.
pub(in crate::server) const INTERVAL_ROUNDING_SHARE: f64 = 1e-9;

/// Minimum number of bits by which a scale must exceed the requested one to be brought down before
/// a product.
const MIN_SURPLUS_SCALE_BITS: f64 = 0.5;

impl Elements for Numbers {
    type Ciphertext = Ciphertext;
    type Seeded = SeededCiphertext;
    type Own = ScaleAndBound;

    /// The encryption error of deviation `sigma`, plus the rounding of the encoder.
    fn fresh_noise() -> Noise {
        secret_key_encryption(SIGMA).plus(Rounding::Dithered.noise())
    }

    fn own(ciphertext: &CiphertextBody<Self>) -> ScaleAndBound {
        let (scale, bound) = match ciphertext {
            CiphertextBody::Full(c) => (c.scale(), c.bound()),
            CiphertextBody::Seeded(c) => (c.seeded().scale(), c.seeded().bound()),
        };
        // An infinite bound is replaced by the largest double, so that it can be read back.
        ScaleAndBound { scale, bound: bound.min(f64::MAX) }
    }

    fn full(
        &self,
        session: &Session,
        inner: rlwe::Ciphertext,
        ScaleAndBound { scale, bound }: ScaleAndBound,
    ) -> Result<Ciphertext, Error> {
        Ok(Ciphertext::from_parts(session.context(), inner, scale, session.slots(), bound)?)
    }

    fn seeded(
        &self,
        session: &Session,
        inner: rlwe::SeededCiphertext,
        ScaleAndBound { scale, bound }: ScaleAndBound,
    ) -> Result<SeededCiphertext, Error> {
        Ok(SeededCiphertext::from_parts(session.context(), inner, scale, session.slots(), bound)?)
    }

    fn inner(ciphertext: &Ciphertext) -> &rlwe::Ciphertext {
        ciphertext.inner()
    }

    fn inner_seeded(ciphertext: &SeededCiphertext) -> &rlwe::SeededCiphertext {
        ciphertext.inner()
    }

    fn expand(session: &Session, ciphertext: &SeededCiphertext) -> Ciphertext {
        ciphertext.expand(session.context())
    }

    fn fits(&self, _: &CiphertextBody<Self>) -> bool {
        true
    }

    fn without_interval(self) -> Self {
        Numbers { interval: None, ..self }
    }
}

impl PlainNumbers for Numbers {
    type Number = f64;
    type Plain<'v> = Values<'v>;
    const ONE: f64 = 1.0;

    fn plus(&self, x: f64, y: f64) -> f64 {
        x + y
    }

    fn with_plain(self, plain: Values<'_>) -> Self {
        Numbers { complex: self.complex || plain.is_complex(), ..self }
    }

    fn plain(numbers: &[f64]) -> Values<'_> {
        Values::Real(numbers)
    }

    fn count(plain: Values<'_>) -> usize {
        plain.len()
    }

    fn bytes(number: f64) -> [u8; 8] {
        number.to_le_bytes()
    }

    fn is_exact(c: f64) -> bool {
        // A number that is not finite is refused by the product itself.
        !c.is_finite() || exact_scale(c, 0.0).is_some()
    }

    fn magnitude(number: f64) -> f64 {
        number.abs()
    }

    fn plain_interval(&self, plain: Values<'_>) -> Interval {
        let interval = match plain {
            Values::Real(v) => Interval::of(v.iter().copied()),
            Values::Big(v) => Interval::of(v.iter().map(BigFloat::to_f64)),
            Values::Complex(_) | Values::BigComplex(_) => None,
        };
        interval.unwrap_or(Interval::EVERYTHING)
    }

    fn number_interval(&self, number: f64) -> Interval {
        Interval::point(number)
    }

    fn interval(array: &EncryptedArray) -> Interval {
        array.interval()
    }

    fn with_known_interval(array: EncryptedArray, interval: Interval) -> EncryptedArray {
        array.with_known_interval(interval)
    }

    fn tightened(mut array: EncryptedArray, bound: f64) -> EncryptedArray {
        if bound < array.bound() {
            array.set_bound(bound);
        }
        array
    }
}

impl Capacity for Numbers {
    fn precision(&self) -> Option<f64> {
        Some(self.precision)
    }

    fn join(&self, other: &Self) -> Self {
        Numbers {
            complex: self.complex || other.complex,
            precision: self.precision.min(other.precision),
            interval: None,
            error_known: self.error_known && other.error_known,
        }
    }

    /// The precision is the least of the operands, unless the server has one of its own. The
    /// interval is dropped; operations that know it set it.
    fn computed_by(self, server: &Server) -> Self {
        Numbers {
            precision: server.policy.precision.unwrap_or(self.precision),
            interval: None,
            ..self
        }
    }

    fn know_no_more_than(&mut self, operand: &Self) {
        self.error_known &= operand.error_known;
    }

    fn product_bits(&self, server: &Server) -> f64 {
        // Arrays of an impossible precision have been refused before.
        self.scale(server).map_or(0.0, Scale::log2)
    }

    fn capacity_bits(session: &Session, a: &EncryptedArray) -> f64 {
        a.capacity_bits(session)
    }

    fn log2_bound(a: &EncryptedArray) -> f64 {
        // log2(0) would set the flag of a division by zero, which numpy reports.
        a.bound().max(f64::MIN_POSITIVE).log2()
    }

    fn has_products(&self, server: &Server, a: &EncryptedArray, count: usize) -> bool {
        Self::capacity_bits(&server.session, a)
            > count as f64 * self.product_bits(server) + CAPACITY_FOR_SUMS_BITS
    }

    fn check_bootstrap(server: &Server, a: &EncryptedArray) -> Result<(), Error> {
        bootstrap::check_bootstrap(server, a)
    }

    fn is_too_large(server: &Server, a: &EncryptedArray) -> bool {
        bootstrap::is_too_large(server, a)
    }

    fn bootstrapped(server: &Server, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        bootstrap::bootstrapped(server, a)
    }
}

impl SharedErrors for Numbers {
    fn add_alike(
        &self,
        server: &Server,
        x: &Ciphertext,
        y: &Ciphertext,
    ) -> Result<Ciphertext, Error> {
        let (x, y) = server.evaluator.align(x, y)?;
        let mut sum = x.into_owned();
        server.evaluator.add_alike(&mut sum, &y)?;
        Ok(sum)
    }

    fn overlay(
        &self,
        server: &Server,
        x: &Ciphertext,
        y: &Ciphertext,
    ) -> Result<Ciphertext, Error> {
        Ok(server.evaluator.overlay(x, y, false)?)
    }

    fn overlay_copies(
        &self,
        server: &Server,
        x: &Ciphertext,
        y: &Ciphertext,
    ) -> Result<Ciphertext, Error> {
        Ok(server.evaluator.overlay(x, y, true)?)
    }

    fn of_one_element(&self, x: Ciphertext) -> Ciphertext {
        let noise = x.inner().noise();
        x.with_noise(noise.with_common(noise))
    }

    fn of_copies(&self, x: Ciphertext, count: usize) -> Ciphertext {
        let noise = x.inner().noise();
        x.with_noise(noise.scaled(0.5 * (count as f64).log2()))
    }

    fn of_dependent(&self, sum: Ciphertext, x: &Ciphertext, y: &Ciphertext) -> Ciphertext {
        let at_sum =
            |c: &Ciphertext| c.inner().noise().scaled(sum.scale().log2() - c.scale().log2());
        let (x, y, noise) = (at_sum(x), at_sum(y), sum.inner().noise());
        // Beside the errors of both operands, the sum has the error of bringing them to one scale.
        let rest = Noise::from_log2_std(noise.less(x.plus(y)).log2_std());
        sum.with_noise(x.plus_correlated(y).plus(rest))
    }

    fn of_vector(
        product: EncryptedArray,
        matrix: &EncryptedArray,
        vector: &EncryptedArray,
        inner: usize,
    ) -> EncryptedArray {
        with_errors_of_vector(product, matrix, vector, inner)
    }

    fn of_product(
        product: EncryptedArray,
        a: &EncryptedArray,
        size: [usize; 2],
        entries: impl IntoIterator<Item = (usize, usize, f64)>,
    ) -> EncryptedArray {
        with_errors_of_matrix(product, a, size, entries)
    }

    fn with_summands(&self, mut x: Ciphertext, some: usize, all: usize) -> Ciphertext {
        x.set_bound(x.bound() / all as f64 * some as f64);
        let noise = x.inner().noise().for_filled_share(some as f64 / all as f64);
        x.with_noise(noise)
    }
}

impl LinearMaps for Numbers {
    type Map = LinearTransform;

    fn rotates(_: usize, _: usize) -> bool {
        true
    }

    fn rotate(&self, server: &Server, x: &Ciphertext, left: i64) -> Result<Ciphertext, Error> {
        Ok(server.evaluator.rotate(x, left)?)
    }

    fn rotate_many(
        &self,
        server: &Server,
        x: &Ciphertext,
        left: &[i64],
    ) -> Result<Vec<Ciphertext>, Error> {
        Ok(server.evaluator.rotate_many(x, left)?)
    }

    fn rotation_count(server: &Server, x: &Ciphertext, left: i64) -> Option<usize> {
        let degree = server.session.context().rlwe().degree();
        server.evaluator.keys().rotation_count(degree, x.slots(), left, x.modulus())
    }

    fn inner_sum(
        &self,
        server: &Server,
        x: &Ciphertext,
        stride: usize,
        count: usize,
    ) -> Result<Ciphertext, Error> {
        Ok(server.evaluator.inner_sum(x, stride, count)?)
    }

    /// The number is the rotation to the left.
    fn diagonal(slots: usize, to: usize, from: usize) -> usize {
        from.wrapping_sub(to) & (slots - 1)
    }

    fn map(
        server: &Server,
        diagonals: &Diagonals<Self>,
        kept: bool,
    ) -> Result<LinearTransform, Error> {
        let map = LinearTransform::from_entries(server.session.slots(), diagonals.clone())?;
        if !kept {
            map.set_memory(0);
        }
        Ok(map)
    }

    fn maps(server: &Server) -> &Maps<LinearTransform> {
        &server.maps.numbers
    }

    fn map_bytes(map: &LinearTransform) -> usize {
        map.memory().0
    }

    fn lowered<'a>(
        &self,
        server: &Server,
        x: &'a Ciphertext,
        extent: Extent,
    ) -> Result<Cow<'a, Ciphertext>, Error> {
        let (added, _) = extent.added();
        lowered_to(
            server,
            x,
            self.scale(server)?.times(server.evaluator.max_sum_scale_factor(added)),
        )
    }

    fn apply_each(
        &self,
        server: &Server,
        operands: &[&Ciphertext],
        map: &LinearTransform,
        extent: Extent,
    ) -> Result<Vec<Ciphertext>, Error> {
        let (evaluator, target) = (&server.evaluator, self.scale(server)?);
        let lowered = operands.iter().map(|x| self.lowered(server, x, extent));
        let lowered = lowered.collect::<Result<Vec<_>, _>>()?;
        let Some(large) = lowered.iter().max_by(|x, y| x.bound().total_cmp(&y.bound())) else {
            return Ok(vec![]);
        };
        // Each diagonal is rounded, with variance `N/12` in each slot, and all diagonals are added
        // up.
        let variance = (server.session.slots() * extent.diagonals) as f64 / 6.0;
        let (diagonals, target) = evaluator.plain_scale(large, extent.norm, variance, target);
        let (added, energy) = extent.added();
        let finer = evaluator.sum_scale_factor(large, diagonals, target, added, energy);
        let (diagonals, target) = (diagonals.times(finer), target.times(finer));
        let lowered: Vec<&Ciphertext> = lowered.iter().map(|x| &**x).collect();
        Ok(evaluator.linear_transforms_at(&lowered, map, diagonals, target)?)
    }
}

impl Polynomials for Numbers {
    type Polynomial = Polynomial;

    fn power(&self, server: &Server, x: &Ciphertext, n: u32) -> Result<Ciphertext, Error> {
        Ok(server.evaluator.power(&*self.factor(server, x)?, n, self.scale(server)?)?)
    }

    fn polynomials(
        &self,
        server: &Server,
        x: &Ciphertext,
        polynomials: &[Polynomial],
    ) -> Result<Vec<Ciphertext>, Error> {
        let (e, x, scale) = (&server.evaluator, self.factor(server, x)?, self.scale(server)?);
        let slots = if self.complex { SlotValues::Complex } else { SlotValues::Real };
        Ok(e.polynomials(&x, polynomials, slots, scale)?)
    }

    /// A Chebyshev polynomial grows very fast outside of its interval. If the interval does not
    /// hold all values up to the bound of the array, stray slots are set to zero.
    ///
    /// If the interval does not hold zero either, its middle is subtracted from the elements. Zero
    /// is then the middle of the interval of the new polynomial.
    fn within_domain<'a>(
        server: &Server,
        a: &'a EncryptedArray,
        p: &'a Polynomial,
    ) -> Result<Argument<'a, Numbers>, Error> {
        let (a, p) = (Cow::Borrowed(a), Cow::Borrowed(p));
        let Basis::Chebyshev { low, high } = p.basis() else {
            return polynomial::of_unit(server, a, p);
        };
        if server.form_of(&[&*a]).complex && p.degree() > 0 {
            let what = "the array is complex, and a Chebyshev polynomial on an interval is for \
                        real numbers. Take the real part, or a polynomial in powers without a \
                        domain.";
            return Err(Error::argument(POLYNOMIAL, what));
        }
        // An interval of values that exceeds the domain by more than rounding is refused.
        let reach = low.abs().max(high.abs());
        let rounded = INTERVAL_ROUNDING_SHARE * reach;
        let domain = Interval::new(low - rounded, high + rounded).unwrap_or(Interval::EVERYTHING);
        if p.degree() > 0 && !domain.covers(a.interval()) {
            return Err(Error::argument(POLYNOMIAL, outside_of_domain(a.interval(), low, high)));
        }
        let slack = INTERVAL_TOLERANCE * 0.5 * (high - low);
        if let Some(x) = server.known_beyond(&a, (low - slack, high + slack)) {
            let [x, low, high] = [x, low, high].map(Short);
            let what = format!("a value of {x} does not lie in the interval [{low}, {high}]");
            return Err(Error::argument(POLYNOMIAL, what));
        }
        let holds_all = low - rounded <= -a.bound() && a.bound() <= high + rounded;
        if holds_all || p.degree() == 0 || !a.has_others() {
            return Ok((a, p));
        }
        let a = if a.has_strays() { Cow::Owned(server.cleaned(&a)?) } else { a };
        if low <= 0.0 && 0.0 <= high {
            return Ok((a, p));
        }
        let (middle, half) = (0.5 * low + 0.5 * high, 0.5 * (high - low));
        let mut shifted = server.add_plain(&a, Self::plain(&vec![-middle; a.size()]))?;
        shifted.set_bound(half);
        let basis = Basis::Chebyshev { low: -half, high: half };
        let p = Polynomial::new(basis, p.coefficients().to_vec())?;
        Ok((Cow::Owned(shifted), Cow::Owned(p)))
    }

    fn polynomial_depth(p: &Polynomial) -> usize {
        p.depth()
    }

    fn polynomial_by(
        server: &Server,
        a: &EncryptedArray,
        p: &Polynomial,
        way: PolynomialWay,
    ) -> Result<Option<EncryptedArray>, Error> {
        let split = match way {
            PolynomialWay::Sines => return polynomial_of_sines(server, a, p).map(Some),
            PolynomialWay::Parts(split) => split,
        };
        match polynomial::in_unit_interval(server, a, p)? {
            Some((a, p)) => polynomial_in_parts(server, &a, &p, split),
            None => polynomial_in_parts(server, a, p, split),
        }
    }

    fn without_constant(p: &Polynomial) -> Result<Option<(Polynomial, f64)>, Error> {
        let (rest, constant) = p.without_constant()?;
        Ok((constant != 0.0).then_some((rest, constant)))
    }

    fn range(p: &Polynomial, interval: Interval) -> Interval {
        polynomial::range(p, interval)
    }

    fn bounded_by(
        mut values: EncryptedArray,
        p: &Polynomial,
        a: &EncryptedArray,
    ) -> EncryptedArray {
        values.set_bound(p.bound(a.bound()).min(values.bound()));
        values
    }
}

impl Arithmetic for Numbers {
    fn slots(session: &Session) -> usize {
        session.slots()
    }

    fn check(&self, _: &Server, _: &'static str) -> Result<(), Error> {
        Ok(())
    }

    fn add(&self, server: &Server, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext, Error> {
        if std::ptr::eq(x, y) {
            // The errors are equal, not independent. A product with 2 accounts for that.
            return self.mul_number(server, x, 2.0);
        }
        let (x, y) = server.evaluator.align(x, y)?;
        Ok(server.evaluator.add(&x, &y)?)
    }

    fn sub(&self, server: &Server, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext, Error> {
        let (x, y) = server.evaluator.align(x, y)?;
        Ok(server.evaluator.sub(&x, &y)?)
    }

    fn negate(&self, server: &Server, x: &Ciphertext) -> Result<Ciphertext, Error> {
        Ok(server.evaluator.negate(x)?)
    }

    fn mul(&self, server: &Server, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext, Error> {
        let target = self.scale(server)?;
        if std::ptr::eq(x, y) {
            return Ok(server.evaluator.square_rescale(&*self.factor(server, x)?, target)?);
        }
        let [x, y] = self.as_factors(server, x, y)?;
        Ok(server.evaluator.mul_rescale(&x, &y, target)?)
    }

    fn as_factors<'a>(
        &self,
        server: &Server,
        x: &'a Ciphertext,
        y: &'a Ciphertext,
    ) -> Result<[Cow<'a, Ciphertext>; 2], Error> {
        in_one_modulus(server, self.factor(server, x)?, self.factor(server, y)?)
    }

    /// Returns `None` for factors that differ in scale or modulus. These are multiplied one by one.
    fn sum_of_products(
        &self,
        server: &Server,
        pairs: &[(&Ciphertext, &Ciphertext)],
    ) -> Option<Result<Ciphertext, Error>> {
        let &[first, ..] = pairs else { return None };
        let alike =
            |x: &Ciphertext, y: &Ciphertext| (x.scale(), x.modulus()) == (y.scale(), y.modulus());
        let alike = |(x, y): &(&Ciphertext, &Ciphertext)| alike(x, first.0) && alike(y, first.1);
        pairs.iter().all(alike).then(|| self.sum_of_like_products(server, pairs))
    }

    fn add_number(&self, server: &Server, x: &Ciphertext, c: f64) -> Result<Ciphertext, Error> {
        Ok(server.evaluator.add_number(x, c)?)
    }

    fn mul_number(&self, server: &Server, x: &Ciphertext, c: f64) -> Result<Ciphertext, Error> {
        if let Some(scale) = exact_scale(c, x.bound().max(f64::MIN_POSITIVE).log2()) {
            return Ok(server.evaluator.mul_number(x, c, scale)?);
        }
        self.times_rounded(server, x, c.abs(), |x, scale| server.evaluator.mul_number(x, c, scale))
    }

    fn add_plain(
        &self,
        server: &Server,
        layout: &Layout,
        ciphertexts: &[Cow<'_, Ciphertext>],
        plain: Values<'_>,
    ) -> Result<Vec<Ciphertext>, Error> {
        let largest = largest(&plain);
        with_plain(server, ciphertexts, layout, plain, |x, slots| {
            if largest.is_finite() {
                server.evaluator.check_bound(x, x.bound() + largest, "add plain numbers")?;
            }
            Ok(server.evaluator.add_plain(x, &encode(server, slots, x, x.scale())?)?)
        })
    }

    fn mul_plain(
        &self,
        server: &Server,
        layout: &Layout,
        ciphertexts: &[Cow<'_, Ciphertext>],
        plain: Values<'_>,
    ) -> Result<Vec<Ciphertext>, Error> {
        let (target, largest) = (self.scale(server)?, largest(&plain));
        // The coefficients of a plaintext are rounded with variance 1/12, which is `N/12` in each
        // slot.
        let variance = server.session.slots() as f64 / 6.0;
        with_plain(server, ciphertexts, layout, plain, |x, slots| {
            let x = self.factor(server, x)?;
            let (scale, target) = server.evaluator.plain_scale(&x, largest, variance, target);
            let product = server.evaluator.mul_plain(&x, &encode(server, slots, &x, scale)?)?;
            let product = with_errors_of_factors(product, &x, slots, scale);
            Ok(server.evaluator.rescale(&product, target)?)
        })
    }

    /// Returns `None` unless the lowered ciphertexts have one modulus and one scale, and all
    /// numbers are finite.
    fn combination(
        &self,
        server: &Server,
        terms: &[(&Ciphertext, f64)],
    ) -> Result<Option<Ciphertext>, Error> {
        let lowered =
            terms.iter().map(|(x, _)| self.factor(server, x)).collect::<Result<Vec<_>, _>>()?;
        let (modulus, scale) = (lowered[0].modulus(), lowered[0].scale());
        let alike = lowered.iter().all(|x| (x.modulus(), x.scale()) == (modulus, scale));
        if !alike || terms.iter().any(|(_, c)| !c.is_finite()) {
            return Ok(None);
        }
        let terms: Vec<(&Ciphertext, f64)> =
            lowered.iter().zip(terms).map(|(x, (_, c))| (&**x, *c)).collect();
        let Some(large) = lowered.iter().max_by(|x, y| x.bound().total_cmp(&y.bound())) else {
            return Ok(None);
        };
        let (target, total) = (self.scale(server)?, terms.iter().map(|(_, c)| c.abs()).sum());
        let (numbers, target) =
            server.evaluator.plain_scale(large, total, terms.len() as f64 / 12.0, target);
        let sum = server.evaluator.linear_combination(&terms, modulus, scale.times(numbers))?;
        Ok(Some(server.evaluator.rescale(&sum, target)?))
    }

    fn transferred(
        &self,
        server: &Server,
        transfer: &Transfer,
        x: &Ciphertext,
    ) -> Result<Ciphertext, Error> {
        server.session.settings().scale_of(self.precision)?;
        Ok(transfer.transfer(x)?)
    }
}

impl Numbers {
    /// Brings a factor of a product of this precision to a scale no larger than that of the
    /// precision. This costs no capacity.
    fn factor<'a>(&self, server: &Server, x: &'a Ciphertext) -> Result<Cow<'a, Ciphertext>, Error> {
        lowered_to(server, x, self.scale(server)?)
    }

    /// Computes `x c` for a number with many bits, rounded as in [`Arithmetic::mul_number`].
    pub(in crate::server) fn mul_big_number(
        &self,
        server: &Server,
        x: &Ciphertext,
        c: &BigFloat,
    ) -> Result<Ciphertext, Error> {
        let multiply = |x: &Ciphertext, scale| server.evaluator.mul_big_number(x, c, scale);
        self.times_rounded(server, x, c.to_f64().abs(), multiply)
    }

    /// Computes the product with one number of absolute value `size`, rounded at a scale that is
    /// chosen here. `multiply` takes that scale.
    fn times_rounded(
        &self,
        server: &Server,
        x: &Ciphertext,
        size: f64,
        multiply: impl Fn(&Ciphertext, Scale) -> Result<Ciphertext, CkksError>,
    ) -> Result<Ciphertext, Error> {
        let (x, target) = (self.factor(server, x)?, self.scale(server)?);
        // A single number is rounded, with variance 1/12, instead of one for each slot.
        let (scale, target) = server.evaluator.plain_scale(&x, size, 1.0 / 12.0, target);
        Ok(server.evaluator.rescale(&multiply(&x, scale)?, target)?)
    }

    /// Returns the scale that products are rescaled to.
    pub(in crate::server) fn scale(&self, server: &Server) -> Result<Scale, Error> {
        server.session.settings().scale_of(self.precision)
    }

    /// Computes a sum of products whose first factors share one scale and one modulus, and whose
    /// second factors do too.
    fn sum_of_like_products(
        &self,
        server: &Server,
        pairs: &[(&Ciphertext, &Ciphertext)],
    ) -> Result<Ciphertext, Error> {
        let target = self.scale(server)?;
        let mut factors = Vec::with_capacity(pairs.len());
        for (x, y) in pairs {
            factors.push(match std::ptr::eq(*x, *y) {
                true => (self.factor(server, x)?, None),
                false => self.as_factors(server, x, y).map(|[x, y]| (x, Some(y)))?,
            });
        }
        // A square has the same ciphertext twice.
        let pairs: Vec<_> =
            factors.iter().map(|(x, y)| (&**x, y.as_deref().unwrap_or(x))).collect();
        Ok(server.evaluator.sum_of_products(&pairs, target)?)
    }
}

/// Describes the error if values of an array may leave the domain of a function, and how to avoid
/// it.
pub(in crate::server) fn outside_of_domain(interval: Interval, low: f64, high: f64) -> String {
    let (low, high) = (Short(low), Short(high));
    format!(
        "values {interval} are possible, and the domain is from {low} to {high}. Take a wider \
         domain, or declare that no value is beyond it (Server::declare_interval)."
    )
}

/// Returns the ciphertext at a scale no larger than `target`, apart from
/// [`MIN_SURPLUS_SCALE_BITS`]. Leaves it unchanged if rescaling would not make its modulus smaller.
fn lowered_to<'a>(
    server: &Server,
    x: &'a Ciphertext,
    target: Scale,
) -> Result<Cow<'a, Ciphertext>, Error> {
    if x.scale().log2() <= target.log2() + MIN_SURPLUS_SCALE_BITS
        || server.evaluator.rescaled_modulus(x.modulus(), x.scale(), target) == x.modulus()
    {
        return Ok(Cow::Borrowed(x));
    }
    Ok(Cow::Owned(server.evaluator.rescale(x, target)?))
}

/// Brings two factors to one modulus.
///
/// Factors of one scale keep that scale in common, so that their product can be added to others of
/// its depth without changes. For factors of different precision only the moduli have to agree.
fn in_one_modulus<'a>(
    server: &Server,
    x: Cow<'a, Ciphertext>,
    y: Cow<'a, Ciphertext>,
) -> Result<[Cow<'a, Ciphertext>; 2], Error> {
    let parameters = server.session.settings().parameters();
    if x.modulus() == y.modulus() {
        return Ok([x, y]);
    }
    if (x.scale().log2() - y.scale().log2()).abs() <= MIN_SURPLUS_SCALE_BITS {
        let (a, b) = server.evaluator.align(&x, &y)?;
        let (a, b) = (changed(a), changed(b));
        return Ok([a.map_or(x, Cow::Owned), b.map_or(y, Cow::Owned)]);
    }
    if parameters.log2(x.modulus()) >= parameters.log2(y.modulus()) {
        let x = server.evaluator.bring_to(&x, y.modulus())?;
        return Ok([Cow::Owned(x), y]);
    }
    let y = server.evaluator.bring_to(&y, x.modulus())?;
    Ok([x, Cow::Owned(y)])
}

/// Returns the aligned ciphertext, or `None` if alignment changed nothing.
fn changed(x: Cow<'_, Ciphertext>) -> Option<Ciphertext> {
    match x {
        Cow::Owned(x) => Some(x),
        Cow::Borrowed(_) => None,
    }
}

/// Returns the least scale `2^k` at which `c` is an integer that an `f64` holds exactly, or `None`
/// if there is none.
///
/// `k` is at most 12, or the number of bits of the bound of the other factor if that is more.
fn exact_scale(c: f64, log2_bound: f64) -> Option<Scale> {
    let exact = |k: &i32| {
        let scaled = c * f64::from(*k).exp2();
        scaled.fract() == 0.0 && scaled.abs() <= LARGEST_EXACT
    };
    let most = MAX_BINARY_PLACES_OF_EXACT_FACTORS
        .max(log2_bound.min(MAX_BINARY_PLACES_FOR_LARGE_BOUNDS) as i32);
    (0..=most).find(exact).map(Scale::power_of_two)
}
