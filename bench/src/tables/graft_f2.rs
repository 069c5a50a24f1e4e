//! The table `graft-f2`: bootstraps to a lower modulus before a product with a plain matrix, as in
//! GRAFT F.2.

use std::sync::Arc;

use hippocrene::Preset;
use hippocrene_ckks::{
    Ciphertext, Context, Scale,
    bootstrap::{BootstrapLiteral, BootstrapPlan},
};
use hippocrene_ring::Threads;
use hippocrene_rlwe::{self as rlwe, Profile};

use super::{
    Table, boot,
    boot::{Client, SCALE, ciphertext},
    boot_15, simulate,
};
use crate::{
    Result,
    report::Row,
    session::{NamedWorks, Session},
};

/// The table at `N = 2^15`.
pub const AT_15: Table = Table {
    name: "graft-f2-15",
    about: "GRAFT F.2 at N = 2^15, with the preset n15: a bootstrap to the base modulus and 74 \
            bits, against one to all bits, each followed by its share of the product of a plain \
            matrix of 16 x 16 with 16 ciphertexts. As in the paper, the product takes one level, \
            and the encrypted rows are coefficients of polynomials, so that it only multiplies by \
            integers and adds. It is computed at the lower modulus in both cases. Slots are \
            complex. The paper does not state its parameters",
    memory: "3 GB",
    time: "1 minute",
    live: &[],
    plot: false,
    run: |session| SETS[0].rows(session),
};

/// The table at `N = 2^16`.
pub const AT_16: Table = Table {
    name: "graft-f2-16",
    about: "GRAFT F.2 at N = 2^16: as graft-f2-15, with the preset n16s",
    memory: "7 GB",
    time: "2 minutes",
    live: &[],
    plot: false,
    run: |session| SETS[1].rows(session),
};

/// The table of predictions.
pub const PREDICTED: Table = Table {
    name: "graft-f2",
    about: "GRAFT F.2: the bootstraps of graft-f2-15 and graft-f2-16 as predicted by simulations \
            with a profile of this machine, without residues and with little memory",
    memory: "500 MB",
    time: "1 minute",
    live: &[],
    plot: false,
    run: predictions,
};

/// The bits of the scale for the product, above the base modulus.
const PRODUCT_BITS: f64 = 74.0;
/// The rows and columns of the matrix. Chosen.
const SIZE: usize = 16;
/// log2 of the scale of the matrix. The product has the scale `2^PRODUCT_BITS`.
const MATRIX_BITS: i32 = PRODUCT_BITS as i32 - SCALE;

/// A preset with its bootstrap, and the paper's gain at its ring degree.
struct Set {
    preset: &'static str,
    literal: fn(bool) -> Result<BootstrapLiteral>,
    gain: f64,
}

const SETS: [Set; 2] = [
    Set { preset: boot_15::PRESET, literal: boot_15::literal, gain: 1.05 },
    Set { preset: boot::PRESET, literal: boot::literal, gain: 1.51 },
];

/// Predicts the bootstraps of both sets.
fn predictions(session: &mut Session) -> Result<Vec<Row>> {
    let profile = Profile::measure(session.kernel, |_, _| ())?;
    let mut rows = Vec::new();
    for set in SETS {
        let side = simulate::Side::dry_run(Preset::by_name(set.preset)?.parameters()?, &profile)?;
        let plan = Arc::new(set.plan(&side.context)?);
        let bootstrapper = simulate::bootstrapper(&side, &plan)?;
        let bits = f64::from(SCALE) + 2.0 + plan.capacity_needed();
        let slots = boot::values(plan.literal().slots, false);
        let a = side.encrypt(&slots, Scale::power_of_two(SCALE), bits)?;
        let mut works = NamedWorks::default();
        for bits in [Some(set.low_bits(&plan)), None] {
            let (bootstrapper, a) = (&bootstrapper, &a);
            works.add("bootstrap", move || Ok(bootstrapper.bootstrap_to(a, bits).map(drop)?));
        }
        let seconds = simulate::predicted(&side, works)?;
        let name = format!("{}, to {} bits: bootstrap, predicted", set.preset, set.low_bits(&plan));
        let row = Row::new(name, seconds[0], "s");
        let all = format!("to all {:.0} bits", plan.output_bits());
        rows.push(row.against(all, seconds[1]).target(Some(set.gain)));
    }
    Ok(rows)
}

impl Set {
    /// Returns the plan of bootstraps of complex slots to all bits.
    fn plan(&self, context: &Arc<Context>) -> Result<BootstrapPlan> {
        let literal = BootstrapLiteral { output_bits: None, ..(self.literal)(false)? };
        Ok(BootstrapPlan::new(Arc::clone(context), literal)?)
    }

    /// The bits of the lower modulus.
    fn low_bits(&self, plan: &BootstrapPlan) -> f64 {
        plan.literal().base_bits + PRODUCT_BITS
    }

    fn rows(&self, session: &mut Session) -> Result<Vec<Row>> {
        let context =
            Arc::new(Context::new(Preset::by_name(self.preset)?.parameters()?, Threads::single())?);
        let plan = Arc::new(self.plan(&context)?);
        let (client, _) = Client::generate(&plan)?;
        let (low, all) = (self.low_bits(&plan), plan.output_bits());
        let (a, _) = ciphertext(&client, &plan)?;
        let bootstrapper = client.bootstrapper(Arc::clone(&plan))?;
        let bootstrapped = bootstrapper.bootstrap_to(&a, Some(low))?;
        let mut works = NamedWorks::default();
        for bits in [Some(low), None] {
            let (bootstrapper, a) = (&bootstrapper, &a);
            works.add("bootstrap", move || Ok(bootstrapper.bootstrap_to(a, bits).map(drop)?));
        }
        works.add("product", || row_of_product(&context, &bootstrapped).map(drop));
        let times = session.time_named(context.parameters().log_degree(), works)?;
        let [short, whole, product] = [0, 1, 2].map(|i| times[i].1);
        let name = |what: &str| format!("{}, to {low} bits: {what}", self.preset);
        let against = format!("to all {all:.0} bits");
        Ok(vec![
            Row::new(name("bootstrap"), short, "s")
                .against(&against, whole)
                .target(Some(self.gain)),
            Row::new(name("a row of the product"), product, "s"),
            Row::new(name("both"), short + product, "s").against(&against, whole + product),
        ])
    }
}

/// Computes a row of the product: a sum of multiples of ciphertexts by integers, rescaled. All
/// ciphertexts are `a`, which takes the same time as different ones.
fn row_of_product(context: &Context, a: &Ciphertext) -> Result<rlwe::Ciphertext> {
    let rlwe = context.rlwe();
    let mut sum = a.inner().clone();
    for column in 1..SIZE as u64 {
        // An entry of the matrix between 0 and 1, at its scale.
        let entry = (column << MATRIX_BITS) / SIZE as u64;
        rlwe.add_multiple_assign(&mut sum, a.inner(), |q| entry % q)?;
    }
    let parameters = context.parameters();
    let to = parameters.grafted_modulus(parameters.log2(sum.modulus()) - f64::from(MATRIX_BITS));
    let mut out = rlwe::Ciphertext::empty(rlwe);
    rlwe.switch_ciphertext_into(&mut out, &sum, to)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hippocrene_rlwe::{Modulus, SecretKey};

    /// With constants in the slots, the row is their product with `1 + sum_j j 2^34 / 16`, over the
    /// scale that the rescale leaves.
    #[test]
    fn a_row_of_the_product_is_the_sum_of_multiples() {
        let parameters = Preset::by_name("n13").unwrap().parameters().unwrap();
        let context = Context::new(parameters, Threads::single()).unwrap();
        let secret = SecretKey::generate(context.rlwe()).unwrap();
        let modulus = Modulus::of_range(0..3);
        let plaintext =
            context.encode((&[0.5f64][..]).into(), 1, Scale::power_of_two(SCALE), modulus).unwrap();
        let a = context.encrypt(&secret, &plaintext).unwrap().expand(&context);
        let out = row_of_product(&context, &a).unwrap();
        let bits = |m: Modulus| context.parameters().log2(m);
        let scale = (f64::from(SCALE) + bits(out.modulus()) - bits(modulus)).exp2();
        let scale = Scale::from_f64(scale).unwrap();
        let out = Ciphertext::from_parts(&context, out, scale, 1, 1.0).unwrap();
        let decoded = context.decode_real(&context.decrypt(&secret, &out).unwrap()).unwrap()[0];
        let entries: u64 = (1..SIZE as u64).map(|j| (j << MATRIX_BITS) / SIZE as u64).sum();
        let expected = 0.5 * (1.0 + entries as f64);
        assert!((decoded / expected - 1.0).abs() < 1e-6, "{decoded} {expected}");
    }
}
