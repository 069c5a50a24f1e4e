//! The table `graft-e`: products at a scale of 66 bits, simple and grafted, as in GRAFT E.

use hippocrene_ckks::{Ciphertext, Scale};
use hippocrene_ring::Kernel;
use hippocrene_rlwe::{
    Modulus, Parameters, SecretDistribution, Sprout,
    design::{Request, design},
};

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
    name: "graft-e",
    about: "GRAFT E: products of 53 bits of precision at a scale of 66 bits. The simple chain \
            divides by two primes of 33 bits (composite rescaling). The grafted ones have words \
            of 61 and of 48 bits. The paper states a gain of 2.20 without its parameters. Ours \
            are chosen: N = 2^15, a fresh modulus of 726 bits for 11 scales, six digits. Key \
            switches of products use planned gadgets, and are also timed with the digits of the \
            sets. The portable kernel takes the same time for all words, as on the paper's \
            machine",
    memory: "2 GB",
    time: "about 1 minute",
    live: &[],
    plot: false,
    run,
};

const LOG_N: u32 = 15;
const SCALE_BITS: i32 = 66;
const FRESH_BITS: u32 = 11 * 66;
/// The paper's gain.
const GAIN: f64 = 2.2;

/// Returns the simple chain. A product drops two primes.
fn simple() -> Result<Parameters> {
    let sizes = Sizes {
        log_n: LOG_N,
        units: vec![(33, 22)],
        specials: vec![(34, 4)],
        sprout: Sprout::default(),
        dnum: 6,
        secret: SecretDistribution::Ternary,
    };
    sizes.parameters()
}

/// Returns the grafted chain with words of 61 bits.
fn grafted() -> Result<Parameters> {
    let sizes = Sizes {
        log_n: LOG_N,
        units: vec![(61, 11)],
        specials: vec![(61, 2)],
        sprout: Sprout::named("sprout-15-16-30").ok_or("no sprout")?,
        dnum: 6,
        secret: SecretDistribution::Ternary,
    };
    sizes.parameters()
}

/// Returns our chain, with words of 48 bits.
fn ours() -> Result<Parameters> {
    let design = design(&Request {
        log_degree: LOG_N,
        secret: SecretDistribution::Ternary,
        sprout: Sprout::for_degree(LOG_N).ok_or("no sprout")?,
        usable: FRESH_BITS,
        word: 48,
        log2_pq: None,
        margin: 0,
    })?;
    Ok(Parameters::new(design.literal()?)?)
}

/// Returns the parameters of a chain.
type Chain = fn() -> Result<Parameters>;

fn fresh(parameters: &Parameters) -> Modulus {
    near(parameters, f64::from(FRESH_BITS), 1.0)
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    const SIMPLE: &str = "simple";
    let grafts: [(&str, Chain); 2] =
        [("grafted, 61-bit words", grafted), ("grafted, 48-bit words", ours)];
    let mut kernels = vec![session.kernel, Kernel::Portable];
    kernels.dedup();
    let mut rows = Vec::new();
    for kernel in kernels {
        for (name, parameters) in grafts {
            let sides = [simple()?, parameters()?];
            let of = |parameters: &Parameters| {
                let from = fresh(parameters);
                Side::new(Scheme::of(parameters.clone(), kernel, 0)?, from, from)
            };
            let [a, b] = [of(&sides[0])?, of(&sides[1])?];
            let limbs = [a.limbs(), b.limbs()].map(|limbs| limbs as f64);
            let operations = [Side::tensor, Side::key_switch_with_base_gadget];
            let [_, base] = compare(session, LOG_N, [a, b], operations)?;
            let [product, precision] = products(session, kernel, sides)?;
            let named = |what: &str| format!("{name}: {what}, kernel {kernel}");
            rows.push(Row::new(named("limbs"), limbs[1], "").against(SIMPLE, limbs[0]));
            let row = Row::new(named("a key switch, digits of the set"), base[1], "ms");
            rows.push(row.against(SIMPLE, base[0]));
            // The paper's gain is for its words, on a machine where all words cost the same.
            let target = (kernel == Kernel::Portable && name == grafts[0].0).then_some(GAIN);
            let row = Row::new(named("a product"), product[1], "ms");
            rows.push(row.against(SIMPLE, product[0]).target(target));
            let row =
                Row::more_is_better(named("precision in the worst slot"), precision[1], "bits");
            rows.push(row.against(SIMPLE, precision[0]));
        }
    }
    Ok(rows)
}

/// Returns the milliseconds of a product of fresh ciphertexts on each chain, and its precision in
/// the worst slot in bits.
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
        let x = bench.values();
        let (a, b) = (bench.encrypt(&x, scale)?, bench.encrypt(&x, scale)?);
        let mut out = Ciphertext::empty(&bench.context);
        let e = &bench.evaluator;
        e.mul_rescale_into(&mut out, &a, &b, scale)?;
        *precision = bench.precision(&Operand::Plain(out.clone()))?;
        works.add("product", move || Ok(e.mul_rescale_into(&mut out, &a, &b, scale)?));
    }
    let times = session.time_named(LOG_N, works)?;
    Ok([[1e3 * times[0].1, 1e3 * times[1].1], precision])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_have_one_fresh_modulus_and_six_digits() {
        for parameters in [simple().unwrap(), grafted().unwrap(), ours().unwrap()] {
            let from = fresh(&parameters);
            assert!((parameters.log2(from) - f64::from(FRESH_BITS)).abs() <= 1.0);
        }
        for parameters in [simple().unwrap(), grafted().unwrap()] {
            assert_eq!(parameters.digits(fresh(&parameters)).count(), 6);
        }
        assert!(ours().unwrap().security().is_some());
    }
}
