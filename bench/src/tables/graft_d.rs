//! The table `graft-d`: products of pairs on the chain of CCKS23 and on a grafted one, as in
//! GRAFT D.2.

use hippocrene_ckks::Scale;
use hippocrene_ring::Kernel;
use hippocrene_rlwe::{Modulus, Parameters, SecretDistribution, Sprout};

use super::{
    Table,
    tuple::{Bench, Operand},
};
use crate::{
    Result,
    report::Row,
    scheme::{Scheme, Sizes, near},
    session::{NamedWorks, Session},
    side::{Side, compare},
};

/// The table.
pub const TABLE: Table = Table {
    name: "graft-d",
    about: "GRAFT D.2: a product of pairs at a scale of 57 bits, divided by 2^19, at N = 2^15. \
            The simple chain is that of CCKS23: Q = 61 + 3 x 23 + 18 x 38 bits, P = 61 bits. It \
            has 22 digits there and 20 here, because primes of 23 bits share digits. The grafted \
            one has 61-bit words, 14 digits and the same fresh modulus of 814 bits. The 48-bit \
            words have 17 digits and two special primes. (The log PQ of the grafted chains are \
            above the 128-bit limit. They are only timed.) The paper's 2.41 is (22 x 23)/(14 x \
            15), digits times factors of PQ, and is not measured there. Our products use planned \
            gadgets, which have larger digits on the simple chain. Key switches are also timed \
            with the digits of the sets. The portable kernel takes the same time for all words, \
            as on the paper's machine",
    memory: "2 GB",
    time: "about 1 minute",
    live: &[],
    plot: false,
    run,
};

const LOG_N: u32 = 15;
/// The bits of the fresh modulus.
const FRESH_BITS: u32 = 61 + 3 * 23 + 18 * 38;
/// log2 of the scale, and the divisor.
const SCALE_BITS: i32 = 57;
const DIVISOR: u64 = 1 << 19;

/// Returns the chain of CCKS23. A product drops its last prime.
fn simple() -> Result<Parameters> {
    let sizes = Sizes {
        log_n: LOG_N,
        units: vec![(61, 1), (23, 3), (38, 18)],
        specials: vec![(61, 1)],
        sprout: Sprout::default(),
        dnum: 22,
        secret: SecretDistribution::Ternary,
    };
    sizes.parameters()
}

/// Returns the grafted chain of GRAFT D.2: 14 digits of one factor of Q each, and one special
/// prime. (GRAFT counts 15 words of 61 bits, which is above CCKS23's log PQ.)
fn grafted() -> Result<Parameters> {
    let sizes = Sizes {
        log_n: LOG_N,
        units: vec![(61, 13)],
        specials: vec![(61, 1)],
        sprout: Sprout::named("sprout-15-16-30").ok_or("no sprout")?,
        dnum: 14,
        secret: SecretDistribution::Ternary,
    };
    sizes.parameters()
}

/// Returns the grafted chain in our words. Its special modulus is slightly larger than the sprout.
fn ours() -> Result<Parameters> {
    let sizes = Sizes {
        log_n: LOG_N,
        units: vec![(48, 16)],
        specials: vec![(33, 2)],
        sprout: Sprout::for_degree(LOG_N).ok_or("no sprout")?,
        dnum: 17,
        secret: SecretDistribution::Ternary,
    };
    sizes.parameters()
}

/// Returns the parameters of a chain.
type Chain = fn() -> Result<Parameters>;

fn fresh(parameters: &Parameters) -> Modulus {
    near(parameters, f64::from(FRESH_BITS), 1.0)
}

/// Returns the number of digits of the set at the fresh modulus, and that of the factors of the
/// fresh modulus and of `P`.
fn counts(parameters: &Parameters) -> [f64; 2] {
    let from = fresh(parameters);
    let factors = from.limb_count() + parameters.specials().limb_count();
    [parameters.digits(from).count(), factors].map(|count| count as f64)
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    const SIMPLE: &str = "simple";
    let grafts: [(&str, Chain); 2] =
        [("grafted, 61-bit words", grafted), ("grafted, 48-bit words", ours)];
    let mut kernels = vec![session.kernel, Kernel::Portable];
    kernels.dedup();
    let mut rows = Vec::new();
    let of_simple = counts(&simple()?);
    for (name, parameters) in grafts {
        let of_set = counts(&parameters()?);
        for (what, i) in [("digits", 0), ("factors of PQ", 1)] {
            rows.push(
                Row::new(format!("{name}: {what}"), of_set[i], "").against(SIMPLE, of_simple[i]),
            );
        }
        let product = |counts: [f64; 2]| counts[0] * counts[1];
        let expected = product(of_simple) / product(of_set);
        let row = Row::more_is_better(format!("{name}: expected gain"), expected, "x");
        rows.push(row.paper(session.papers.find("graft-d", &format!("{name}: expected gain"))));
    }
    for kernel in kernels {
        for (name, parameters) in grafts {
            let sides = [simple()?, parameters()?];
            let digits = sides.clone().map(|parameters| {
                let from = fresh(&parameters);
                Side::new(Scheme::of(parameters, kernel, 0)?, from, from)
            });
            let [a, b] = digits;
            let operations = [Side::tensor, Side::key_switch, Side::key_switch_with_base_gadget];
            // Key switches work on a tensor product, so the tensor comes first.
            let [_, planned, base] = compare(session, LOG_N, [a?, b?], operations)?;
            let [product, precision] = products(session, kernel, sides)?;
            let mut row = |what: &str, [simple, grafted]: [f64; 2]| {
                let name = format!("{name}: {what}, kernel {kernel}");
                rows.push(Row::new(name, grafted, "ms").against(SIMPLE, simple));
            };
            row("a key switch, digits of the set", base);
            row("a key switch, as planned", planned);
            row("a product of pairs", product);
            let name = format!("{name}: precision of the product, kernel {kernel}");
            rows.push(
                Row::more_is_better(name, precision[1], "bits").against(SIMPLE, precision[0]),
            );
        }
    }
    Ok(rows)
}

/// Returns the milliseconds of a product of fresh pairs on each chain, and its precision in the
/// worst slot in bits.
fn products(
    session: &mut Session,
    kernel: Kernel,
    sides: [Parameters; 2],
) -> Result<[[f64; 2]; 2]> {
    let scale = Scale::power_of_two(SCALE_BITS);
    let mut precision = [f64::NAN; 2];
    let benches = sides.map(|parameters| {
        let fresh = fresh(&parameters);
        Bench::new(parameters, kernel, fresh)
    });
    let [a, b] = benches;
    let benches = [a?, b?];
    let mut works = NamedWorks::default();
    for (bench, precision) in benches.iter().zip(&mut precision) {
        let pair = || bench.tuple(&bench.values(), scale, 2, DIVISOR);
        let (a, b) = (pair()?, pair()?);
        let product = bench.evaluator.tuple_mul(&a, &b, scale)?;
        *precision = bench.precision(&Operand::Tuple(product))?;
        works.add("product", move || Ok(bench.evaluator.tuple_mul(&a, &b, scale).map(drop)?));
    }
    let times = session.time_named(LOG_N, works)?;
    Ok([[1e3 * times[0].1, 1e3 * times[1].1], precision])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_have_the_stated_digits_and_the_factors_of_the_paper() {
        assert_eq!(counts(&simple().unwrap()), [20.0, 23.0]);
        // The sprout has two limbs, which the paper counts as one factor.
        assert_eq!(counts(&grafted().unwrap()), [14.0, 16.0]);
        assert_eq!(counts(&ours().unwrap())[0], 17.0);
        for parameters in [simple().unwrap(), grafted().unwrap(), ours().unwrap()] {
            let bits = parameters.log2(fresh(&parameters));
            assert!((bits - f64::from(FRESH_BITS)).abs() <= 1.0, "{bits}");
        }
    }
}
