//! The table `graft-10`: the cosine of a bootstrap in two circuits, as in Table 10 of GRAFT.

use std::{f64::consts::TAU, sync::Arc};

use hippocrene::Preset;
use hippocrene_ckks::{
    Ciphertext, Context, Evaluator, Scale,
    circuits::{Basis, Polynomial},
};
use hippocrene_ring::Threads;
use hippocrene_rlwe::{EvaluationKeys, SecretKey};
use num_complex::Complex64;

use super::Table;
use crate::{
    Result,
    precision::Errors,
    report::Row,
    session::{NamedWorks, Session},
};

/// The table.
pub const TABLE: Table = Table {
    name: "graft-10",
    about: "GRAFT Table 10 (F.1): the Chebyshev polynomial of degree 63 of a cosine, in two \
            circuits with less modulus. The first circuit has the terms up to degree 31, five \
            products deep at the full scale of 42 bits. The second has the other terms, whose \
            coefficients are small, six products deep at a smaller scale. They are compared with \
            one circuit six products deep, at 42 bits and at the smaller scale. Errors are those \
            of the worst slot in 10 runs, on 2^15 real slots at N = 2^16 with the preset n16s. \
            The cosine is cos(2 pi (x - 1/4) / 2^3) at integers in [-25, 25], for h = 192 (the \
            paper does not state its cosine). The target is the paper's 15 saved bits with an \
            error at most a tenth larger",
    memory: "600 MB",
    time: "about 1 minute",
    live: &[],
    plot: false,
    run,
};

const PRESET: &str = "n16s";
/// log2 of the scale.
const SCALE: f64 = 42.0;
const DEGREE: usize = 63;
/// The depth of the second circuit, in products.
const DEPTH: f64 = 6.0;
/// The bits of modulus that the paper's variants use.
const MODULUS_BITS: [u32; 6] = [252, 247, 242, 237, 232, 227];
/// The bits that the paper saves without loss of precision.
const PAPER_SAVED_BITS: f64 = 15.0;
/// The maximum ratio of errors that counts as no loss.
const MAX_ERROR_RATIO: f64 = 1.1;
const RUNS: usize = 10;
/// The largest integer, and the number of halvings.
const REACH: f64 = 25.0;
const DOUBLINGS: i32 = 3;
/// The standard deviation of the integers for a secret of Hamming weight 192.
const DEVIATION: f64 = 4.0;

/// Splits the terms by degree: those below half the degree, and the others.
fn halves(p: &Polynomial) -> Result<[Polynomial; 2]> {
    let half = p.coefficients().len() / 2;
    let high = p.coefficients().iter().enumerate().map(|(i, c)| if i < half { 0.0 } else { *c });
    Ok([
        Polynomial::new(p.basis(), p.coefficients()[..half].to_vec())?,
        Polynomial::new(p.basis(), high.collect())?,
    ])
}

fn times(p: &Polynomial, factor: f64) -> Result<Polynomial> {
    Ok(Polynomial::new(p.basis(), p.coefficients().iter().map(|c| c * factor).collect())?)
}

/// The cosine in two circuits: its terms of low degree at the full scale, and those of high degree
/// at a smaller one.
///
/// Each polynomial is multiplied by a number, so that both results have the same scale at the same
/// modulus.
struct Circuits {
    low: Polynomial,
    high: Polynomial,
    /// log2 of the scale of the second circuit, and the factor that its result lacks.
    small: f64,
    gained: Scale,
}

struct Trial {
    context: Arc<Context>,
    secret: SecretKey,
    evaluator: Evaluator,
    cosine: Polynomial,
}

impl Trial {
    fn new() -> Result<Self> {
        let context =
            Arc::new(Context::new(Preset::by_name(PRESET)?.parameters()?, Threads::single())?);
        let rlwe = context.rlwe();
        let secret = SecretKey::generate(rlwe)?;
        let mut keys = EvaluationKeys::empty(rlwe, secret.fingerprint());
        keys.add_relinearisation(rlwe, &secret)?;
        let evaluator = Evaluator::new(Arc::clone(&context), Arc::new(keys.into_prepared(rlwe)?));
        Ok(Trial { context, secret, evaluator, cosine: cosine()? })
    }

    /// Encrypts integers divided by `REACH`. About 100 bits of modulus are left after the cosine.
    ///
    /// The integers are normally distributed and depend on `run`.
    fn argument(&self, run: usize) -> Result<(Ciphertext, Vec<f64>)> {
        let x: Vec<f64> = (0..self.context.max_slots()).map(|i| integer(i, run) / REACH).collect();
        let slots: Vec<Complex64> = x.iter().map(|x| Complex64::from(*x)).collect();
        let modulus = self.context.parameters().grafted_modulus(DEPTH * SCALE + 100.0);
        let scale = Scale::power_of_two(SCALE as i32);
        let plaintext = self.context.encode((&slots[..]).into(), slots.len(), scale, modulus)?;
        let mut a = self.context.encrypt(&self.secret, &plaintext)?.expand(&self.context);
        a.set_bound(1.0);
        Ok((a, x))
    }

    /// Evaluates all terms at one scale, six products deep, from an argument that is brought to
    /// that scale.
    fn one_circuit(&self, a: &Ciphertext, bits: f64) -> Result<Ciphertext> {
        let scale = scale(small(bits))?;
        Ok(self.evaluator.polynomial(&self.at_scale(a, scale)?, &self.cosine, scale)?)
    }

    /// Plans two circuits that use `bits` bits of modulus.
    fn circuits(&self, a: &Ciphertext, bits: f64) -> Result<Circuits> {
        let (e, small) = (&self.evaluator, small(bits));
        let gained = scale(SCALE - small)?;
        let [low, high] = halves(&self.cosine)?;
        let high = times(&high, gained.to_f64())?;
        let [first, second] = [
            e.polynomial(a, &low, scale(SCALE)?)?,
            e.polynomial(&self.at_scale(a, scale(small)?)?, &high, scale(small)?)?,
        ];
        // The correction combines the scale that the first circuit loses on the way to the modulus
        // of the second, and the surplus of the second.
        let end = e.switched_scale(first.scale(), first.modulus(), second.modulus());
        let low = times(&low, second.scale().times(gained).ratio(end))?;
        Ok(Circuits { low, high, small, gained })
    }

    fn two_circuits(&self, a: &Ciphertext, circuits: &Circuits) -> Result<Ciphertext> {
        let e = &self.evaluator;
        let small = scale(circuits.small)?;
        let mut high = e.polynomial(&self.at_scale(a, small)?, &circuits.high, small)?;
        high.set_bound(1.0);
        let scale_of_both = high.scale().times(circuits.gained);
        let high = high.read_at(scale_of_both);
        let mut low = Ciphertext::empty(&self.context);
        e.rescale_to_into(
            &mut low,
            &e.polynomial(a, &circuits.low, scale(SCALE)?)?,
            high.modulus(),
        )?;
        low.set_bound(1.0);
        Ok(e.add(&low.read_at(scale_of_both), &high)?)
    }

    /// Reduces the scale of `a`, and its modulus by the same factor.
    fn at_scale(&self, a: &Ciphertext, scale: Scale) -> Result<Ciphertext> {
        Ok(self.evaluator.rescale(a, scale)?)
    }

    /// Returns the error in the worst slot. As in the paper's precision, slots are decrypted as
    /// complex numbers.
    fn worst(&self, y: &Ciphertext, x: &[f64]) -> Result<f64> {
        let got = self.context.decode_complex(&self.context.decrypt(&self.secret, y)?)?;
        let errors = got.iter().zip(x).map(|(g, x)| (g - self.exact(*x)).norm());
        Ok(errors.fold(0.0, f64::max))
    }

    /// Returns the cosine at `x`, the argument divided by `REACH`.
    fn exact(&self, x: f64) -> f64 {
        (TAU * (REACH * x - 0.25) / f64::from(1 << DOUBLINGS)).cos()
    }
}

/// Returns log2 of the scale of five products and of the argument, if these use `bits` bits in all.
fn small(bits: f64) -> f64 {
    (bits - SCALE) / (DEPTH - 1.0)
}

fn cosine() -> Result<Polynomial> {
    let f = |x: f64| (TAU * (REACH * x - 0.25) / f64::from(1 << DOUBLINGS)).cos();
    let p = Polynomial::approximate(f, -1.0, 1.0, DEGREE)?;
    Ok(Polynomial::new(Basis::Chebyshev { low: -1.0, high: 1.0 }, p.coefficients().to_vec())?)
}

fn scale(bits: f64) -> Result<Scale> {
    Ok(Scale::from_f64(bits.exp2()).ok_or("a scale is a positive number")?)
}

/// Returns a normally distributed integer (Box and Muller's method, on a sequence that is spread
/// evenly over the unit square).
fn integer(i: usize, run: usize) -> f64 {
    let nth = (i + 32_768 * run + 1) as f64;
    let [radius, turn] =
        [0.754_877_666_246_693, 0.569_840_290_998_053].map(|step| (nth * step).fract());
    let normal = (-2.0 * radius.ln()).sqrt() * (TAU * turn).cos();
    (DEVIATION * normal).round().clamp(1.0 - REACH, REACH - 1.0)
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let trial = Trial::new()?;
    let mut rows = Vec::new();
    let mut full = None;
    let mut saved = 0.0f64;
    for bits in MODULUS_BITS {
        let wanted = f64::from(bits);
        let mut errors = [Vec::with_capacity(RUNS), Vec::with_capacity(RUNS)];
        let mut consumed = 0.0;
        for run in 0..RUNS {
            let (a, x) = trial.argument(run)?;
            let one = trial.one_circuit(&a, wanted)?;
            errors[0].push(trial.worst(&one, &x)?);
            if bits < MODULUS_BITS[0] {
                let circuits = trial.circuits(&a, wanted)?;
                let two = trial.two_circuits(&a, &circuits)?;
                errors[1].push(trial.worst(&two, &x)?);
                let parameters = trial.context.parameters();
                consumed = parameters.log2(a.modulus()) - parameters.log2(two.modulus());
            }
        }
        let one = Errors::of(&errors[0]);
        let Some(full) = full else {
            rows.extend(figures(session, "252 bits", one, None));
            full = Some(one);
            continue;
        };
        let two = Errors::of(&errors[1]);
        if two.max <= MAX_ERROR_RATIO * full.max {
            saved = saved.max(f64::from(MODULUS_BITS[0]) - wanted);
        }
        let name = format!("{bits} bits, two circuits");
        rows.extend(figures(session, &name, two, Some(("252 bits", full))));
        rows.push(Row::new(format!("{name}: modulus taken"), consumed, "bits"));
        let name = format!("{bits} bits, one circuit");
        rows.extend(figures(session, &name, one, Some(("252 bits", full))));
    }
    let row = Row::more_is_better("bits saved at no loss, two circuits", saved, "bits");
    rows.push(row.against("the paper", PAPER_SAVED_BITS).target(Some(1.0)));
    let (a, _) = trial.argument(0)?;
    let circuits = trial.circuits(&a, 237.0)?;
    let mut works = NamedWorks::default();
    works.add("one circuit, 252 bits", || trial.one_circuit(&a, 252.0).map(drop));
    works.add("two circuits, 237 bits", || trial.two_circuits(&a, &circuits).map(drop));
    let times = session.time_named(trial.context.parameters().log_degree(), works)?;
    let (name, whole) = times[0].clone();
    rows.push(
        Row::new(format!("{}: time", times[1].0), 1e3 * times[1].1, "ms")
            .against(name, 1e3 * whole),
    );
    Ok(rows)
}

/// One of the statistics.
type Part = fn(&Errors) -> f64;

fn figures(
    session: &Session,
    name: &str,
    errors: Errors,
    full: Option<(&str, Errors)>,
) -> [Row; 3] {
    let kinds: [(&str, Part); 3] = [
        ("average", |e| e.average),
        ("standard deviation", |e| e.deviation),
        ("maximum", |e| e.max),
    ];
    kinds.map(|(what, of)| {
        let name = format!("{name}: error, {what}");
        let row = Row::new(&name, of(&errors), "").paper(session.papers.find("graft-10", &name));
        match full {
            Some((against, full)) if what != "standard deviation" => {
                row.against(against, of(&full))
            }
            _ => row,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_polynomial() {
        let p = cosine().unwrap();
        let [low, high] = halves(&p).unwrap();
        assert_eq!((low.degree(), high.degree(), low.depth(), high.depth()), (31, 63, 5, 6));
        for i in -20..=20 {
            let x = f64::from(i) / 20.0;
            assert!((low.evaluate(x) + high.evaluate(x) - p.evaluate(x)).abs() < 1e-12);
        }
    }

    #[test]
    fn integers_have_the_distribution_of_a_secret() {
        let all: Vec<f64> = (0..10_000).map(|i| integer(i, 1)).collect();
        let deviation = (all.iter().map(|x| x * x).sum::<f64>() / 1e4).sqrt();
        assert!((deviation - DEVIATION).abs() < 0.1, "{deviation}");
        assert!(all.iter().all(|x| x.abs() < REACH));
    }
}
