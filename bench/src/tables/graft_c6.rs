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
            Then a product of polynomials: the residues modulo 65537 stay values in two words, \
            but have to be transformed in one, because 2^15 is reduced on coefficients",
    memory: "10 MB",
    time: "about 20 seconds",
    live: &[],
    plot: false,
    run,
};

const LOG_DEGREES: [u32; 3] = [13, 14, 15];
const FERMAT: u64 = 65_537;
/// The exponent of two. Products modulo `2^15` are below `N 2^28`, and sums of some digits of them
/// below `2^44`.
const TWO: u32 = 15;
const LIFTED_BITS: u32 = 44;

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
            let (mut one, mut lifted, mut odd) =
                (limb(&[g, FERMAT])?, limb(&[g])?, limb(&[FERMAT])?);
            let (mut one_product, mut lifted_product, mut odd_product) =
                (limb(&[g, FERMAT])?, limb(&[g])?, limb(&[FERMAT])?);
            let mut works = NamedWorks::default();
            works.add("one", move || {
                one.ring.forward(&mut one.a);
                Ok(())
            });
            works.add("two", move || {
                lifted.ring.forward(&mut lifted.a);
                odd.ring.forward(&mut odd.a);
                Ok(())
            });
            works.add("one", move || {
                one_product.product();
                Ok(())
            });
            works.add("two", move || {
                lifted_product.product();
                odd_product.ring.mul_assign(&mut odd_product.a, &odd_product.b);
                Ok(())
            });
            let times = session.time_named(log_n, works)?;
            for (what, i) in [("transforms", 0), ("a product", 2)] {
                let name = format!("N = 2^{log_n}, kernel {kernel}: {what}, one word");
                let row = Row::new(name, 1e6 * times[i].1, "us");
                rows.push(row.against("two words", 1e6 * times[i + 1].1));
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
        assert!(g > (degree as u64) << (2 * TWO - 2));
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
