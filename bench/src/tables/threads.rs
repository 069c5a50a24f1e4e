//! The table `threads`: times of users' operations on a growing number of threads.

use super::Table;
use crate::{Result, machine::Cores, report::Row, session::Session};
use std::time::{Duration, Instant};

use hippocrene::{
    Bootstrapping, ClientKey, EncryptedArray, Error, EvaluationKeys, KeyRequest, LookUps, Preset,
    Server, Stored,
};

/// The table.
pub const TABLE: Table = Table {
    name: "threads",
    about: "clients and servers of n14 and n15 on 2, 8, 32 and so on threads, up to the number \
            of cores, against one thread, in turn. Each thread is pinned to its own core. \
            Products of one ciphertext share out its limbs, and those of large arrays share out \
            ciphertexts. Also bootstraps, look-ups, keys, and independent transforms, whose gain \
            is the maximum that the cores allow",
    memory: "10 GB",
    time: "1 minute, and half a minute more for each number of threads",
    live: &[],
    plot: false,
    run,
};

/// The number of ciphertexts of a large array.
const LARGE_ARRAY_CIPHERTEXTS: usize = 32;
/// The number of these that are bootstrapped.
const BOOTSTRAPPED_CIPHERTEXTS: usize = 4;
/// The number of values that are looked up.
const VALUES: usize = 16;
/// The number of rows and columns of a matrix.
const SIZE: usize = 64;
/// Work that takes longer than this is timed once.
const TIMED_ONCE_FROM: Duration = Duration::from_millis(200);
/// The number of polynomials that are transformed.
const POLYNOMIALS: usize = 96;
/// The number of transforms of each in a row.
const TRANSFORMS: usize = 10;

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let Some(cores) = session.cores.clone().filter(|cores| cores.count() > 1) else {
        return Ok(vec![Row::missing("there is one core only")]);
    };
    let fewer = std::iter::successors(Some(2), |n| Some(4 * n)).take_while(|n| *n < cores.count());
    let counts: Vec<usize> = fewer.chain([cores.count()]).collect();
    let mut rows = Vec::new();
    for preset in ["n14", "n15"] {
        let work = Work::new(Preset::by_name(preset)?)?;
        for count in &counts {
            let [one, several] = [1, *count].map(|threads| work.on(threads, &cores));
            rows.extend(work.rows(session, &one?, &several?)?);
        }
    }
    Ok(rows)
}

/// A client and a server with this number of threads.
struct Side {
    threads: usize,
    client: ClientKey,
    server: Server,
}

/// The operands, whatever the number of threads.
struct Work {
    preset: Preset,
    client: ClientKey,
    keys: EvaluationKeys,
    values: Vec<f64>,
    many: EncryptedArray,
    written: Vec<u8>,
}

/// One named operation.
type Piece<'a> = (String, Box<dyn Fn(&Side) -> std::result::Result<(), Error> + 'a>);

impl Work {
    fn new(preset: Preset) -> Result<Self> {
        let client = ClientKey::generate(preset.settings()?)?;
        let mut request = KeyRequest::default();
        if has_bootstraps(preset) {
            request.bootstrapping = Some(Bootstrapping::default());
            request.look_ups = Some(LookUps::by_name("lut12")?);
        }
        let (keys, slots) = (client.evaluation_keys(&request)?, client.session().slots());
        let values: Vec<f64> =
            (0..LARGE_ARRAY_CIPHERTEXTS * slots).map(|i| (i as f64).sin()).collect();
        let many = client.public_key()?.encrypt(&values, &[LARGE_ARRAY_CIPHERTEXTS, slots])?;
        let written = many.to_bytes();
        Ok(Work { preset, client, keys, values, many, written })
    }

    fn on(&self, threads: usize, cores: &Cores) -> Result<Side> {
        let client = ClientKey::from_bytes(&self.client.to_bytes(), threads)?;
        let server = Server::with_threads(&self.keys, threads)?;
        for session in [client.session(), server.session()] {
            cores.spread(session.context().rlwe().threads())?;
        }
        Ok(Side { threads, client, server })
    }

    fn rows(&self, session: &mut Session, one: &Side, several: &Side) -> Result<Vec<Row>> {
        let (slots, public) = (self.client.session().slots(), self.client.public_key()?);
        let encrypted =
            |count: usize, shape: &[usize]| public.encrypt(&self.values[..count], shape);
        let (single, row) = (encrypted(slots, &[slots])?, encrypted(SIZE, &[SIZE])?);
        let some = encrypted(BOOTSTRAPPED_CIPHERTEXTS * slots, &[BOOTSTRAPPED_CIPHERTEXTS, slots])?;
        let looked_up = encrypted(VALUES, &[VALUES])?;
        let (many, shape) = (&self.many, [LARGE_ARRAY_CIPHERTEXTS, slots]);
        let mut pieces: Vec<Piece> = vec![
            (
                "a product of a ciphertext".into(),
                Box::new(|on| on.server.square(&single).map(drop)),
            ),
            (
                format!("products of {LARGE_ARRAY_CIPHERTEXTS} ciphertexts"),
                Box::new(|on| on.server.square(many).map(drop)),
            ),
            (
                format!("a matrix of {SIZE} by {SIZE}"),
                Box::new(|on| {
                    on.server.rmatmul_plain(&self.values[..SIZE * SIZE], SIZE, &row).map(drop)
                }),
            ),
            (
                format!("encrypt {LARGE_ARRAY_CIPHERTEXTS} ciphertexts"),
                Box::new(|on| on.client.encrypt(&self.values, &shape).map(drop)),
            ),
            (
                format!("decrypt {LARGE_ARRAY_CIPHERTEXTS} ciphertexts"),
                Box::new(|on| on.client.decrypt(many).map(drop)),
            ),
            (
                format!("read {LARGE_ARRAY_CIPHERTEXTS} ciphertexts"),
                Box::new(|on| {
                    EncryptedArray::from_bytes(&self.written, on.server.session()).map(drop)
                }),
            ),
            (
                "evaluation keys".into(),
                Box::new(|on| on.client.evaluation_keys(&KeyRequest::default()).map(drop)),
            ),
        ];
        if has_bootstraps(self.preset) {
            pieces.push((
                "a bootstrap".into(),
                Box::new(|on| on.server.bootstrap(&single).map(drop)),
            ));
            pieces.push((
                format!("bootstraps of {BOOTSTRAPPED_CIPHERTEXTS} ciphertexts"),
                Box::new(|on| on.server.bootstrap(&some).map(drop)),
            ));
            let look_up = |on: &Side| {
                on.server.apply(&looked_up, f64::exp, Some((-1.0, 1.0)), None).map(drop)
            };
            pieces.push((format!("look-ups of {VALUES} values"), Box::new(look_up)));
        }
        pieces.push(("independent transforms".into(), Box::new(transforms)));
        let named =
            |name: &str| format!("{}, {} threads: {name}", self.preset.name, several.threads);
        let mut rows = Vec::new();
        for (name, piece) in pieces {
            let log_n = self.preset.log_degree;
            // Running twice fills the caches.
            [one, several, one, several].into_iter().try_for_each(&piece)?;
            let start = Instant::now();
            piece(one)?;
            let [one, several] = match start.elapsed() < TIMED_ONCE_FROM {
                true => {
                    session.time(log_n, [&mut || Ok(piece(one)?), &mut || Ok(piece(several)?)])?
                }
                false => {
                    let mut slowly = |side| session.time_slow(log_n, 1, &mut || Ok(piece(side)?));
                    [slowly(one)?, slowly(several)?]
                }
            };
            rows.push(Row::new(named(&name), 1e3 * several, "ms").against("one thread", 1e3 * one));
        }
        Ok(rows)
    }
}

fn has_bootstraps(preset: Preset) -> bool {
    preset.log_degree > 14
}

/// Transforms polynomials that no other thread uses.
fn transforms(on: &Side) -> std::result::Result<(), Error> {
    let rlwe = on.server.session().context().rlwe();
    let ring = rlwe.rings(rlwe.parameters().top()).next();
    let ring = ring.ok_or_else(|| Error::Internal("a modulus has a limb".into()))?;
    rlwe.threads().for_each(POLYNOMIALS, |i| {
        let mut limb = vec![i as u64; rlwe.degree()];
        (0..TRANSFORMS).for_each(|_| ring.forward(&mut limb));
    });
    Ok(())
}
