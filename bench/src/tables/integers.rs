//! The table `integers`: exact arithmetic modulo `t` with BGV and BFV, against the peers.

use std::sync::Arc;

use hippocrene::Preset;
use hippocrene_bgv::{Ciphertext, Context, Evaluator, Matrix, Polynomial, Scheme};
use hippocrene_ring::{Threads, automorphism::galois_element_of_conjugation};
use hippocrene_rlwe::{
    self as rlwe, EvaluationKeys, Modulus, Parameters, PublicKey, SecretDistribution, SecretKey,
    Sprout,
};

use super::Table;
use crate::{
    Result,
    report::Row,
    scheme::{Sizes, megabytes},
    session::Session,
};

/// The table.
pub const TABLE: Table = Table {
    name: "integers",
    about: "BGV and BFV modulo t = 65537 at log PQ up to the limit of 128 bits. Simple chains of \
            48-bit primes have the log Q of Lattigo's and OpenFHE's sets, or that of SEAL's, \
            which has one special prime. Then our presets. All are compared with the peers' \
            scaled times (--peers: with the openfhe wheel and Lattigo in the same run)",
    memory: "1 GB",
    time: "about 2 minutes, with --peers about 3",
    live: &["openfhe-integers", "lattigo-integers"],
    plot: false,
    run,
};

const T: u64 = 65537;
/// The number of slots of a sum, and of rows and columns of the matrix.
const SUMMED: usize = 16;
/// The number of products in a sum of products.
const PRODUCTS: usize = 8;
const MULTIPLY_BGV: &str = "BGV multiply + relinearise + switch";
const MULTIPLY_BFV: &str = "BFV multiply + relinearise";
const ROTATE_BGV: &str = "BGV rotate";
const ROTATE_BFV: &str = "BFV rotate";

/// The peer with one special prime, and those with more.
const SEAL: &[&str] = &["SEAL 4.4 + HEXL"];
const OTHERS: &[&str] = &["Lattigo 6.2", "OpenFHE 1.5.1 + HEXL"];

/// One parameter set.
struct Shape {
    name: &'static str,
    log_n: u32,
    parameters: Parameters,
    /// The group of the peers' figures and the peers with this log Q, or `None` if there are no
    /// figures.
    peers: Option<(&'static str, &'static [&'static str])>,
}

fn shapes() -> Result<Vec<Shape>> {
    let sizes = |log_n, units: usize, special: u32, specials: usize, dnum| Sizes {
        log_n,
        units: vec![(48, units)],
        specials: vec![(special, specials)],
        sprout: Sprout::default(),
        dnum,
        secret: SecretDistribution::Ternary,
    };
    let simple = |name, sizes: Sizes, peers| {
        Ok(Shape { name, log_n: sizes.log_n, parameters: sizes.parameters()?, peers })
    };
    let preset = |name, log_n, peers| {
        let parameters = Preset::by_name(name)?.settings()?.parameters().clone();
        Ok(Shape { name, log_n, parameters, peers })
    };
    let (peers14, peers15) = ("integers N = 2^14", "integers N = 2^15");
    vec![
        simple("N = 2^13, Q 144, P 48", sizes(13, 3, 48, 1, 3), None),
        simple("N = 2^14, Q 336, P 94", sizes(14, 7, 47, 2, 4), Some((peers14, OTHERS))),
        preset("n14", 14, Some((peers14, OTHERS))),
        simple("N = 2^14, Q 384, P 46", sizes(14, 8, 46, 1, 8), Some((peers14, SEAL))),
        simple("N = 2^15, Q 672, P 192", sizes(15, 14, 48, 4, 4), Some((peers15, OTHERS))),
        preset("n15", 15, Some((peers15, OTHERS))),
        simple("N = 2^15, Q 816, P 48", sizes(15, 17, 48, 1, 17), Some((peers15, SEAL))),
    ]
    .into_iter()
    .collect()
}

impl Shape {
    fn rows(&self, session: &Session, operation: &str, seconds: f64) -> Vec<Row> {
        let row = Row::new(format!("{}: {operation}", self.name), 1e3 * seconds, "ms");
        let Some((group, peers)) = self.peers else { return vec![row] };
        let live = |peer: &str| peer.ends_with(", live") && peers == OTHERS;
        // The wheel has no HEXL.
        let target = |peer: &str| target(operation).filter(|_| !peer.contains("wheel"));
        let rows = session.compare_with_peers(
            (group, operation),
            &row,
            |peer| peers.contains(&peer) || live(peer),
            target,
        );
        if rows.is_empty() { vec![row] } else { rows }
    }

    fn measure(&self, session: &mut Session) -> Result<Vec<Row>> {
        let log_n = self.log_n;
        let rlwe = Arc::new(rlwe::Context::with_kernel(
            self.parameters.clone(),
            Threads::single(),
            session.kernel,
        )?);
        let context = Arc::new(Context::new(Arc::clone(&rlwe), T)?);
        let row = |i: i64| (0..SUMMED as i64).map(|j| i * j - 50).collect();
        let matrix = Matrix::new(&context, &(0..SUMMED as i64).map(row).collect::<Vec<_>>())?;
        let polynomial = Polynomial::new(T, &[7, -3, 5, 2])?;
        let secret = SecretKey::generate(&rlwe)?;
        let public = PublicKey::generate(&rlwe, &secret)?;
        let mut keys = EvaluationKeys::empty(&rlwe, secret.fingerprint());
        keys.add_relinearisation(&rlwe, &secret)?;
        keys.add_rotations(&rlwe, &secret, [1, 2, 4, 8].into_iter().chain(matrix.rotations()))?;
        keys.add_galois(&rlwe, &secret, galois_element_of_conjugation(rlwe.degree()))?;
        let keys = Arc::new(keys.prepare(&rlwe)?);
        let evaluator = Evaluator::new(Arc::clone(&context), keys);
        // The default keys of a client, from which other rotations are composed.
        let mut powers = EvaluationKeys::empty(&rlwe, secret.fingerprint());
        powers.add_rotations(&rlwe, &secret, [1, 2, 4, 8])?;
        let powers = Evaluator::new(Arc::clone(&context), Arc::new(powers.prepare(&rlwe)?));
        let steps: Vec<i64> = (1..SUMMED as i64).collect();
        let values: Vec<i64> = (0..1i64 << log_n).map(|i| i * i % 65521).collect();
        let plaintext = context.encoder().encode(&values)?;
        let (a, b) = (
            context.encrypt_public(&public, &plaintext)?,
            context.encrypt_public(&public, &plaintext)?,
        );
        let mut out = [(); 4].map(|()| Ciphertext::empty(&context));
        let [o0, o1, o2, o3] = &mut out;
        let lower = context.fresh().without(Modulus::of_factor(0));
        let [encode, encrypt, decrypt, add, sub, negate, add_plain, mul_plain, mul_integer, switch] =
            session.time(
                log_n,
                [
                    &mut || Ok(context.encoder().encode(&values).map(drop)?),
                    &mut || Ok(context.encrypt_public(&public, &plaintext).map(drop)?),
                    &mut || {
                        let plaintext = context.decrypt(&secret, &a)?;
                        Ok(context.encoder().decode(&plaintext).map(drop)?)
                    },
                    &mut || Ok(evaluator.add(&a, &b).map(drop)?),
                    &mut || Ok(evaluator.sub(&a, &b).map(drop)?),
                    &mut || Ok(evaluator.negate(&a).map(drop)?),
                    &mut || Ok(evaluator.add_plain(&a, &plaintext).map(drop)?),
                    &mut || Ok(evaluator.mul_plain(&a, &plaintext).map(drop)?),
                    &mut || Ok(evaluator.mul_integer(&a, 3).map(drop)?),
                    &mut || Ok(evaluator.switch_modulus(&a, lower).map(drop)?),
                ],
            )?;
        // Operations with keys run alone, as those of the peers did.
        let [bgv] = session.time(log_n, [&mut || Ok(evaluator.mul_bgv_into(o0, &a, &b)?)])?;
        let [bgv_square] =
            session.time(log_n, [&mut || Ok(evaluator.mul_bgv_into(o0, &a, &a)?)])?;
        let [bfv] = session.time(log_n, [&mut || Ok(evaluator.mul_bfv_into(o3, &a, &b)?)])?;
        let [bfv_square] =
            session.time(log_n, [&mut || Ok(evaluator.mul_bfv_into(o3, &a, &a)?)])?;
        let [rotate] = session.time(log_n, [&mut || Ok(evaluator.rotate_rows_into(o1, &a, 1)?)])?;
        let [one_by_one, together] = session.time(
            log_n,
            [
                &mut || {
                    Ok(steps
                        .iter()
                        .try_for_each(|steps| powers.rotate_rows_into(o1, &a, *steps))?)
                },
                &mut || Ok(powers.rotate_many(&a, &steps).map(drop)?),
            ],
        )?;
        let [exchange] =
            session.time(log_n, [&mut || Ok(evaluator.exchange_rows_into(o2, &a)?)])?;
        let [inner_sum] =
            session.time(log_n, [&mut || Ok(evaluator.inner_sum(&a, 1, SUMMED).map(drop)?)])?;
        let [matrix_product] =
            session.time(log_n, [&mut || Ok(evaluator.matrix_product(&matrix, &a).map(drop)?)])?;
        let pairs = [(&a, &b); PRODUCTS];
        let mut circuits = Vec::new();
        for scheme in [Scheme::Bgv, Scheme::Bfv] {
            let evaluator = evaluator.clone().with_scheme(scheme);
            let [products] =
                session.time(log_n, [&mut || Ok(evaluator.sum_of_products(&pairs).map(drop)?)])?;
            let [power] = session.time(log_n, [&mut || Ok(evaluator.power(&a, 4).map(drop)?)])?;
            let [of_polynomial] = session
                .time(log_n, [&mut || Ok(evaluator.polynomial(&a, &polynomial).map(drop)?)])?;
            let name = scheme.name().to_uppercase();
            circuits.push((format!("{name} sum of {PRODUCTS} products"), products));
            circuits.push((format!("{name} power 4"), power));
            circuits.push((format!("{name} polynomial of degree 3"), of_polynomial));
        }
        let mut rows = Vec::new();
        for (operation, seconds) in [
            ("encode", encode),
            ("encrypt", encrypt),
            ("decrypt + decode", decrypt),
            ("add", add),
            ("subtract", sub),
            ("negate", negate),
            ("add a plaintext", add_plain),
            ("multiply by a plaintext", mul_plain),
            ("multiply by an integer", mul_integer),
            ("switch the modulus", switch),
            (MULTIPLY_BGV, bgv),
            ("BGV square + relinearise + switch", bgv_square),
            (MULTIPLY_BFV, bfv),
            ("BFV square + relinearise", bfv_square),
            (ROTATE_BGV, rotate),
            (ROTATE_BFV, rotate),
            ("rotations by 1 to 15, keys of powers of two, one by one", one_by_one),
            ("rotations by 1 to 15, keys of powers of two, together", together),
            ("exchange rows", exchange),
            ("sum of 16 slots", inner_sum),
            ("matrix product, 16 x 16", matrix_product),
        ] {
            rows.extend(self.rows(session, operation, seconds));
        }
        for (operation, seconds) in circuits {
            rows.extend(self.rows(session, &operation, seconds));
        }
        let name = format!("{}: fresh ciphertext", self.name);
        rows.push(Row::new(name, megabytes(a.inner()), "MB"));
        Ok(rows)
    }
}

/// The target for an operation, as a factor against the peer.
fn target(operation: &str) -> Option<f64> {
    match operation {
        MULTIPLY_BGV => Some(5.0),
        MULTIPLY_BFV => Some(3.0),
        ROTATE_BGV | ROTATE_BFV => Some(4.0),
        _ => None,
    }
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = session.live.missing();
    for shape in shapes()? {
        rows.extend(shape.measure(session)?);
    }
    Ok(rows)
}
