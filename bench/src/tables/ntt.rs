//! The table `ntt`: our transforms against those of `tfhe-ntt` for the same primes, in the same
//! run.

use aligned_vec::{AVec, avec};
use hippocrene_ring::{Kernel, ntt::NttPlan, primes};
use tfhe_ntt::prime64::Plan;

use super::Table;
use crate::{Result, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "ntt",
    about: "negacyclic transforms against tfhe-ntt 0.7.1 for the same primes in the same run, \
            with input and output in [0, q). Our inverse includes the factor 1/N, theirs does \
            not. Shown: hot transforms, transforms over 24 primes in turn, and kernel against \
            kernel",
    memory: "200 MB",
    time: "about 1 minute",
    live: &[],
    plot: false,
    run,
};

/// The number of primes that are transformed in turn. Their data and twiddles exceed a second-level
/// cache.
const IN_TURN: usize = 24;
const PEER: &str = "tfhe-ntt 0.7.1";

/// One prime: our plan, theirs, and a limb for each.
struct Limb {
    ours: NttPlan,
    theirs: Plan,
    our_data: AVec<u64>,
    their_data: AVec<u64>,
}

fn limbs(bits: u32, degree: usize, count: usize, kernel: Kernel) -> Result<Vec<Limb>> {
    primes::ntt_primes(bits, degree, count, &[])?
        .into_iter()
        .map(|q| {
            let mut our_data = avec![0; degree];
            our_data
                .iter_mut()
                .zip(1u64..)
                .for_each(|(x, i)| *x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % q);
            Ok(Limb {
                ours: NttPlan::new(q, degree, kernel)?,
                theirs: Plan::try_new(degree, q)
                    .ok_or_else(|| format!("{PEER} has no plan for {q}"))?,
                their_data: our_data.clone(),
                our_data,
            })
        })
        .collect()
}

/// Returns the microseconds per transform over `limbs` in turn: ours forward and inverse, and
/// theirs forward and inverse.
fn time(session: &mut Session, log_n: u32, limbs: &mut [Limb]) -> Result<[f64; 4]> {
    let cell = std::cell::RefCell::new(limbs);
    let each = |step: fn(&mut Limb)| {
        let cell = &cell;
        move || {
            cell.borrow_mut().iter_mut().for_each(step);
            Ok(())
        }
    };
    let seconds = session.time(
        log_n,
        [
            &mut each(|l| l.ours.forward(&mut l.our_data)),
            &mut each(|l| l.ours.inverse(&mut l.our_data)),
            &mut each(|l| l.theirs.fwd(&mut l.their_data)),
            &mut each(|l| l.theirs.inv(&mut l.their_data)),
        ],
    )?;
    let count = cell.borrow().len() as f64;
    Ok(seconds.map(|s| 1e6 * s / count))
}

/// The target for a hot transform on a CPU with AVX-512 IFMA.
fn hot_target(kernel: Kernel, bits: u32, log_n: u32) -> Option<f64> {
    match bits {
        _ if kernel != Kernel::Avx512Ifma || log_n < 14 => None,
        48 => Some(1.5),
        61 => Some(1.3),
        _ => None,
    }
}

/// Returns the modulus at which HEXL was timed that is comparable with ours.
fn hexl_modulus(bits: u32) -> &'static str {
    if bits <= 50 { "49 bits" } else { "60 bits" }
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for bits in [48, 50, 61] {
        for log_n in 12..=16 {
            let mut limbs = limbs(bits, 1 << log_n, IN_TURN, session.kernel)?;
            let hot = time(session, log_n, &mut limbs[..1])?;
            let cold = time(session, log_n, &mut limbs)?;
            for (i, direction) in ["forward", "inverse"].into_iter().enumerate() {
                let name = format!("{bits} bits, N = 2^{log_n}, {direction}");
                let turn = format!("{name}, {IN_TURN} primes in turn");
                rows.push(
                    Row::new(&name, hot[i], "us").against(PEER, hot[i + 2]).target(hot_target(
                        session.kernel,
                        bits,
                        log_n,
                    )),
                );
                rows.push(Row::new(&turn, cold[i], "us").against(PEER, cold[i + 2]));
                if direction == "forward" {
                    let group = format!("ntt N = 2^{log_n}");
                    for (row, time, which) in
                        [(&name, hot[i], ""), (&turn, cold[i], ", 24 primes in turn")]
                    {
                        let theirs =
                            session.peers.all(&group, &format!("{}{which}", hexl_modulus(bits)));
                        rows.extend(
                            theirs
                                .into_iter()
                                .map(|hexl| Row::new(row, time, "us").against_peer(hexl)),
                        );
                    }
                }
                if log_n == 16 {
                    let wanted = bits == 48 && session.kernel == Kernel::Avx512Ifma;
                    rows.push(
                        Row::new(&turn, cold[i], "us")
                            .against("ours, hot", hot[i])
                            .target(wanted.then_some(1.0 / 1.25)),
                    );
                }
            }
        }
    }
    rows.extend(kernels(session)?);
    Ok(rows)
}

/// Compares every kernel up to the one in use with the portable one, at N = 2^14.
fn kernels(session: &mut Session) -> Result<Vec<Row>> {
    const LOG_N: u32 = 14;
    let mut rows = Vec::new();
    let in_use = session.kernel;
    for bits in [48, 50, 61] {
        let portable = time(session, LOG_N, &mut limbs(bits, 1 << LOG_N, 1, Kernel::Portable)?)?;
        for kernel in Kernel::supported().filter(|k| (Kernel::Avx2..=in_use).contains(k)) {
            let ours = time(session, LOG_N, &mut limbs(bits, 1 << LOG_N, 1, kernel)?)?;
            let target = (kernel == Kernel::Avx2 && bits <= 50).then_some(2.5);
            for (i, direction) in ["forward", "inverse"].into_iter().enumerate() {
                rows.push(
                    Row::new(
                        format!("{bits} bits, N = 2^{LOG_N}, {direction}, kernel {kernel}"),
                        ours[i],
                        "us",
                    )
                    .against("kernel portable", portable[i])
                    .target(target),
                );
            }
        }
    }
    Ok(rows)
}
