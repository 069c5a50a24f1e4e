//! The table `graft-4`: the gain by grafting, as in Table 4 of GRAFT.

use hippocrene_ring::Kernel;
use hippocrene_rlwe::Parameters;

use super::{
    Table,
    pairs::{Ends, PAIRS, Pair},
};
use crate::{
    Result,
    report::Row,
    scheme::{Scheme, near},
    session::Session,
    side::{Side, compare},
};

/// The table.
pub const TABLE: Table = Table {
    name: "graft-4",
    about: "GRAFT Table 4: tensor, key switch and multiplication at the top of the levels for \
            multiplications. A multiplication ends at the modulus one scale below. Our code runs \
            all sets: simple chains, grafted ones with the paper's words, and grafted ones with \
            words of 48 bits within 128-bit security. The target is the paper's speed-up. The \
            counted limbs and transforms are shown too, since grafting gains nothing else if all \
            limbs cost the same. Key switches use the planned gadget, which has larger digits \
            for simple chains below their top, or the digits of the set as in the paper. A \
            rational rescale is compared with plain ones. The paper's words also run with the \
            portable kernel, for which all words cost the same, as on the paper's machine. Our \
            words are also compared with the peers (--peers: Lattigo in the same run)",
    memory: "4 GB",
    time: "about 2 minutes",
    live: &["lattigo-she"],
    plot: false,
    run,
};

const MULTIPLY: &str = "multiply + relinearise + rescale";
/// The timed operations, and the paper's names for them.
const OPERATIONS: [(&str, &str); 4] = [
    ("tensor", "tensor"),
    ("key switch", "key switch"),
    ("key switch, digits of the set", "key switch"),
    (MULTIPLY, MULTIPLY),
];

/// The target for the time of a rational rescale, in units of a plain rescale.
const RATIONAL_RESCALE_TARGET: f64 = 1.5;

impl Pair {
    /// The usable bits at which the paper times: those of the simple chain, or of the grafted set
    /// after a bootstrap, which has 3 bits less or 11 more.
    fn usable_bits(&self) -> Result<f64> {
        let simple = self.parameters("sim")?;
        let bits = simple.log2(self.simple_ends().0);
        Ok(self.grafted_bits.map_or(bits, |grafted| bits.min(grafted)))
    }

    /// The moduli at which our set is timed: those with the same usable bits and no limb modulo a
    /// power of two.
    fn our_ends(&self, ours: &Parameters) -> Result<Ends> {
        let from = near(ours, self.usable_bits()?, 1.5);
        Ok((from, ours.grafted_modulus(ours.log2(from) - self.scale_bits)))
    }

    /// Returns the rows of a set against the simple chain. `paper` is the paper's name of the set.
    fn rows(
        &self,
        session: &mut Session,
        kernel: Kernel,
        (name, paper): (&str, &str),
        set: Parameters,
        ends: Ends,
    ) -> Result<Vec<Row>> {
        let side = |parameters: Parameters, (from, to): Ends| {
            Side::new(Scheme::of(parameters, kernel, 0)?, from, to)
        };
        let sides = [side(self.parameters("sim")?, self.simple_ends())?, side(set, ends)?];
        let limbs = [sides[0].limbs() as f64, sides[1].limbs() as f64];
        let [simple_transforms, transforms] = [sides[0].transforms()?, sides[1].transforms()?];
        let operations = [
            Side::tensor,
            Side::key_switch,
            Side::key_switch_with_base_gadget,
            Side::multiply,
            Side::rescale,
            Side::drop_unit,
        ];
        let [tensor, key_switch, base, multiply, rescale, drop_unit] =
            compare(session, self.log_n, sides, operations)?;
        let [of_tensor, of_key_switch, of_multiply] = self.speed_ups;
        let simple = self.paper_name("sim");
        let how =
            if kernel == session.kernel { String::new() } else { format!(", kernel {kernel}") };
        let mut rows = Vec::new();
        for (((operation, of_paper), [plain, time]), speed_up) in OPERATIONS
            .into_iter()
            .zip([tensor, key_switch, base, multiply])
            .zip([of_tensor, of_key_switch, of_key_switch, of_multiply])
        {
            rows.push(
                Row::new(format!("{name}: {operation}{how}"), time, "ms")
                    .against(&simple, plain)
                    .paper(session.papers.find(paper, of_paper))
                    .target(Some(speed_up)),
            );
        }
        let mut counted = |what: &str, [theirs, ours]: [f64; 2]| {
            rows.push(
                Row::new(format!("{name}: {what}, counted{how}"), ours, "")
                    .against(&simple, theirs),
            );
        };
        counted("limbs of the tensor", limbs);
        for (i, how) in ["", ", digits of the set"].into_iter().enumerate() {
            let counts = [simple_transforms[i], transforms[i]].map(|count| count as f64);
            counted(&format!("transforms of the key switch{how}"), counts);
        }
        let row = Row::new(format!("{name}: rational rescale{how}"), rescale[1], "ms")
            .target(Some(1.0 / RATIONAL_RESCALE_TARGET));
        rows.push(row.clone().against(format!("{simple}, rescale"), rescale[0]));
        rows.push(row.against("the same, a unit dropped", drop_unit[1]));
        Ok(rows)
    }

    /// Returns the rows of our words against peers that were timed at these sizes. Ours run alone,
    /// as the peers did.
    fn against_peers(&self, session: &mut Session) -> Result<Vec<Row>> {
        let group = self.name.to_lowercase();
        if session.peers.all(&group, MULTIPLY).is_empty() {
            return Ok(Vec::new());
        }
        let ours = self.ours()?;
        let (from, to) = self.our_ends(&ours)?;
        let side = Side::new(Scheme::of(ours, session.kernel, 0)?, from, to)?;
        let operations = [Side::tensor, Side::key_switch, Side::multiply, Side::rescale];
        let times = compare(session, self.log_n, [side], operations)?;
        let mut rows = Vec::new();
        for (operation, [time]) in PEERS.into_iter().zip(times) {
            let row = Row::new(format!("{}: {operation}", self.our_name()), time, "ms");
            let target = |peer: &str| peer_target(session.kernel, operation, peer);
            rows.extend(session.compare_with_peers((&group, operation), &row, |_| true, target));
        }
        Ok(rows)
    }
}

/// The peers' names of the operations.
const PEERS: [&str; 4] = ["tensor", "relinearise", MULTIPLY, "rescale"];

/// The target for a multiplication against a peer, on a CPU with AVX-512 IFMA.
fn peer_target(kernel: Kernel, operation: &str, peer: &str) -> Option<f64> {
    match kernel {
        Kernel::Avx512Ifma if operation == MULTIPLY && peer.starts_with("Lattigo") => Some(8.0),
        Kernel::Avx512Ifma if operation == MULTIPLY && peer.starts_with("SEAL") => Some(3.2),
        _ => None,
    }
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = session.live.missing();
    let mut kernels = vec![session.kernel, Kernel::Portable];
    kernels.dedup();
    for kernel in kernels {
        for pair in PAIRS {
            let (grafted, name) = (pair.parameters("gra")?, pair.paper_name("gra"));
            let ends = pair.grafted_ends(&grafted);
            rows.extend(pair.rows(session, kernel, (&name, &name), grafted, ends)?);
        }
    }
    for pair in PAIRS {
        let (ours, kernel) = (pair.ours()?, session.kernel);
        let ends = pair.our_ends(&ours)?;
        rows.extend(pair.rows(session, kernel, (&pair.our_name(), ""), ours, ends)?);
    }
    for pair in PAIRS {
        rows.extend(pair.against_peers(session)?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_sets_are_as_large_as_the_papers_and_secure() {
        for pair in PAIRS {
            let ours = pair.ours().unwrap();
            assert!(ours.security().is_some());
            let (from, to) = pair.our_ends(&ours).unwrap();
            let wanted = pair.usable_bits().unwrap();
            assert!((ours.log2(from) - wanted).abs() <= 1.5 && from.two() == 0, "{}", pair.name);
            assert!(
                (ours.log2(from) - ours.log2(to) - pair.scale_bits).abs() < 0.6,
                "{}",
                pair.name
            );
        }
    }

    #[test]
    fn targets_exist_where_goals_do() {
        let target = |operation, peer| peer_target(Kernel::Avx512Ifma, operation, peer);
        assert_eq!(target(MULTIPLY, "Lattigo 6.2"), Some(8.0));
        assert_eq!(target(MULTIPLY, "SEAL 4.4 + HEXL"), Some(3.2));
        assert_eq!(target("tensor", "Lattigo 6.2"), None);
        assert_eq!(peer_target(Kernel::Avx2, MULTIPLY, "Lattigo 6.2"), None);
    }
}
