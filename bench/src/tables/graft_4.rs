//! `graft-4`: what grafting gains, as in Table 4 of GRAFT.

use hippocrene_ring::Kernel;
use hippocrene_rlwe::{SecretDistribution, Sprout};

use super::{
    Table,
    pairs::{PAIRS, Pair},
};
use crate::{
    Result,
    report::Row,
    scheme::{Scheme, Sizes, near},
    session::Session,
    side::{Side, compare},
};

/// The table.
pub const TABLE: Table = Table {
    name: "graft-4",
    about: "GRAFT Table 4: tensor, key switch and multiplication (in both ends at the modulus one scale below) at the top of the levels \
            for multiplications, grafted against simple, our code on both sides; the target is the paper's speed-up. With the kernel in use, and \
            with the portable one, to which all words cost alike as on the paper's machine. Then a rational rescale against plain ones, \
            and our words of 48 bits against the peers at equal usable modulus and scale",
    memory: "4 GB",
    time: "about 2 minutes",
    live: false,
    run,
};

const MULTIPLY: &str = "multiply + relinearise + rescale";
const OPERATIONS: [&str; 3] = ["tensor", "key switch", MULTIPLY];

/// How many times as long as a plain rescale a rational one may take.
const RATIONAL: f64 = 1.5;

impl Pair {
    fn rows(&self, session: &mut Session, kernel: Kernel) -> Result<Vec<Row>> {
        let simple = Scheme::of(self.parameters("sim")?, kernel, 0)?;
        let grafted = Scheme::of(self.parameters("gra")?, kernel, 0)?;
        let ((from, to), (grafted_from, grafted_to)) =
            (self.simple_ends(), self.grafted_ends(grafted.context.parameters()));
        let sides = [Side::new(simple, from, to)?, Side::new(grafted, grafted_from, grafted_to)?];
        let operations = [Side::tensor, Side::key_switch, Side::multiply, Side::rescale, Side::drop_unit];
        let [tensor, key_switch, multiply, rescale, drop_unit] =
            compare(session, self.log_n, sides, operations)?;
        let (simple, grafted) = (self.paper_name("sim"), self.paper_name("gra"));
        let how = if kernel == session.kernel { String::new() } else { format!(", kernel {kernel}") };
        let mut rows = Vec::new();
        for ((operation, [plain, ours]), speed_up) in
            OPERATIONS.into_iter().zip([tensor, key_switch, multiply]).zip(self.speed_ups)
        {
            let row = Row::new(format!("{grafted}: {operation}{how}"), ours, "ms")
                .against(&simple, plain)
                .paper(session.papers.find(&grafted, operation))
                .target(Some(speed_up));
            rows.push(row);
        }
        let row = Row::new(format!("{grafted}: rational rescale{how}"), rescale[1], "ms")
            .target(Some(1.0 / RATIONAL));
        rows.push(row.clone().against(format!("{simple}, rescale"), rescale[0]));
        rows.push(row.against(format!("{grafted}, a unit dropped"), drop_unit[1]));
        Ok(rows)
    }
}

/// Our words at the usable modulus and scale of a set of the peers.
struct Ours {
    name: &'static str,
    peers: &'static str,
    sizes: Sizes,
    bits: f64,
    scale_bits: f64,
}

/// The peers' sets at our words. Special primes and gadget rank are chosen for speed within 128-bit security; fresh ciphertexts have no limb
/// modulo a power of two.
fn ours() -> [Ours; 2] {
    let sizes = |log_n, units: &[(u32, usize)], specials: &[(u32, usize)], dnum| Sizes {
        log_n,
        units: units.to_vec(),
        specials: specials.to_vec(),
        sprout: Sprout::for_degree(log_n).unwrap_or_default(),
        dnum,
        secret: SecretDistribution::Ternary,
    };
    [
        Ours {
            name: "SHE14, 48-bit words",
            peers: "she14",
            sizes: sizes(14, &[(43, 6)], &[(48, 2)], 4),
            bits: 40.0 + 7.0 * 38.0,
            scale_bits: 38.0,
        },
        Ours {
            name: "SHE15, 48-bit words",
            peers: "she15",
            sizes: sizes(15, &[(46, 4), (45, 4)], &[(48, 5)], 2),
            bits: 43.0 + 9.0 * 41.0,
            scale_bits: 41.0,
        },
    ]
}

impl Ours {
    /// How many times faster than a peer the multiplication has to be, on a CPU with AVX-512 IFMA.
    fn target(kernel: Kernel, operation: &str, peer: &str) -> Option<f64> {
        match kernel {
            Kernel::Avx512Ifma if operation == MULTIPLY && peer.starts_with("Lattigo") => Some(8.0),
            Kernel::Avx512Ifma if operation == MULTIPLY && peer.starts_with("SEAL") => Some(3.2),
            _ => None,
        }
    }

    fn rows(&self, session: &mut Session) -> Result<Vec<Row>> {
        let scheme = Scheme::new(&self.sizes, session.kernel, 0)?;
        let parameters = scheme.context.parameters();
        let from = near(parameters, self.bits, 1.0);
        let to = parameters.grafted_modulus(parameters.log2(from) - self.scale_bits);
        let operations = [Side::tensor, Side::key_switch, Side::multiply, Side::rescale];
        let times = compare(session, self.sizes.log_n, [Side::new(scheme, from, to)?], operations)?;
        let mut rows = Vec::new();
        for (operation, [time]) in ["tensor", "relinearise", MULTIPLY, "rescale"].into_iter().zip(times) {
            let row = Row::new(format!("{}: {operation}", self.name), time, "ms");
            rows.extend(session.peers.all(self.peers, operation).into_iter().map(|figure| {
                let target = Self::target(session.kernel, operation, &figure.peer);
                row.clone().against_peer(figure).target(target)
            }));
        }
        Ok(rows)
    }
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut kernels = vec![session.kernel, Kernel::Portable];
    kernels.dedup();
    for kernel in kernels {
        for pair in PAIRS {
            rows.extend(pair.rows(session, kernel)?);
        }
    }
    for ours in ours() {
        rows.extend(ours.rows(session)?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_sets_are_as_large_as_the_peers_and_secure() {
        for ours in ours() {
            let p = ours.sizes.parameters().unwrap();
            let limit = hippocrene_rlwe::security::limit(p.log_degree(), p.secret()).unwrap();
            assert!(p.log2(p.full()) <= f64::from(limit.log2_pq), "{}", ours.name);
            let from = near(&p, ours.bits, 1.0);
            assert!((p.log2(from) - ours.bits).abs() < 1.0 && from.two() == 0, "{}", p.log2(from));
            let widest = p.digits(p.top()).map(|(_, digit)| p.log2(digit)).fold(0.0, f64::max);
            assert!(widest <= p.log2(p.specials()), "{}: {widest}", ours.name);
        }
    }

    #[test]
    fn targets_are_asked_where_the_goals_say() {
        let target = |operation, peer| Ours::target(Kernel::Avx512Ifma, operation, peer);
        assert_eq!(target(MULTIPLY, "Lattigo 6.2"), Some(8.0));
        assert_eq!(target(MULTIPLY, "SEAL 4.4 + HEXL"), Some(3.2));
        assert_eq!(target("tensor", "Lattigo 6.2"), None);
        assert_eq!(Ours::target(Kernel::Avx2, MULTIPLY, "Lattigo 6.2"), None);
    }
}
