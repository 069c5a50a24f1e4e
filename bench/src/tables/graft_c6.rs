//! The table `graft-c6`: a small sprout in one word or in two, as in GRAFT C.6.1.

use hippocrene_ring::{Kernel, ResidueRing, primes};

use super::Table;
use crate::{
    Result,
    report::Row,
    session::{NamedWorks, Session},
};

/// The table.
pub const TABLE: Table = Table {
    name: "graft-c6",
    about: "GRAFT C.6.1: the limbs of a sprout 2^15 65537. In one word, both parts are computed \
            modulo g 65537, where g is a prime of 44 bits that holds sums of products modulo \
            2^15. In two words, as in the library, they are computed modulo g and modulo 65537. \
            The residues modulo 65537 stay values in two words, but have to be transformed in \
            one, because 2^15 is reduced on coefficients. Shown: the transforms of one digit, the \
            inner product of a key switch with three digits, and a product of polynomials",
    memory: "10 MB",
    time: "about 20 seconds",
    live: &[],
    plot: false,
    run,
};

const LOG_DEGREES: [u32; 3] = [13, 14, 15];
const FERMAT: u64 = 65_537;
/// The bits of `g`. Centred products modulo `2^15` are at most `N 2^28`, and `65537 g` is below
/// `2^61`.
const LIFTED_BITS: u32 = 44;
/// The digits of the key switch. Chosen.
const DIGITS: usize = 3;

/// Residues modulo one ring, to be transformed.
struct Limb {
    ring: ResidueRing,
    a: Vec<u64>,
    b: Vec<u64>,
}

impl Limb {
    fn new(primes: &[u64], degree: usize, kernel: Kernel) -> Result<Self> {
        let ring = ResidueRing::composite(primes, degree, kernel)?;
        let residue = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % ring.modulus();
        let a: Vec<u64> = (1..=degree as u64).map(residue).collect();
        Ok(Limb { b: a.clone(), ring, a })
    }

    /// Both operands forward, a product, and back. The operands stay reduced.
    fn product(&mut self) {
        self.ring.forward(&mut self.a);
        self.ring.forward(&mut self.b);
        self.ring.mul_assign(&mut self.a, &self.b);
        self.ring.inverse(&mut self.a);
    }

    /// The work of an inner product of digits with the two polynomials of a key. The sums become
    /// coefficients again if they are `lifted`.
    fn inner_product(&mut self, lifted: bool) {
        for _ in 0..DIGITS {
            self.ring.forward(&mut self.a);
            (0..2).for_each(|_| self.ring.mul_assign(&mut self.b, &self.a));
        }
        if lifted {
            (0..2).for_each(|_| self.ring.inverse(&mut self.b));
        }
    }
}

/// A part of an operation on limbs.
#[derive(Clone, Copy)]
enum Part {
    Transform,
    InnerProduct,
    Product,
}

impl Part {
    const ALL: [Part; 3] = [Part::Transform, Part::InnerProduct, Part::Product];

    fn name(self) -> &'static str {
        match self {
            Part::Transform => "transforms of a digit",
            Part::InnerProduct => "an inner product",
            Part::Product => "a product",
        }
    }

    /// Runs the part on one limb, of coefficients if it is `lifted`, otherwise of values.
    fn run(self, limb: &mut Limb, lifted: bool) {
        match self {
            // Digits are coefficients for all limbs.
            Part::Transform => limb.ring.forward(&mut limb.a),
            Part::InnerProduct => limb.inner_product(lifted),
            Part::Product if lifted => limb.product(),
            Part::Product => limb.ring.mul_assign(&mut limb.a, &limb.b),
        }
    }
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut kernels = vec![session.kernel, Kernel::Portable];
    kernels.dedup();
    let mut rows = Vec::new();
    for kernel in kernels {
        for log_n in LOG_DEGREES {
            let degree = 1 << log_n;
            let g = primes::ntt_primes(LIFTED_BITS, degree, 1, &[])?[0];
            let limb = |primes: &[u64]| Limb::new(primes, degree, kernel);
            let mut works = NamedWorks::default();
            for part in Part::ALL {
                let mut one = limb(&[g, FERMAT])?;
                works.add("one word", move || {
                    part.run(&mut one, true);
                    Ok(())
                });
                let (mut lifted, mut odd) = (limb(&[g])?, limb(&[FERMAT])?);
                works.add("two words", move || {
                    part.run(&mut lifted, true);
                    part.run(&mut odd, false);
                    Ok(())
                });
            }
            let times = session.time_named(log_n, works)?;
            for (part, times) in Part::ALL.into_iter().zip(times.chunks(2)) {
                let name = format!("N = 2^{log_n}, kernel {kernel}: {}, one word", part.name());
                let row = Row::new(name, 1e6 * times[0].1, "us");
                rows.push(row.against(&times[1].0, 1e6 * times[1].1));
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The residues of one word are those of the two words, before and after a product. So one
    /// word could replace two.
    #[test]
    fn one_word_holds_what_two_words_hold() {
        let degree = 1 << LOG_DEGREES[0];
        let g = primes::ntt_primes(LIFTED_BITS, degree, 1, &[]).unwrap()[0];
        assert!(g > (degree as u64) << (2 * 15 - 2));
        let operand = Limb::new(&[g, FERMAT], degree, Kernel::Portable).unwrap();
        assert!(operand.ring.modulus() < 1 << 61);
        let mut one = Limb::new(&[g, FERMAT], degree, Kernel::Portable).unwrap();
        one.product();
        for q in [g, FERMAT] {
            let mut two = Limb::new(&[q], degree, Kernel::Portable).unwrap();
            two.a = operand.a.iter().map(|x| x % q).collect();
            two.b = two.a.clone();
            two.product();
            assert!(one.a.iter().zip(&two.a).all(|(a, b)| a % q == *b));
        }
    }
}
