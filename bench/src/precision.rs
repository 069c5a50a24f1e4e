//! The precision of multiplication, on numbers of many bits.

use std::sync::Arc;

use hippocrene_ckks::{BigFloat, Ciphertext, Context, Evaluator, Scale};
use hippocrene_ring::{Sampler, Seed, Threads};
use hippocrene_rlwe::{EvaluationKeys, Parameters, SecretKey};
use num_complex::Complex;

use crate::Result;

/// A complex number of many bits.
pub type Number = Complex<BigFloat>;

/// A parameter set, with messages that fill all slots.
pub struct Trial {
    context: Arc<Context>,
    /// Has a fixed seed, so the messages are the same in every run of the table.
    sampler: Sampler,
}

/// Statistics of the errors in the worst slot of each of several runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// The mean.
    pub average: f64,
    /// The standard deviation.
    pub deviation: f64,
    /// The largest error.
    pub max: f64,
}

impl Errors {
    /// Returns the statistics of a list of errors, which must not be empty.
    pub fn of(errors: &[f64]) -> Self {
        let count = errors.len() as f64;
        let average = errors.iter().sum::<f64>() / count;
        let deviation = (errors.iter().map(|e| (e - average).powi(2)).sum::<f64>() / count).sqrt();
        Errors { average, deviation, max: errors.iter().copied().fold(0.0, f64::max) }
    }

    /// The number of right bits after the binary point in the worst slot of all runs, which is the
    /// paper's precision.
    pub fn precision(&self) -> f64 {
        -self.max.log2()
    }
}

impl Trial {
    /// Prepares a trial of `parameters`.
    ///
    /// # Errors
    /// When the environment names a kernel that cannot run.
    pub fn new(parameters: Parameters) -> Result<Self> {
        Ok(Trial {
            context: Arc::new(Context::new(parameters, Threads::single())?),
            sampler: messages(),
        })
    }

    /// Measures the errors of a multiplication, rescaled to the scale `2^bits` of its operands, in
    /// `runs` runs.
    ///
    /// Each run has its own secret, on which the worst slot depends, and fresh messages: complex
    /// numbers with parts in [-1/2, 1/2].
    ///
    /// # Errors
    /// When the scale does not fit the parameter set, or the system has no entropy.
    pub fn multiply(&mut self, bits: i32, runs: usize) -> Result<Errors> {
        let scale = Scale::power_of_two(bits);
        let errors: Vec<f64> = (0..runs).map(|_| self.worst_error(scale)).collect::<Result<_>>()?;
        Ok(Errors::of(&errors))
    }

    fn worst_error(&mut self, scale: Scale) -> Result<f64> {
        let (x, y) = (self.numbers()?, self.numbers()?);
        let (context, rlwe) = (&self.context, self.context.rlwe());
        let secret = SecretKey::generate(rlwe)?;
        let mut keys = EvaluationKeys::empty(rlwe, secret.fingerprint());
        keys.add_relinearisation(rlwe, &secret)?;
        let evaluator = Evaluator::new(Arc::clone(context), Arc::new(keys.prepare(rlwe)?));
        let encrypt = |values: &[Number]| -> Result<Ciphertext> {
            let plain =
                context.encode(values.into(), values.len(), scale, context.parameters().top())?;
            Ok(context.encrypt(&secret, &plain)?.expand(context))
        };
        let product = evaluator.mul_rescale(&encrypt(&x)?, &encrypt(&y)?, scale)?;
        let decoded = context.decode_big_complex(&context.decrypt(&secret, &product)?)?;
        let mut worst = 0.0f64;
        for ((x, y), z) in x.iter().zip(&y).zip(decoded) {
            worst = worst.max(error(x, y, z)?);
        }
        Ok(worst)
    }

    fn numbers(&mut self) -> Result<Vec<Number>> {
        (0..self.context.max_slots())
            .map(|_| Ok(Complex { re: number(&mut self.sampler)?, im: number(&mut self.sampler)? }))
            .collect()
    }
}

/// Returns `|x y - z|`.
fn error(x: &Number, y: &Number, z: Number) -> Result<f64> {
    let [a, b, c, d] = [&x.re, &x.im, &y.re, &y.im].map(|part| part.clone().into_inner());
    let re = BigFloat::try_from(&a * &c - &b * &d)?;
    let im = BigFloat::try_from(a * d + b * c)?;
    difference(&Complex { re, im }, &z)
}

/// Returns `|x - y|`.
///
/// # Errors
/// When the difference is out of range.
pub fn difference(x: &Number, y: &Number) -> Result<f64> {
    let part = |x: &BigFloat, y: &BigFloat| -> Result<f64> {
        Ok(BigFloat::try_from(x.clone().into_inner() - y.clone().into_inner())?.to_f64())
    };
    Ok(part(&x.re, &y.re)?.hypot(part(&x.im, &y.im)?))
}

/// Returns the stream of messages.
pub fn messages() -> Sampler {
    Sampler::new(&Seed::from_bytes([1; 32]), 0)
}

/// Returns a number in [-1/2, 1/2] of about 200 bits.
///
/// # Errors
/// None that occur here, since the number is in range.
pub fn number(sampler: &mut Sampler) -> Result<BigFloat> {
    let mut words = [0; 4];
    sampler.uniform(1 << 52, &mut words);
    let mut sum = BigFloat::zero().into_inner();
    for (word, k) in words.into_iter().zip(1..) {
        let centred = word as f64 - 2f64.powi(51);
        sum += BigFloat::try_from(centred * 2f64.powi(-52 * k))?.into_inner();
    }
    Ok(BigFloat::try_from(sum)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_those_of_the_list() {
        let errors = Errors::of(&[0.25, 0.125, 0.125, 0.0]);
        assert_eq!((errors.average, errors.max, errors.precision()), (0.125, 0.25, 2.0));
        assert!((errors.deviation - 0.0078125f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn random_numbers_have_many_bits_and_fill_the_interval() {
        let mut sampler = messages();
        let numbers: Vec<BigFloat> = (0..1000).map(|_| number(&mut sampler).unwrap()).collect();
        let (least, most) = numbers
            .iter()
            .map(BigFloat::to_f64)
            .fold((0.0f64, 0.0f64), |(a, b), x| (a.min(x), b.max(x)));
        assert!((-0.5..-0.49).contains(&least) && (0.49..0.51).contains(&most));
        assert!(numbers.iter().all(|x| x != &BigFloat::try_from(x.to_f64()).unwrap()));
    }

    #[test]
    fn errors_are_of_the_product() {
        let number = |re: f64, im: f64| Complex {
            re: BigFloat::try_from(re).unwrap(),
            im: BigFloat::try_from(im).unwrap(),
        };
        let (x, y) = (number(1.0, 2.0), number(3.0, -1.0));
        assert_eq!(error(&x, &y, number(5.0, 5.0)).unwrap(), 0.0);
        assert_eq!(error(&x, &y, number(8.0, 1.0)).unwrap(), 5.0);
    }
}
