//! The table `pegasus-8`: k-means on encrypted points, as in PEGASUS Table VIII.

use std::{sync::Arc, time::Duration, time::Instant};

use hippocrene::{ClientKey, KMeansMethod, Preset, Server};
use hippocrene_ckks::{Ciphertext, Context, Evaluator, Scale};
use hippocrene_fhew::Preset as TableSet;
use hippocrene_pegasus::{
    IterationTimes, KMeans, KMeansPlan, KMeansState, PegasusKeys, PegasusLiteral, PegasusSecrets,
    Shape,
};
use hippocrene_ring::Threads;
use hippocrene_rlwe::{EvaluationKeys, SecretKey};

use super::Table;
use crate::{Result, machine, report::Row, session::Session};

/// The table.
pub const TABLE: Table = Table {
    name: "pegasus-8",
    about: "PEGASUS Table VIII: one update of k-means on encrypted points of dimension 16, \
            uniform in a cube, by its five sectors. It runs on one thread at 128 bits of \
            security (preset n15 with uniform ternary secrets, lut12 with binary ones). The \
            paper's times are for 20 threads of an Intel Xeon Platinum 8269CY at N = 2^16 and \
            119 bits. Also shown: the share of points assigned to the closest centroid. 256 \
            points in 2 and 4 clusters are computed in full. All other shapes are planned and \
            encrypted in full, but only one ciphertext of points is computed, with 16 look-ups, \
            and the new centroids. Their rows say that they are extrapolated. Rows in slots are \
            computed in full by comparisons with bootstraps. Their time is that of the second \
            update, since the first one plans and encodes too",
    memory: "6 GB",
    time: "10 minutes",
    live: &[],
    plot: false,
    run,
};

const PRESET: &str = "n15";
const DIMENSION: usize = 16;
const PAPER: &str = "pegasus-8";
/// Points and clusters of shapes that are computed only in part.
const EXTRAPOLATED: [(usize, usize); 7] =
    [(256, 8), (1024, 2), (1024, 4), (1024, 8), (4096, 2), (4096, 4), (4096, 8)];
/// Points and clusters of shapes that are computed in slots.
const IN_SLOTS: [(usize, usize); 4] = [(256, 2), (256, 4), (1024, 2), (4096, 8)];
/// The number of these points that are looked up.
const SAMPLE: usize = 16;

/// A client and its server.
struct Setup {
    context: Arc<Context>,
    secret: SecretKey,
    k_means: KMeans,
    megabytes: f64,
}

impl Setup {
    fn new(context: &Arc<Context>, literal: PegasusLiteral, shape: Shape) -> Result<Self> {
        let (context, rlwe) = (Arc::clone(context), context.rlwe());
        let plan = Arc::new(KMeansPlan::new(Arc::clone(&context), shape, literal)?);
        let secret = SecretKey::generate(rlwe)?;
        let secrets = PegasusSecrets::generate(plan.pegasus())?;
        let mut keys = EvaluationKeys::empty(rlwe, secret.fingerprint());
        plan.add_keys(&mut keys, &secret)?;
        let stored = PegasusKeys::generate(plan.pegasus(), &secret, &secrets)?;
        let switching = keys
            .galois()
            .values()
            .map(|key| context.parameters().switching_key_size_at(key.modulus()).seeded);
        let own = context.parameters().switching_key_size().seeded;
        let megabytes = (switching.sum::<usize>() + own + stored.bytes(&context)) as f64 / 1e6;
        let evaluator = Evaluator::new(Arc::clone(&context), Arc::new(keys.into_prepared(rlwe)?));
        Ok(Setup { k_means: KMeans::new(plan, evaluator, &stored)?, context, secret, megabytes })
    }

    fn encrypt(&self, slots: &[f64], bits: f64) -> Result<Ciphertext> {
        let modulus = self.context.parameters().grafted_modulus(bits);
        let scale =
            Scale::from_f64(self.k_means.plan().slot_scale_bits().exp2()).ok_or("a scale")?;
        let plaintext = self.context.encode(slots.into(), slots.len(), scale, modulus)?;
        let mut a = self.context.encrypt(&self.secret, &plaintext)?.expand(&self.context);
        a.set_bound(1.0);
        Ok(a)
    }

    fn points(&self, values: &[f64]) -> Result<Vec<Ciphertext>> {
        let plan = self.k_means.plan();
        let slots = plan.shape().points_in_slots(values, plan.points_per_ciphertext())?;
        slots.iter().map(|slots| self.encrypt(slots, plan.point_bits())).collect()
    }

    fn start(&self, centroids: &[f64]) -> Result<KMeansState> {
        let plan = self.k_means.plan();
        let slots = plan.shape().centroids_in_slots(centroids)?;
        let centroids = self.encrypt(&slots, plan.centroid_bits())?;
        Ok(KMeansState { iteration: 0, centroids, assigned: Vec::new() })
    }

    fn decrypt(&self, a: &Ciphertext) -> Result<Vec<f64>> {
        Ok(self.context.decode_real(&self.context.decrypt(&self.secret, a)?)?)
    }

    fn labels(&self, state: &KMeansState) -> Result<Vec<usize>> {
        let plan = self.k_means.plan();
        let slots =
            state.assigned.iter().map(|bits| self.decrypt(bits)).collect::<Result<Vec<_>>>()?;
        Ok(plan.shape().labels_of_slots(&slots, plan.points_per_ciphertext()))
    }

    fn centroids(&self, state: &KMeansState) -> Result<Vec<f64>> {
        Ok(self.k_means.plan().shape().centroids_of_slots(&self.decrypt(&state.centroids)?))
    }
}

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let context =
        Arc::new(Context::new(Preset::by_name(PRESET)?.parameters()?, Threads::single())?);
    let lut12 = literal("lut12")?;
    let mut rows = Vec::new();
    rows.extend(full(session, &context, &lut12, "lut12", 2, 2)?);
    rows.extend(full(session, &context, &literal("lut13")?, "lut13", 2, 1)?);
    rows.extend(full(session, &context, &lut12, "lut12", 4, 1)?);
    for (n, k) in EXTRAPOLATED {
        rows.extend(extrapolated(session, &context, &lut12, n, k)?);
    }
    for (n, k) in IN_SLOTS {
        rows.extend(in_slots(session, n, k)?);
    }
    let peak = machine::peak_memory().map_or(f64::NAN, |bytes| bytes as f64 / 1e9);
    rows.push(Row::new("peak memory", peak, "GB"));
    Ok(rows)
}

fn literal(tables: &str) -> Result<PegasusLiteral> {
    Ok(KMeansPlan::literal(&TableSet::by_name(tables)?)?)
}

/// Measures 256 points in full, and the share of them assigned to the closest centroid.
fn full(
    session: &Session,
    context: &Arc<Context>,
    literal: &PegasusLiteral,
    tables: &str,
    k: usize,
    updates: usize,
) -> Result<Vec<Row>> {
    let shape = Shape::new(256, DIMENSION, k)?;
    let setup = Setup::new(context, literal.clone(), shape)?;
    let values = points(256);
    let encrypted = setup.points(&values)?;
    let mut plain = values[..k * DIMENSION].to_vec();
    let mut state = setup.start(&plain)?;
    let mut rows = Vec::new();
    for update in 1..=updates {
        let (next, sectors) = setup.k_means.iterate(&encrypted, &state)?;
        state = next;
        let name = format!("{tables}: 256 points, K = {k}");
        if update == 1 {
            rows.extend(sector_rows(session, &name, 256, k, &sectors, tables == "lut12"));
        }
        let near = nearest(&values, &plain);
        let closest = setup.labels(&state)?.iter().zip(&near).filter(|(a, b)| a == b).count();
        let operation = format!("{tables}, 256 points, K = {k}: closest assignments");
        let ratio = 100.0 * closest as f64 / 256.0;
        rows.push(
            Row::more_is_better(
                format!("{name}: closest assignments, update {update}"),
                ratio,
                "%",
            )
            .paper(session.papers.find(PAPER, &operation)),
        );
        plain = setup.centroids(&state)?;
    }
    rows.push(Row::new(format!("{tables}, K = {k}: all keys, as stored"), setup.megabytes, "MB"));
    Ok(rows)
}

/// Measures one ciphertext of points, with look-ups of only some points, and new centroids. The
/// update takes the same time as if all points were assigned.
fn extrapolated(
    session: &Session,
    context: &Arc<Context>,
    literal: &PegasusLiteral,
    n: usize,
    k: usize,
) -> Result<Vec<Row>> {
    let shape = Shape::new(n, DIMENSION, k)?;
    let setup = Setup::new(context, literal.clone(), shape)?;
    let (pegasus, together) =
        (setup.k_means.pegasus(), setup.k_means.plan().points_per_ciphertext());
    let values = points(n);
    let encrypted = setup.points(&values)?;
    let state = setup.start(&values[..k * DIMENSION])?;
    let (bits, sample) = setup.k_means.nearest(&encrypted[0], SAMPLE, &state)?;
    let (_, update) = setup.k_means.update(&encrypted, vec![bits; encrypted.len()], &state)?;
    // All distances of one ciphertext.
    let start = Instant::now();
    let numbers = pegasus.to_coefficients(&encrypted[0])?;
    let slots: Vec<usize> = (0..together)
        .flat_map(|i| (0..k).map(move |j| i * shape.width() + j * shape.stride()))
        .collect();
    pegasus.extract(&numbers, &slots)?;
    let extraction = start.elapsed();
    let times = |time: Duration, factor: usize| time * factor as u32;
    let mut all = IterationTimes {
        distance: times(sample.distance, encrypted.len()),
        extraction: times(extraction, encrypted.len()),
        look_ups: times(sample.look_ups, n / SAMPLE),
        repacking: times(sample.repacking, encrypted.len()),
        update: Duration::ZERO,
    };
    all += update;
    Ok(sector_rows(session, &format!("lut12: {n} points, K = {k}, extrapolated"), n, k, &all, true))
}

/// Measures an update in slots, and the share of points assigned to the closest centroid in the
/// first one.
fn in_slots(session: &Session, n: usize, k: usize) -> Result<Vec<Row>> {
    let method = KMeansMethod::Slots(Shape::new(n, DIMENSION, k)?);
    let client = ClientKey::generate_with(Preset::by_name(PRESET)?.settings()?, 1)?;
    let request = method.key_request(client.session())?;
    let server = Server::new(client.evaluation_keys(&request)?)?;
    let values = points(n);
    let start = &values[..k * DIMENSION];
    let sent = client.encrypt_points(method, &values, start)?;
    let (first, _) = server.cluster(&sent, &sent)?;
    let labels = client.decrypt_clusters(&first)?.1.ok_or("no labels")?;
    let closest = labels.iter().zip(nearest(&values, start)).filter(|(a, b)| **a == *b).count();
    let (_, sectors) = server.cluster(&sent, &first)?;
    let name = format!("in slots: {n} points, K = {k}");
    let operation = format!("{n} points, K = {k}: one update");
    Ok(vec![
        Row::new(format!("{name}: one update"), sectors.total().as_secs_f64(), "s")
            .paper(session.papers.find(PAPER, &operation)),
        Row::more_is_better(
            format!("{name}: closest assignments"),
            100.0 * closest as f64 / n as f64,
            "%",
        ),
    ])
}

fn sector_rows(
    session: &Session,
    name: &str,
    n: usize,
    k: usize,
    sectors: &IterationTimes,
    compare: bool,
) -> Vec<Row> {
    let figures = [
        ("distance", sectors.distance),
        ("extraction", sectors.extraction),
        ("min-index and reciprocals", sectors.look_ups),
        ("repacking", sectors.repacking),
        ("centroids", sectors.update),
        ("one update", sectors.total()),
    ];
    let row = |(sector, time): (&str, Duration)| {
        let row = Row::new(format!("{name}: {sector}"), time.as_secs_f64(), "s");
        let operation = format!("{n} points, K = {k}: {sector}");
        if compare { row.paper(session.papers.find(PAPER, &operation)) } else { row }
    };
    figures.into_iter().map(row).collect()
}

/// Returns points of `[-1, 1]^16` without a pattern, divided by the largest of their norms.
fn points(count: usize) -> Vec<f64> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut uniform = || {
        // xorshift64*
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_F491_4F6C_DD1D) as f64 / 2f64.powi(63) - 1.0
    };
    let values: Vec<f64> = (0..count * DIMENSION).map(|_| uniform()).collect();
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let largest = values.chunks_exact(DIMENSION).map(norm).fold(0.0, f64::max);
    values.into_iter().map(|x| x / largest).collect()
}

/// Returns the closest centroid of every point.
fn nearest(points: &[f64], centroids: &[f64]) -> Vec<usize> {
    let distance =
        |x: &[f64], c: &[f64]| x.iter().zip(c).map(|(x, c)| (x - c).powi(2)).sum::<f64>();
    let of = |x: &[f64]| {
        let distances: Vec<f64> =
            centroids.chunks_exact(DIMENSION).map(|c| distance(x, c)).collect();
        (0..distances.len())
            .fold(0, |best, j| if distances[j] < distances[best] { j } else { best })
    };
    points.chunks_exact(DIMENSION).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shapes_have_complete_plans() {
        let parameters = Preset::by_name(PRESET).unwrap().parameters().unwrap();
        let context = Arc::new(Context::new(parameters, Threads::single()).unwrap());
        let shapes = [("lut13", 256, 2), ("lut12", 256, 4)]
            .into_iter()
            .chain(EXTRAPOLATED.map(|(n, k)| ("lut12", n, k)));
        let literals = ["lut12", "lut13"].map(|tables| (tables, literal(tables).unwrap()));
        for (tables, n, k) in shapes {
            let literal = literals.iter().find(|(name, _)| *name == tables).unwrap().1.clone();
            let plan = KMeansPlan::new(
                Arc::clone(&context),
                Shape::new(n, DIMENSION, k).unwrap(),
                literal,
            );
            assert!(plan.is_ok(), "{tables}, {n} points, K = {k}: {}", plan.unwrap_err());
        }
    }
}
