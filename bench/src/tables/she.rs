//! The table `she`: the operations of somewhat homomorphic CKKS on simple chains, as in Table 4 of
//! GRAFT, and against the peers.

use hippocrene_ckks::encoder::Encoder;
use hippocrene_ring::{
    Domain, Kernel, Poly, ResidueRing, automorphism::galois_element_of_rotation,
};
use hippocrene_rlwe::{SecretDistribution, Sprout};
use num_complex::Complex64;

use super::Table;
use crate::{
    Result,
    report::Row,
    scheme::{Scheme, Sizes, megabytes},
    session::Session,
};

/// The table.
pub const TABLE: Table = Table {
    name: "she",
    about: "the simple half of GRAFT Table 4: CKKS operations at simSHE14, simSHE15 and \
            simSHE15s, with the paper's primes and with primes below 2^50, against peers at the \
            same sizes. Decryption ends in coefficients, so decoding does not need their \
            transform (--peers: against wheels and Lattigo, measured in the same run)",
    memory: "1 GB",
    time: "about 1 minute, with --peers about 3",
    live: &["openfhe", "tenseal", "lattigo-she"],
    plot: false,
    run,
};

/// The number of rotations that share one decomposition.
const HOISTED: usize = 8;
const ENCODE: &str = "encode";
const DECODE: &str = "decode";
const MULTIPLY: &str = "multiply + relinearise + rescale";
const ROTATE: &str = "rotate";
const ROTATE_HOISTED: &str = "rotate, hoisted, each of 8";

/// One parameter set of the table.
struct Shape {
    name: &'static str,
    sizes: Sizes,
    /// The number of primes that a rescale divides by.
    rescale: usize,
    /// log2 of the scale.
    log_scale: i32,
    /// The group of the peers' figures.
    peers: Option<&'static str>,
    /// The group of the paper's figures, if these are the paper's primes.
    paper: Option<&'static str>,
    /// The target for multiplication and rotation against Lattigo, as a factor on a CPU with
    /// AVX-512 IFMA.
    target: Option<f64>,
}

fn shapes() -> Vec<Shape> {
    let ternary = |log_n, units: &[(u32, usize)], specials| Sizes {
        log_n,
        units: units.to_vec(),
        specials: vec![specials],
        sprout: Sprout::default(),
        dnum: 4,
        secret: SecretDistribution::Ternary,
    };
    let (units14, units15) = ([(40, 1), (38, 7)], [(43, 1), (41, 9)]);
    vec![
        Shape {
            name: "simSHE14",
            sizes: ternary(14, &units14, (60, 2)),
            rescale: 1,
            log_scale: 38,
            peers: Some("she14"),
            paper: Some("simSHE14"),
            target: Some(2.2),
        },
        Shape {
            name: "simSHE14, primes < 2^50",
            sizes: ternary(14, &units14, (48, 2)),
            rescale: 1,
            log_scale: 38,
            peers: Some("she14"),
            paper: None,
            target: Some(7.0),
        },
        Shape {
            name: "simSHE15",
            sizes: ternary(15, &units15, (60, 3)),
            rescale: 1,
            log_scale: 41,
            peers: Some("she15"),
            paper: Some("simSHE15"),
            target: Some(2.2),
        },
        Shape {
            name: "simSHE15, primes < 2^50",
            sizes: ternary(15, &units15, (48, 3)),
            rescale: 1,
            log_scale: 41,
            peers: Some("she15"),
            paper: None,
            target: Some(7.0),
        },
        Shape {
            name: "simSHE15s",
            sizes: Sizes {
                log_n: 15,
                units: vec![(52, 1), (53, 1), (45, 10)],
                specials: vec![(60, 2)],
                sprout: Sprout::default(),
                dnum: 6,
                secret: SecretDistribution::SparseTernary { weight: 192 },
            },
            rescale: 2,
            log_scale: 90,
            peers: None,
            paper: Some("simSHE15s"),
            target: None,
        },
    ]
}

impl Shape {
    /// The target for an operation against a peer.
    fn target(&self, kernel: Kernel, operation: &str, peer: &str) -> Option<f64> {
        let lattigo = peer.starts_with("Lattigo") && [MULTIPLY, ROTATE].contains(&operation);
        let seal = peer.starts_with("SEAL") && [ENCODE, DECODE].contains(&operation);
        match kernel {
            Kernel::Avx512Ifma if seal && self.sizes.log_n == 15 => Some(1.3),
            Kernel::Avx512Ifma if lattigo => self.target,
            // Lattigo has no vector kernels, and the portable ones have to be nearly as fast.
            Kernel::Portable if lattigo => Some(1.0 / 1.3),
            _ => None,
        }
    }

    /// Returns a row for each peer that has a figure, or a single row.
    fn rows(&self, session: &Session, operation: &str, value: f64, unit: &'static str) -> Vec<Row> {
        let paper = self.paper.and_then(|group| {
            let stated = if operation == "relinearise" { "key switch" } else { operation };
            session.papers.find(group, stated)
        });
        let row = Row::new(format!("{}: {operation}", self.name), value, unit).paper(paper);
        let target = |peer: &str| self.target(session.kernel, operation, peer);
        let rows = self.peers.map_or(Vec::new(), |group| {
            session.compare_with_peers((group, operation), &row, |_| true, target)
        });
        if rows.is_empty() { vec![row] } else { rows }
    }

    fn measure(&self, session: &mut Session) -> Result<Vec<Row>> {
        let scheme = Scheme::new(&self.sizes, session.kernel, HOISTED as i64)?;
        let (context, keys) = (&scheme.context, &scheme.keys);
        let (top, lower) = (scheme.top(), scheme.below_top(self.rescale));
        let rings: Vec<&ResidueRing> = context.rings(top).collect();
        let encoder = Encoder::new(context.degree(), session.kernel)?;
        let (slots, scale) = (context.degree() / 2, 2f64.powi(self.log_scale));
        let values: Vec<Complex64> = (0..slots).map(|i| Complex64::cis(i as f64)).collect();
        let mut message = context.zero(top, Domain::Evaluation);
        encoder.encode_complex(&values, slots, scale, &rings, &mut message)?;
        let (mut encoded, mut decoded) = (message.clone(), values.clone());
        let mut decode = |plaintext: &Poly| {
            let bits = f64::from(self.log_scale) + 1.0;
            encoder.decode_complex(plaintext, &rings, scale, Some(bits), &mut decoded)
        };
        let [encode, decode_plain] = session.time(
            self.sizes.log_n,
            [
                &mut || Ok(encoder.encode_complex(&values, slots, scale, &rings, &mut encoded)?),
                &mut || Ok(decode(&message)?),
            ],
        )?;
        let (a, b) = (scheme.encrypt(&message, top)?, scheme.encrypt(&message, top)?);
        let mut tensor = scheme.empty();
        context.tensor_into(&mut tensor, &a, &b)?;
        let mut out = [(); 9].map(|()| scheme.empty());
        let [o0, o1, o2, o3, o4, o5, o6, o7, o8] = &mut out;
        let element = |k: usize| galois_element_of_rotation(context.degree(), k as i64);
        let log_n = self.sizes.log_n;
        let [encrypt, decrypt, decrypt_decode, product, rescale] = session.time(
            log_n,
            [
                &mut || scheme.encrypt(&message, top).map(drop),
                &mut || Ok(scheme.secret.decrypt(context, &a).map(drop)?),
                &mut || Ok(decode(&scheme.secret.decrypt(context, &a)?)?),
                &mut || Ok(context.tensor_into(o0, &a, &b)?),
                &mut || Ok(context.switch_ciphertext_into(o3, &a, lower)?),
            ],
        )?;
        // Operations with keys run alone, as those of the peers did. In turn, each would find its
        // key evicted from the cache.
        let [relinearise] =
            session.time(log_n, [&mut || Ok(context.relinearise_into(o1, &tensor, keys, top)?)])?;
        let [multiply] = session
            .time(log_n, [&mut || Ok(context.multiply_into(o2, &a, &b, 1, keys, lower)?)])?;
        let [in_one_pass, in_two] = session.time(
            log_n,
            [&mut || Ok(context.multiply_into(o7, &a, &b, 1, keys, lower)?), &mut || {
                context.tensor_into(o0, &a, &b)?;
                Ok(context.relinearise_into(o8, o0, keys, lower)?)
            }],
        )?;
        let [rotate] = session
            .time(log_n, [&mut || Ok(context.apply_galois_into(o4, &a, element(1), keys)?)])?;
        let [singles, hoisted] = session.time(
            log_n,
            [
                &mut || {
                    (1..=HOISTED).try_for_each(|k| {
                        Ok(context.apply_galois_into(o6, &a, element(k), keys)?)
                    })
                },
                &mut || {
                    let decomposed = context.hoist(&a)?;
                    for k in 1..=HOISTED {
                        context.apply_galois_hoisted_into(o5, &a, &decomposed, element(k), keys)?;
                    }
                    Ok(())
                },
            ],
        )?;
        let (singles, hoisted) = (singles / HOISTED as f64, hoisted / HOISTED as f64);
        let mut rows = Vec::new();
        for (operation, seconds) in [
            (ENCODE, encode),
            (DECODE, decode_plain),
            ("encrypt", encrypt),
            ("decrypt", decrypt),
            ("decrypt + decode", decrypt_decode),
            ("tensor", product),
            ("relinearise", relinearise),
            (MULTIPLY, multiply),
            ("rescale", rescale),
            (ROTATE, rotate),
            (ROTATE_HOISTED, hoisted),
        ] {
            rows.extend(self.rows(session, operation, 1e3 * seconds, "ms"));
        }
        rows.push(
            Row::new(format!("{}: {ROTATE_HOISTED}", self.name), 1e3 * hoisted, "ms")
                .against("ours, the same one by one", 1e3 * singles)
                .target((session.kernel == Kernel::Avx512Ifma).then_some(1.8)),
        );
        rows.push(
            Row::new(format!("{}: {MULTIPLY}", self.name), 1e3 * in_one_pass, "ms")
                .against("ours, the tensor product first", 1e3 * in_two),
        );
        let key = keys.relinearisation("measure")?.bytes() as f64 / 1e6;
        rows.extend(self.rows(session, "relinearisation key", key, "MB"));
        rows.extend(self.rows(session, "fresh ciphertext", megabytes(&a), "MB"));
        Ok(rows)
    }
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = session.live.missing();
    for shape in shapes() {
        rows.extend(shape.measure(session)?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_match_the_paper() {
        let log_pq = |shape: &Shape| {
            let parameters = shape.sizes.parameters().unwrap();
            parameters.log2(parameters.full())
        };
        for (shape, bits) in
            shapes().iter().filter(|s| s.paper.is_some()).zip([427.0, 592.0, 675.0])
        {
            assert!((log_pq(shape) - bits).abs() < 1.5, "{}: {}", shape.name, log_pq(shape));
        }
        for shape in shapes().iter().filter(|s| s.paper.is_none()) {
            let parameters = shape.sizes.parameters().unwrap();
            assert!(parameters.limb_moduli(parameters.full()).iter().all(|q| *q < 1 << 50));
            let widest =
                parameters.digits(parameters.top()).map(|(_, digit)| parameters.log2(digit));
            assert!(widest.fold(0.0, f64::max) < parameters.log2(parameters.specials()));
        }
    }

    #[test]
    fn targets_exist_where_goals_do() {
        let shape = &shapes()[1];
        assert_eq!(shape.target(Kernel::Avx512Ifma, MULTIPLY, "Lattigo 6.2"), Some(7.0));
        assert_eq!(shape.target(Kernel::Avx512Ifma, MULTIPLY, "SEAL 4.4 + HEXL"), None);
        assert_eq!(shape.target(Kernel::Avx512Ifma, "encrypt", "Lattigo 6.2"), None);
        assert_eq!(shape.target(Kernel::Avx512Ifma, ENCODE, "SEAL 4.4 + HEXL"), None);
        assert_eq!(shapes()[3].target(Kernel::Avx512Ifma, ENCODE, "SEAL 4.4 + HEXL"), Some(1.3));
        assert_eq!(shape.target(Kernel::Portable, ROTATE, "Lattigo 6.2"), Some(1.0 / 1.3));
        assert_eq!(shape.target(Kernel::Avx2, ROTATE, "Lattigo 6.2"), None);
    }
}
