//! The table `boot-precise`: iterated bootstraps.

use std::sync::Arc;

use hippocrene::Preset;
use hippocrene_ckks::{
    BigFloat, Context, Scale,
    bootstrap::{BootstrapLiteral, BootstrapPlan},
    circuits::DftLevel,
};
use hippocrene_ring::Threads;
use num_complex::Complex;

use super::{
    Table,
    boot::{Client, GROUP, PRESET, literal},
};
use crate::{
    Result,
    report::Row,
    session::{NamedWorks, Session},
};

/// The table.
pub const TABLE: Table = Table {
    name: "boot-precise",
    about: "iterated bootstraps (META-BTS, ePrint 2022/1167) to 50 and to 80 bits, compared with \
            OpenFHE's two iterations on real slots. The single bootstrap is that of the table \
            boot (N = 2^16, 2^15 complex slots) with two more bits of precision. Shown: time, \
            precision, remaining modulus and capacity",
    memory: "11 GB",
    time: "about 3 minutes",
    live: &[],
    plot: false,
    run,
};

/// The requested precisions, each with log2 of the operand's scale.
const PRECISIONS: [(f64, i32); 2] = [(50.0, 70), (80.0, 100)];
const PEER: &str = "OpenFHE 1.5.1 + HEXL, 2 iterations, slots to coefficients first";

fn plan(context: &Arc<Context>, wanted: f64) -> Result<Arc<BootstrapPlan>> {
    let literal = BootstrapLiteral {
        scale_bits: 57.0,
        coefficients_to_slots: DftLevel::even(1 << 15, 3, 52.0),
        output_bits: None,
        precision: Some(wanted),
        ..literal(false)?
    };
    Ok(Arc::new(BootstrapPlan::new(Arc::clone(context), literal)?))
}

/// Returns complex numbers of 105 bits with parts spread evenly over `[-0.7, 0.7]`.
fn values(count: usize) -> Result<Vec<Complex<BigFloat>>> {
    let spread = |i: usize, step: f64| 1.4 * (0.5 + i as f64 * step).fract() - 0.7;
    let number = |i: usize, step: f64, low: f64| -> Result<BigFloat> {
        let low = BigFloat::try_from(spread(i, low) * (-53f64).exp2())?;
        Ok(BigFloat::try_from(
            BigFloat::try_from(spread(i, step))?.into_inner() + low.into_inner(),
        )?)
    };
    let complex = |i: usize| -> Result<Complex<BigFloat>> {
        Ok(Complex {
            re: number(i, 0.754_877_666, 0.618_033_989)?,
            im: number(i, 0.569_840_291, 0.414_213_562)?,
        })
    };
    (0..count).map(complex).collect()
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let context =
        Arc::new(Context::new(Preset::by_name(PRESET)?.parameters()?, Threads::single())?);
    let (client, _) = Client::generate(&*plan(&context, PRECISIONS[0].0)?)?;
    let mut rows = Vec::new();
    for (wanted, bits) in PRECISIONS {
        rows.extend(precise(session, &client, wanted, bits)?);
    }
    Ok(rows)
}

fn precise(session: &mut Session, client: &Client, wanted: f64, bits: i32) -> Result<Vec<Row>> {
    let context = &client.context;
    let plan = plan(context, wanted)?;
    let z = values(plan.literal().slots)?;
    let low = context.parameters().grafted_modulus(f64::from(bits) + 2.0 + plan.capacity_needed());
    let plaintext = context.encode((&z[..]).into(), z.len(), Scale::power_of_two(bits), low)?;
    let a = context.encrypt(&client.secret, &plaintext)?.expand(context);
    let bootstrapper = client.bootstrapper(plan)?;
    let mut y = bootstrapper.bootstrap(&a)?;
    let mut works = NamedWorks::default();
    works.add("bootstrap", || {
        y = bootstrapper.bootstrap(&a)?;
        Ok(())
    });
    let time = session.time_named(context.parameters().log_degree(), works)?[0].1;
    let got = context.decode_big_complex(&context.decrypt(&client.secret, &y)?)?;
    let mut errors = Vec::with_capacity(2 * z.len());
    for (g, z) in got.into_iter().zip(&z) {
        for (g, z) in [(g.re, &z.re), (g.im, &z.im)] {
            errors
                .push(BigFloat::try_from(g.into_inner() - z.clone().into_inner())?.to_f64().abs());
        }
    }
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let worst = errors.into_iter().fold(0.0, f64::max);
    let name = |figure: &str| format!("to {wanted} bits: {figure}");
    let compare = |row: Row, figure: &str| {
        let peers = session.peers.all(GROUP, figure);
        match peers.into_iter().find(|peer| peer.peer == PEER) {
            Some(peer) => row.against_peer(peer),
            None => row,
        }
    };
    let left = context.parameters().log2(y.modulus());
    Ok(vec![
        compare(Row::new(name("bootstrap"), time, "s"), "bootstrap"),
        compare(
            Row::more_is_better(name("mean precision"), -mean.log2(), "bits"),
            "mean precision",
        ),
        compare(
            Row::more_is_better(name("worst precision"), -worst.log2(), "bits"),
            "worst precision",
        ),
        Row::more_is_better(
            name("estimated precision, standard deviation"),
            y.precision_bits(),
            "bits",
        ),
        compare(Row::more_is_better(name("log Q left"), left, "bits"), "log Q left"),
        Row::new(name("scale of the result"), y.scale().log2(), "bits"),
        Row::more_is_better(name("capacity left"), y.capacity_bits(context), "bits"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_more_bits_than_doubles_and_lie_in_the_unit_circle() {
        for z in values(100).unwrap() {
            assert!(z.re.to_f64().hypot(z.im.to_f64()) <= 1.0);
            assert!(z.re != BigFloat::try_from(z.re.to_f64()).unwrap() || z.re.is_zero());
        }
    }
}
