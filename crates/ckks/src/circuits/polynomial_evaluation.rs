//! Evaluation of polynomials on ciphertexts with the least depth, by baby steps and giant steps
//! (Paterson and Stockmeyer), in the Chebyshev basis as HK20 does. The scale of every product is
//! chosen in advance, so that all terms of a sum have exactly the same scale.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use hippocrene_rlwe::{Modulus, Noise};

use super::{
    Basis, Polynomial,
    polynomial::split,
    trace::Step,
    tracked_errors::{ErrorTracker, SlotValues, TrackedCiphertext},
};
use crate::{Ciphertext, CkksError, Evaluator, Scale, Short};

const OPERATION: &str = "evaluate a polynomial";

/// Maximum difference in bits between the scale of a power and that of the chain. With a larger
/// scale, the coefficients of leaves have fewer bits. With a smaller one, the noise is larger.
/// Chosen.
const MAX_SCALE_DRIFT_BITS: f64 = 4.0;

impl Evaluator {
    /// Returns `p(a)`, slot by slot.
    ///
    /// The scales of all products are near `target`. Modulus and exact scale of the result are
    /// those of `a` squared [`Polynomial::depth`] times and rescaled to `target` each time
    /// ([`Evaluator::after_product`]). If the scale of `a` is larger than the target, `a` is
    /// rescaled first.
    ///
    /// The noise of the result covers the errors of the argument and of every operation, at the
    /// worst values. These are any complex numbers up to the bound of `a`. For the Chebyshev basis,
    /// which is for real values, they are the part of the interval up to that bound. Other values
    /// have less noise. [`Evaluator::polynomial_of_reals`] states less noise if the worst complex
    /// value is not real.
    ///
    /// # Errors
    /// Fails with [`CkksError::Capacity`] if too few bits are left. Fails with
    /// [`CkksError::Argument`] if the bound of `a` exceeds the interval of a Chebyshev polynomial,
    /// whose values explode outside of it.
    pub fn polynomial(
        &self,
        a: &Ciphertext,
        p: &Polynomial,
        target: Scale,
    ) -> Result<Ciphertext, CkksError> {
        self.polynomial_of(Cow::Borrowed(a), p, target)
    }

    /// Like [`Evaluator::polynomial`]. An owned argument is not copied.
    pub(crate) fn polynomial_of(
        &self,
        a: Cow<'_, Ciphertext>,
        p: &Polynomial,
        target: Scale,
    ) -> Result<Ciphertext, CkksError> {
        self.polynomial_in(SlotValues::Complex, a, p, |_| target, |scale| scale)
    }

    /// Like [`Evaluator::polynomial`], for slots that hold real numbers. The noise is that of the
    /// worst real values.
    ///
    /// # Errors
    /// Fails as [`Evaluator::polynomial`] does.
    pub fn polynomial_of_reals(
        &self,
        a: &Ciphertext,
        p: &Polynomial,
        target: Scale,
    ) -> Result<Ciphertext, CkksError> {
        self.polynomial_to(a, p, |_| target, |scale| scale)
    }

    /// Like [`Evaluator::polynomial_of_reals`], with one target scale for each depth (depth 0 is
    /// the argument) and a result at exactly the scale `exact(s)`, where `s` is the scale that it
    /// would have. The two should differ by a factor of at most about 2.
    pub(crate) fn polynomial_to(
        &self,
        a: &Ciphertext,
        p: &Polynomial,
        targets: impl Fn(usize) -> Scale,
        exact: impl Fn(Scale) -> Scale,
    ) -> Result<Ciphertext, CkksError> {
        self.polynomial_in(SlotValues::Real, Cow::Borrowed(a), p, targets, exact)
    }

    /// Returns `p(a)` for each of several polynomials of one basis. The powers of `a` are computed
    /// once for all of them.
    ///
    /// Each result has the modulus and the scale that [`Evaluator::polynomial`] gives it. `slots`
    /// says for which values the noise is stated.
    ///
    /// # Errors
    /// Fails as [`Evaluator::polynomial`] does, and with [`CkksError::Argument`] if the bases
    /// differ.
    pub fn polynomials(
        &self,
        a: &Ciphertext,
        polynomials: &[Polynomial],
        slots: SlotValues,
        target: Scale,
    ) -> Result<Vec<Ciphertext>, CkksError> {
        let basis = polynomials.first().map(Polynomial::basis);
        if polynomials.iter().any(|p| Some(p.basis()) != basis) {
            let what = "the polynomials have different bases: convert them to one".into();
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        let polynomials: Vec<_> = polynomials.iter().collect();
        self.polynomials_in(slots, Cow::Borrowed(a), &polynomials, |_| target, |scale| scale)
    }

    /// Evaluates `p` at real or complex slots, as [`Evaluator::polynomial_to`] describes.
    fn polynomial_in(
        &self,
        slots: SlotValues,
        a: Cow<'_, Ciphertext>,
        p: &Polynomial,
        targets: impl Fn(usize) -> Scale,
        exact: impl Fn(Scale) -> Scale,
    ) -> Result<Ciphertext, CkksError> {
        let values = self.polynomials_in(slots, a, &[p], targets, exact)?;
        Ok(values.into_iter().next().expect("one polynomial has one result"))
    }

    /// Evaluates polynomials of one basis at real or complex slots.
    fn polynomials_in(
        &self,
        slots: SlotValues,
        a: Cow<'_, Ciphertext>,
        polynomials: &[&Polynomial],
        targets: impl Fn(usize) -> Scale,
        exact: impl Fn(Scale) -> Scale,
    ) -> Result<Vec<Ciphertext>, CkksError> {
        self.check_own(&a, OPERATION)?;
        let Some(deepest) = polynomials.iter().max_by_key(|p| p.depth()) else {
            return Ok(Vec::new());
        };
        let target = targets(0);
        if let Basis::Chebyshev { low, high } = deepest.basis() {
            let reach = low.abs().max(high.abs());
            if a.bound() > reach * (1.0 + 1e-9) {
                return Err(CkksError::Argument {
                    operation: OPERATION,
                    what: format!(
                        "values up to {} do not lie in the interval [{}, {}]: declare a tighter \
                         bound if they are smaller (with_bound)",
                        Short(a.bound()),
                        Short(low),
                        Short(high)
                    ),
                });
            }
        }
        let constant = |a: &Ciphertext, p: &Polynomial| {
            self.add_number(&self.mul_integer(a, 0)?, p.coefficients()[0])
        };
        if deepest.degree() == 0 {
            return polynomials.iter().map(|p| constant(&a, p)).collect();
        }
        let bounds: Vec<_> = polynomials.iter().map(|p| p.bound(a.bound())).collect();
        let within = a.bound();
        let argument = self.argument(a, deepest, target)?;
        self.check_depth(&argument, depth_of(deepest.degree() + 1), &targets, OPERATION)?;
        let squared = polynomials.iter().all(|p| p.is_even());
        let shapes: Vec<_> = polynomials.iter().map(|p| EvaluationShape::of(p, squared)).collect();
        let depth = shapes.iter().map(|shape| shape.depth).max().unwrap_or(0);
        let chebyshev = deepest.basis() != Basis::Monomial;
        let origin = (argument.modulus(), argument.scale());
        let mut chain = self.square_chain(origin, depth + usize::from(squared), targets);
        let places = |error| {
            let noisy = polynomials.iter().filter(|p| p.degree() > 0);
            noisy.flat_map(|p| p.noise_arguments(within, slots, error)).collect()
        };
        let (mut errors, mut argument) =
            ErrorTracker::new(argument, self.context().rlwe().degree(), places);
        if squared {
            chain.remove(0);
            let square = self.squared(&argument.ciphertext, chebyshev, chain[0].0)?;
            argument = errors.track(square, Step::square(argument.step, chebyshev));
        }
        let mut evaluation = Evaluation::new(self, chebyshev, chain, errors, argument);
        evaluation.largest_leaf = shapes.iter().map(|shape| shape.leaf_size).max().unwrap_or(1);
        let mut values = Vec::with_capacity(polynomials.len());
        for (shape, bound) in shapes.iter().zip(bounds) {
            let scale = exact(evaluation.chain[shape.depth].1);
            evaluation.leaf_size = shape.leaf_size;
            let mut value = match evaluation.evaluate(&shape.coefficients, shape.depth, scale)? {
                Value::Encrypted(value) => {
                    let noise = evaluation.errors.noise(&value);
                    value.ciphertext.with_noise(noise)
                }
                Value::Constant(c) => {
                    let argument = &evaluation.powers[&1].ciphertext;
                    self.add_number(&self.mul_integer(argument, 0)?, c)?
                }
            };
            value.set_bound(bound.min(value.bound()));
            values.push(value);
        }
        Ok(values)
    }

    /// Returns modulus and exact scale of an argument and of its first `depth` repeated squares,
    /// each rescaled to the target of its depth. Products and sums of a depth have this modulus and
    /// scale.
    pub(crate) fn square_chain(
        &self,
        argument: (Modulus, Scale),
        depth: usize,
        targets: impl Fn(usize) -> Scale,
    ) -> Vec<(Modulus, Scale)> {
        let mut chain = vec![argument];
        for d in 0..depth {
            chain.push(self.after_square(chain[d].0, chain[d].1, targets(d + 1)));
        }
        chain
    }

    /// Checks that `a` has the capacity for `depth` successive products that are rescaled to these
    /// targets. Each uses the number of bits of the scale of its factors.
    pub(super) fn check_depth(
        &self,
        a: &Ciphertext,
        depth: usize,
        targets: impl Fn(usize) -> Scale,
        operation: &'static str,
    ) -> Result<(), CkksError> {
        let have = a.capacity_bits(self.context());
        let chain = self.square_chain((a.modulus(), a.scale()), depth, &targets);
        // At the end of the modulus, the scale is whatever the product leaves.
        let bits = |at_end: bool, k: usize, scale: &Scale| match at_end {
            true => scale.log2().min(targets(k).log2()),
            false => scale.log2(),
        };
        let scales = chain[..depth].iter().map(|(_, scale)| scale).enumerate();
        let need = scales.fold(0.0, |need, (k, scale)| need + bits(need > have, k, scale));
        if need <= have { Ok(()) } else { Err(CkksError::Capacity { operation, need, have }) }
    }

    /// Returns `x^2` or `T_2(x)`.
    fn squared(
        &self,
        x: &Ciphertext,
        chebyshev: bool,
        to: Modulus,
    ) -> Result<Ciphertext, CkksError> {
        let mut square = Ciphertext::empty(self.context());
        self.mul_multiple_to_into(&mut square, x, x, 1 + u64::from(chebyshev), to)?;
        if chebyshev {
            self.add_number_assign(&mut square, -1.0)?;
            square.set_bound(1.0);
        }
        Ok(square)
    }

    /// Returns the argument of the basis, at a scale of at most `target`. For a Chebyshev interval,
    /// this maps `a` to `[-1, 1]`.
    ///
    /// With a sprout, products can be rescaled to any scale. So `a` is divided by reading it at
    /// another scale. On a simple chain, it is multiplied by a number.
    fn argument(
        &self,
        a: Cow<'_, Ciphertext>,
        p: &Polynomial,
        target: Scale,
    ) -> Result<Ciphertext, CkksError> {
        let Some((unit, shift)) = p.unit_and_shift() else {
            let mut argument = self.at_most(a, target)?.into_owned();
            if p.basis() != Basis::Monomial {
                argument.set_bound(1.0);
            }
            return Ok(argument);
        };
        let narrow = || CkksError::Argument {
            operation: OPERATION,
            what: "the interval is too narrow to map it to [-1, 1]".into(),
        };
        let scaled = match self.context().parameters().top().sprout().is_one() {
            false => {
                let scale = a.scale().times(unit.to_scale().ok_or_else(narrow)?);
                self.at_most(Cow::Owned(a.into_owned().read_at(scale)), target)?.into_owned()
            }
            true => {
                let (a, factor) = (self.at_most(a, target)?, unit.reciprocal());
                let product = self.mul_big_number(&a, &factor.ok_or_else(narrow)?, a.scale())?;
                self.rescale(&product, target)?
            }
        };
        let mut argument =
            if shift.is_zero() { scaled } else { self.add_big_number(&scaled, &shift)? };
        argument.set_bound(1.0);
        Ok(argument)
    }
}

/// How a polynomial is evaluated.
pub(super) struct EvaluationShape {
    /// The coefficients of the polynomial in the argument or in its square.
    ///
    /// An even polynomial is one of half the degree in `x^2`, or in `T_2(x)`, since `T_j(T_2(x)) =
    /// T_2j(x)`. The depth is the same, with fewer products.
    pub(super) coefficients: Vec<f64>,
    /// The depth after that square.
    pub(super) depth: usize,
    pub(super) chebyshev: bool,
    /// Largest number of coefficients of a leaf, if it is at least 2.
    pub(super) leaf_size: usize,
}

impl EvaluationShape {
    /// The shape of `p` in the argument, or of an even `p` in its square.
    pub(super) fn of(p: &Polynomial, squared: bool) -> Self {
        let coefficients: Vec<f64> =
            p.coefficients().iter().copied().step_by(1 + usize::from(squared)).collect();
        let depth = depth_of(coefficients.len());
        let chebyshev = matches!(p.basis(), Basis::Chebyshev { .. });
        let (_, leaf_size) = fewest_products(&coefficients, depth, chebyshev);
        EvaluationShape { coefficients, depth, chebyshev, leaf_size }
    }
}

/// `ceil(log2 n)`.
pub(super) fn depth_of(n: usize) -> usize {
    n.next_power_of_two().trailing_zeros() as usize
}

/// Returns the two powers whose product is power `n`, at depth `ceil(log2 n)`. For Chebyshev
/// polynomials they are neighbours, so that `T_{a-b}` is `T_0` or `T_1`.
pub(super) fn split_power(n: usize, chebyshev: bool) -> (usize, usize) {
    if chebyshev || n.is_power_of_two() {
        (n.div_ceil(2), n / 2)
    } else {
        (1 << n.ilog2(), n - (1 << n.ilog2()))
    }
}

/// Whether a linear combination of powers can be evaluated at depth `depth`.
pub(super) fn is_leaf(coefficients: &[f64], depth: usize, leaf_size: usize) -> bool {
    coefficients.len() <= leaf_size.max(2)
        && (1..coefficients.len()).all(|i| coefficients[i] == 0.0 || depth_of(i) < depth)
}

impl Polynomial {
    /// True if it is evaluated at the square of the argument.
    pub(super) fn is_squared(&self) -> bool {
        self.degree() > 0 && self.is_even()
    }

    /// The number of products of ciphertexts that its evaluation needs. Products with numbers do
    /// not count.
    pub fn products(&self) -> usize {
        let squared = self.is_squared();
        let steps = EvaluationShape::of(self, squared);
        usize::from(squared) + fewest_products(&steps.coefficients, steps.depth, steps.chebyshev).0
    }
}

/// Returns the smallest number of products of ciphertexts over all sizes of leaves, and the size of
/// leaves that achieves it.
fn fewest_products(coefficients: &[f64], depth: usize, chebyshev: bool) -> (usize, usize) {
    let candidates = (0..=depth).map(|k| 1 << k);
    candidates
        .map(|leaf_size| (products(coefficients, depth, leaf_size, chebyshev), leaf_size))
        .min()
        .unwrap_or((0, 1))
}

/// Returns the number of products of ciphertexts that an evaluation needs.
fn products(coefficients: &[f64], depth: usize, leaf_size: usize, chebyshev: bool) -> usize {
    fn visit(
        c: &[f64],
        depth: usize,
        leaf_size: usize,
        chebyshev: bool,
        powers: &mut BTreeSet<usize>,
    ) -> usize {
        if is_leaf(c, depth, leaf_size) {
            (1..c.len()).filter(|&i| c[i] != 0.0).for_each(|i| need(i, chebyshev, powers));
            return 0;
        }
        let (m, q, r) = split(c, chebyshev);
        need(m, chebyshev, powers);
        usize::from(q.len() > 1)
            + visit(&q, depth - 1, leaf_size, chebyshev, powers)
            + visit(&r, depth, leaf_size, chebyshev, powers)
    }
    fn need(n: usize, chebyshev: bool, powers: &mut BTreeSet<usize>) {
        if n > 1 && powers.insert(n) {
            let (a, b) = split_power(n, chebyshev);
            need(a, chebyshev, powers);
            need(b, chebyshev, powers);
        }
    }
    let mut powers = BTreeSet::new();
    visit(coefficients, depth, leaf_size, chebyshev, &mut powers) + powers.len()
}

/// Whether a number rounds to 0 at a scale.
fn vanishes(c: f64, scale: Scale) -> bool {
    c.abs() * scale.to_f64() < 0.5
}

/// The value of a subpolynomial.
enum Value {
    Constant(f64),
    Encrypted(TrackedCiphertext),
}

/// The state of an evaluation.
pub(super) struct Evaluation<'a> {
    evaluator: &'a Evaluator,
    chebyshev: bool,
    /// See [`EvaluationShape`].
    leaf_size: usize,
    /// The largest leaf size of all polynomials, which share their powers.
    largest_leaf: usize,
    /// Modulus and scale of the argument after 0, 1, 2, ... squarings.
    chain: Vec<(Modulus, Scale)>,
    errors: ErrorTracker,
    /// The powers (or Chebyshev polynomials) of the argument that have been computed.
    powers: BTreeMap<usize, TrackedCiphertext>,
    /// The powers that were moved to a modulus of the chain, by power and position in the chain.
    lowered: BTreeMap<(usize, usize), TrackedCiphertext>,
}

impl<'a> Evaluation<'a> {
    /// Starts an evaluation with an argument that has the first modulus and scale of the chain.
    pub(super) fn new(
        evaluator: &'a Evaluator,
        chebyshev: bool,
        chain: Vec<(Modulus, Scale)>,
        errors: ErrorTracker,
        argument: TrackedCiphertext,
    ) -> Self {
        let powers = BTreeMap::from([(1, argument)]);
        Evaluation {
            evaluator,
            chebyshev,
            leaf_size: 1,
            largest_leaf: 1,
            chain,
            errors,
            powers,
            lowered: BTreeMap::new(),
        }
    }

    /// Returns power `n` with its noise.
    pub(super) fn into_power(mut self, n: usize) -> Result<Ciphertext, CkksError> {
        self.power(n)?;
        let power = &self.powers[&n];
        Ok(power.ciphertext.clone().with_noise(self.errors.noise(power)))
    }

    /// Evaluates a polynomial at the modulus `chain[depth]` and exactly at `scale`, as `sum_m q_m
    /// X^m + r`. All of these products are relinearised and rescaled together.
    fn evaluate(
        &mut self,
        coefficients: &[f64],
        depth: usize,
        scale: Scale,
    ) -> Result<Value, CkksError> {
        if coefficients.len() == 1 {
            return Ok(Value::Constant(coefficients[0]));
        }
        if is_leaf(coefficients, depth, self.leaf_size) {
            return self.leaf(coefficients, depth, scale).map(Value::Encrypted);
        }
        let (e, (to, _)) = (self.evaluator, self.chain[depth]);
        let unscaled = e.switched_scale(scale, to, self.chain[depth - 1].0);
        let (mut rest, mut products, mut sum) = (coefficients.to_vec(), Vec::new(), None);
        let (mut step, mut is_zero) = (Step::default(), true);
        while rest.len() > 1 && !is_leaf(&rest, depth, self.leaf_size) {
            let (m, q, r) = split(&rest, self.chebyshev);
            let factor_scale = unscaled.over(self.lowered(m, depth - 1)?.ciphertext.scale());
            match self.evaluate(&q, depth - 1, factor_scale)? {
                Value::Encrypted(q) => products.push((q, m)),
                Value::Constant(q) => {
                    let power = self.at(m, depth - 1);
                    step.terms.push((q, power.step));
                    let multiple = e.mul_number(&power.ciphertext, q, factor_scale)?;
                    let vanishes = vanishes(q, factor_scale);
                    is_zero &= vanishes;
                    self.add(&mut sum, self.rescaled(&multiple, to, vanishes)?, scale)?;
                }
            }
            rest = r;
        }
        if !products.is_empty() {
            let pairs = products.iter().map(|(q, m)| (q, self.at(*m, depth - 1)));
            step.products.extend(pairs.clone().map(|(q, power)| (1.0, q.step, power.step)));
            let pairs: Vec<_> =
                pairs.map(|(q, power)| (&q.ciphertext, &power.ciphertext)).collect();
            let mut term = e.sum_of_products_to(&pairs, to)?;
            if products.iter().all(|(q, _)| q.is_zero) {
                term.inner_mut().set_noise(Noise::NONE);
            } else {
                is_zero = false;
            }
            self.add(&mut sum, term, scale)?;
        }
        if rest.len() > 1 {
            let leaf = self.leaf(&rest, depth, scale)?;
            step.terms.push((1.0, leaf.step));
            is_zero &= leaf.is_zero;
            self.add(&mut sum, leaf.ciphertext, scale)?;
        }
        let mut sum = sum.expect(
            "constants and leaves returned above, so the loop ran, and each iteration adds a term",
        );
        if rest.len() == 1 && rest[0] != 0.0 {
            step.constant = rest[0];
            is_zero = false;
            e.add_number_assign(&mut sum, rest[0])?;
        }
        Ok(Value::Encrypted(TrackedCiphertext { is_zero, ..self.errors.track(sum, step) }))
    }

    /// Rescales a linear combination. If all of its terms vanish at their scale, the rescaling adds
    /// no error.
    fn rescaled(
        &self,
        a: &Ciphertext,
        to: Modulus,
        is_zero: bool,
    ) -> Result<Ciphertext, CkksError> {
        let (e, mut out) = (self.evaluator, Ciphertext::empty(self.evaluator.context()));
        e.rescale_to_into(&mut out, a, to)?;
        if is_zero {
            out.inner_mut().set_noise(a.inner().noise().scaled(e.log2(to) - e.log2(a.modulus())));
        }
        Ok(out)
    }

    /// Adds a term whose scale equals `scale` up to rounding.
    fn add(
        &self,
        sum: &mut Option<Ciphertext>,
        mut term: Ciphertext,
        scale: Scale,
    ) -> Result<(), CkksError> {
        term.set_meta(scale, term.slots(), term.bound());
        match sum {
            Some(sum) => self.evaluator.add_assign(sum, &term)?,
            None => *sum = Some(term),
        }
        Ok(())
    }

    /// Evaluates a linear combination of powers with one rescaling.
    ///
    /// The modulus is the smallest sufficient divisor of the moduli of all these powers. If their
    /// common divisor is too small, it is a divisor of the chain's modulus at the deepest power.
    fn leaf(
        &mut self,
        coefficients: &[f64],
        depth: usize,
        scale: Scale,
    ) -> Result<TrackedCiphertext, CkksError> {
        let e = self.evaluator;
        let indices: Vec<usize> =
            (1..coefficients.len()).filter(|i| coefficients[*i] != 0.0).collect();
        let (to, enough) = (self.chain[depth].0, e.log2(self.chain[depth - 1].0));
        let mut common = e.context().parameters().top();
        let mut last = 0;
        for &i in &indices {
            common = common.gcd(self.power(i)?.ciphertext.modulus());
            last = last.max(depth_of(i));
        }
        let shared = !common.is_one() && e.log2(common) + 1e-9 >= enough;
        let from = e.divisor_at_least(if shared { common } else { self.chain[last].0 }, enough);
        let raised = e.switched_scale(scale, to, from);
        let mut step = Step { constant: coefficients[0], ..Step::default() };
        let mut powers = Vec::with_capacity(indices.len());
        for &i in &indices {
            if !shared {
                self.lowered(i, last)?;
            }
        }
        for &i in &indices {
            let power = if shared { &self.powers[&i] } else { self.at(i, last) };
            step.terms.push((coefficients[i], power.step));
            let power = &power.ciphertext;
            // Limbs that the sum does not have are skipped, without copying the others.
            let divides = from.divides(power.modulus());
            powers.push(if divides { Cow::Borrowed(power) } else { e.at_modulus(power, from)? });
        }
        let terms: Vec<_> =
            powers.iter().zip(&indices).map(|(a, i)| (&**a, coefficients[*i])).collect();
        let is_zero = coefficients[0] == 0.0
            && terms.iter().all(|(a, c)| vanishes(*c, raised.over(a.scale())));
        let mut sum = e.linear_combination(&terms, from, raised)?;
        if coefficients[0] != 0.0 {
            e.add_number_assign(&mut sum, coefficients[0])?;
        }
        let mut out = self.rescaled(&sum, to, is_zero)?;
        out.set_meta(scale, out.slots(), out.bound());
        Ok(TrackedCiphertext { is_zero, ..self.errors.track(out, step) })
    }

    /// Returns power `n` at the modulus `chain[place]`, which is no larger than its own modulus, and
    /// near the scale of that place if its precision allows it.
    fn lowered(&mut self, n: usize, place: usize) -> Result<&TrackedCiphertext, CkksError> {
        let (e, (to, scale)) = (self.evaluator, self.chain[place]);
        let power = self.power(n)?;
        if power.ciphertext.modulus() != to && !self.lowered.contains_key(&(n, place)) {
            let power = &self.powers[&n];
            let step = Step::multiple(1.0, power.step);
            let adjusted = match self.is_near(scale, place, power.ciphertext.scale()) {
                true => None,
                false => {
                    let noise = self.errors.noise(power);
                    match e.adjust_with_error(&power.ciphertext, noise, to, scale) {
                        Err(CkksError::Capacity { .. }) => None,
                        adjusted => Some(adjusted?),
                    }
                }
            };
            let lowered = match adjusted {
                Some(adjusted) => adjusted,
                None => e.bring_to(&power.ciphertext, to)?,
            };
            self.lowered.insert((n, place), self.errors.track(lowered, step));
        }
        Ok(self.at(n, place))
    }

    /// True if the powers that are computed from one of this scale at `place` get scales within
    /// [`MAX_SCALE_DRIFT_BITS`] of those of the chain.
    ///
    /// The product of two powers differs from the chain by the sum of both differences in bits.
    fn is_near(&self, of_chain: Scale, place: usize, scale: Scale) -> bool {
        let growth = (self.largest_leaf as f64 / (place as f64).exp2()).max(1.0);
        growth * (scale.log2() - of_chain.log2()).abs() <= MAX_SCALE_DRIFT_BITS
    }

    /// Returns a power that [`Evaluation::lowered`] has computed before.
    fn at(&self, n: usize, place: usize) -> &TrackedCiphertext {
        self.lowered.get(&(n, place)).unwrap_or_else(|| &self.powers[&n])
    }

    /// Returns power `n` at the modulus `chain[ceil(log2 n)]`.
    fn power(&mut self, n: usize) -> Result<&TrackedCiphertext, CkksError> {
        if !self.powers.contains_key(&n) {
            let (power, step) = self.make_power(n)?;
            self.powers.insert(n, self.errors.track(power, step));
        }
        Ok(&self.powers[&n])
    }

    /// Computes power `n` from two lower ones.
    fn make_power(&mut self, n: usize) -> Result<(Ciphertext, Step), CkksError> {
        let (a, b) = split_power(n, self.chebyshev);
        let (e, chebyshev, place) = (self.evaluator, self.chebyshev, depth_of(n));
        let to = self.chain[place].0;
        if a == b {
            let half = self.power(a)?;
            let step = Step::square(half.step, chebyshev);
            return Ok((e.squared(&half.ciphertext, chebyshev, to)?, step));
        }
        self.lowered(a, place - 1)?;
        self.lowered(b, place - 1)?;
        let (left, right) = (self.at(a, place - 1), self.at(b, place - 1));
        let mut step = Step::product(left.step, right.step, chebyshev);
        let mut power = Ciphertext::empty(e.context());
        let n = 1 + u64::from(chebyshev);
        e.mul_multiple_to_into(&mut power, &left.ciphertext, &right.ciphertext, n, to)?;
        if chebyshev {
            // T_n = 2 T_a T_b - T_1, as a and b are neighbours.
            self.power(1)?;
            let first = &self.powers[&1];
            step.terms.push((-1.0, first.step));
            let there = self.errors.noise(first);
            let first = e.adjust_with_error(&first.ciphertext, there, to, power.scale())?;
            e.sub_assign(&mut power, &first)?;
            power.set_bound(1.0);
        }
        Ok((power, step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HK20 Table 4 lists 11 products for degree 30. It does not count the products with
    /// coefficients as a level.
    #[test]
    fn the_least_depth_costs_products() {
        let dense: Vec<f64> = (1..=31).map(|i| 1.0 / f64::from(i)).collect();
        assert_eq!([5, 6].map(|depth| fewest_products(&dense, depth, true).0), [12, 11]);
    }
}
