//! The table `laks-4`: polynomials, as in Table 4 of LAKS.

use std::cell::RefCell;

use hippocrene_ring::{Domain, Poly};
use hippocrene_rlwe::{Ciphertext, Destination, Modulus};

use super::{
    Table,
    laks::{BITS, LOG_N, finest},
};
use crate::{
    Result,
    report::Row,
    scheme::Scheme,
    session::{NamedWorks, Session},
};

/// The table.
pub const TABLE: Table = Table {
    name: "laks-4",
    about: "LAKS Table 4: a polynomial of degree 8, 16 and 32 from level 39 on, with one key. \
            \"Previous\" has digits of one prime at each level, and \"ours\" has the planned \
            gadget. N = 2^16, with 40 primes of 44 bits (13 bits beyond our 128-bit limit for a \
            ternary secret). All powers x^2 to x^d are computed as x^i = x^ceil(i/2) \
            x^floor(i/2). These are d - 1 products with relinearisation and rescaling. The paper \
            does not state its number of products, but its figures suggest this one",
    memory: "5 GB",
    time: "about 3 minutes",
    live: &[],
    plot: false,
    run,
};

const DEGREES: [usize; 3] = [8, 16, 32];

/// The choice of the gadget of a key switch.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Choice {
    /// The gadget of the key.
    Base,
    /// The planned gadget.
    Planned,
}

/// Evaluates polynomials in one ciphertext.
struct Evaluation<'a> {
    scheme: &'a Scheme,
    /// The powers 1, 2, ... of `x`.
    powers: Vec<Ciphertext>,
    product: Ciphertext,
    reduced: Ciphertext,
}

impl<'a> Evaluation<'a> {
    fn new(scheme: &'a Scheme, x: Ciphertext) -> Self {
        let empty = || scheme.empty();
        Evaluation { scheme, powers: vec![x], product: empty(), reduced: empty() }
    }

    /// Computes `sum c_i x^i` for `i` from 1, modulo the remaining modulus. The `c_i` have the
    /// scale of a unit.
    fn evaluate(&mut self, coefficients: &[u64], choice: Choice) -> Result<Ciphertext> {
        let context = &self.scheme.context;
        self.powers.truncate(1);
        for i in 2..=coefficients.len() {
            let power = self.multiply(i.div_ceil(2), i / 2, choice)?;
            self.powers.push(power);
        }
        let modulus = self.powers[coefficients.len() - 1].modulus();
        let mut sum: Option<Ciphertext> = None;
        for (power, c) in self.powers.iter().zip(coefficients) {
            let mut term = self.scheme.empty();
            context.reduce_modulus_into(&mut term, power, modulus)?;
            context.mul_constant_assign(&mut term, |q| c % q)?;
            match &mut sum {
                Some(sum) => context.add_assign(sum, &term)?,
                None => sum = Some(term),
            }
        }
        let mut out = self.scheme.empty();
        let sum = sum.ok_or("a polynomial without coefficients")?;
        context.switch_ciphertext_into(&mut out, &sum, rescaled(modulus)?)?;
        Ok(out)
    }

    /// Computes the product of two powers, with relinearisation and rescaling in one modulus
    /// switch. The first power must not be below the second.
    fn multiply(&mut self, i: usize, j: usize, choice: Choice) -> Result<Ciphertext> {
        let Scheme { context, keys, .. } = self.scheme;
        let (a, b) = (&self.powers[i - 1], &self.powers[j - 1]);
        let from = a.modulus();
        if b.modulus() == from {
            context.tensor_into(&mut self.product, a, b)?;
        } else {
            context.reduce_modulus_into(&mut self.reduced, b, from)?;
            context.tensor_into(&mut self.product, a, &self.reduced)?;
        }
        let gadget = match choice {
            Choice::Base => context.parameters().base_gadget(),
            Choice::Planned => context.gadget(from)?,
        };
        let to = rescaled(from)?;
        let [c0, c1, c2] = [0, 1, 2].map(|k| self.product.part(k));
        let decomposed = context.decompose_with(c2, from, gadget)?;
        let [mut out0, mut out1]: [Poly; 2] =
            [(); 2].map(|()| context.zero(to, Domain::Evaluation));
        let key = keys.relinearisation("measure")?;
        let destination = Destination::new(to);
        context.switch_keys_into(
            [&mut out0, &mut out1],
            &decomposed,
            key,
            [Some(c0), Some(c1)],
            &destination,
        )?;
        Ok(Ciphertext::from_parts(context, vec![out0, out1], to, a.noise(), a.key())?)
    }
}

/// The modulus without its last unit.
fn rescaled(modulus: Modulus) -> Result<Modulus> {
    let last = modulus.factors().next_back().ok_or("no level is left")?;
    Ok(modulus.without(Modulus::of_factor(last)))
}

/// Returns coefficients below `1/2^k` of a unit, without a pattern.
fn coefficients(degree: usize, k: u32) -> Vec<u64> {
    (1..=degree as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - BITS + k)).collect()
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let scheme = Scheme::new(&finest(), session.kernel, 0)?;
    scheme.context.set_key_memory(2 * scheme.keys.relinearisation("measure")?.bytes());
    let x = scheme.encrypt(&scheme.message(scheme.top()), scheme.top())?;
    let evaluation = RefCell::new(Evaluation::new(&scheme, x));
    let mut rows = Vec::new();
    for degree in DEGREES {
        let coefficients = coefficients(degree, 1);
        let mut works = NamedWorks::default();
        for choice in [Choice::Base, Choice::Planned] {
            let (evaluation, coefficients) = (&evaluation, &coefficients);
            works.add("", move || evaluation.borrow_mut().evaluate(coefficients, choice).map(drop));
        }
        let times = session.time_named(LOG_N, works)?;
        let paper =
            |which: &str| session.papers.find("laks-4", &format!("degree {degree}, {which}"));
        let [previous, ours] = [times[0].1, times[1].1];
        rows.push(
            Row::new(format!("degree {degree}, previous (r = 1)"), previous, "s")
                .paper(paper("previous")),
        );
        let speed_up = paper("previous")
            .zip(paper("ours"))
            .map(|(previous, ours)| previous.value / ours.value);
        rows.push(
            Row::new(format!("degree {degree}, ours"), ours, "s")
                .against("previous", previous)
                .paper(paper("ours"))
                .target(speed_up),
        );
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use hippocrene_ring::Kernel;

    use super::*;
    use crate::{figures::Papers, scheme::Sizes};

    #[test]
    fn both_choices_evaluate_the_polynomial() {
        let sizes = Sizes { log_n: 11, units: vec![(BITS, 7)], dnum: 7, ..finest() };
        let scheme = Scheme::new(&sizes, Kernel::detect().unwrap(), 0).unwrap();
        let (context, top) = (&scheme.context, scheme.top());
        let unit = (1u64 << BITS) as f64;
        let x = 0.75;
        let mut message = vec![0; context.degree()];
        message[0] = (x * unit) as i64;
        let message = context.from_signed(&message, top);
        let x_encrypted = scheme.encrypt(&message, top).unwrap();
        let mut evaluation = Evaluation::new(&scheme, x_encrypted);
        for degree in [8, 5] {
            let c = coefficients(degree, 4);
            let expected: f64 =
                (1..).zip(&c).map(|(i, c)| *c as f64 / unit * f64::powi(x, i)).sum();
            assert!(expected.abs() > 0.01 && expected.abs() < 0.4);
            for choice in [Choice::Base, Choice::Planned] {
                let result = evaluation.evaluate(&c, choice).unwrap();
                let depth = degree.next_power_of_two().ilog2() as usize + 1;
                assert_eq!(result.modulus(), scheme.below_top(depth));
                let mut decrypted = scheme.secret.decrypt(context, &result).unwrap();
                context.to_coefficient(&mut decrypted, result.modulus());
                let value = decrypted.limb(0)[0] as f64 / unit;
                assert!(
                    (value - expected).abs() < 1e-5,
                    "degree {degree}, {choice:?}: {value} {expected}"
                );
            }
        }
    }

    #[test]
    fn every_degree_has_its_figures() {
        let papers = Papers::load().unwrap();
        for degree in DEGREES {
            for which in ["previous", "ours"] {
                assert_eq!(
                    papers.find("laks-4", &format!("degree {degree}, {which}")).unwrap().unit,
                    "s"
                );
            }
        }
    }
}
