//! The table `tuple`: costs and precision of products of tuples, against plain products.

use std::sync::Arc;

use hippocrene::Preset;
use hippocrene_ckks::{BigFloat, Ciphertext, Context, Evaluator, Scale, Tuple, Values};
use hippocrene_ring::{Kernel, Threads};
use hippocrene_rlwe::{self as rlwe, EvaluationKeys, Modulus, Parameters, SecretKey};

use super::Table;
use crate::{
    Result,
    report::Row,
    session::{NamedWorks, Session},
};

/// The table.
pub const TABLE: Table = Table {
    name: "tuple",
    about: "tuple-CKKS (GRAFT D): pairs and triples against plain products at the same scale. \
            Shown: the capacity that a product uses, in bits; the number of squarings that fit \
            the preset; the precision in the worst slot after one product and after four, for \
            values of absolute value 1; and the time of a product of fresh operands. Then plain \
            products in the next larger ring, which has more modulus and twice the slots, and the \
            sizes of relinearisation keys as stored",
    memory: "3 GB",
    time: "about 2 minutes",
    live: &[],
    plot: false,
    run,
};

const PRESET: &str = "n15";
/// The preset of the next larger ring.
const LARGER: &str = "n16";
const SCALES: [i32; 2] = [57, 90];
const LENGTHS: [usize; 2] = [2, 3];
/// The number of squarings after which the precision is measured again, and the bits that tuples
/// hold in reserve for them.
const DEEP_SQUARINGS: usize = 4;
const RESERVE_BITS: f64 = 2.0;

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let bench = of_preset(session, PRESET)?;
    let mut rows = vec![key(PRESET, &bench)];
    for bits in SCALES {
        rows.extend(bench.rows(session, bits)?);
    }
    let larger = of_preset(session, LARGER)?;
    rows.push(key(LARGER, &larger));
    for bits in SCALES {
        rows.extend(larger.plain_rows(session, bits)?);
    }
    Ok(rows)
}

fn of_preset(session: &Session, name: &str) -> Result<Bench> {
    let preset = Preset::by_name(name)?;
    let parameters = preset.parameters()?;
    let fresh = preset.fresh(&parameters);
    Bench::new(parameters, session.kernel, fresh)
}

/// Returns the row of the relinearisation key.
fn key(preset: &str, bench: &Bench) -> Row {
    let bytes = bench.context.parameters().switching_key_size().seeded;
    Row::new(format!("{preset}: relinearisation key"), bytes as f64 / 1e6, "MB")
}

/// A plain ciphertext or a tuple.
pub(super) enum Operand {
    /// A plain ciphertext.
    Plain(Ciphertext),
    /// A tuple.
    Tuple(Tuple),
}

/// A client with a relinearisation key, whose ciphertexts have the modulus `fresh`.
pub(super) struct Bench {
    pub(super) context: Arc<Context>,
    secret: SecretKey,
    pub(super) evaluator: Evaluator,
    pub(super) fresh: Modulus,
}

/// The figures of one kind of operand.
struct Figures {
    name: String,
    takes: f64,
    squarings: usize,
    precision: f64,
    precision_deep: f64,
}

impl Bench {
    pub(super) fn new(parameters: Parameters, kernel: Kernel, fresh: Modulus) -> Result<Self> {
        let rlwe = rlwe::Context::with_kernel(parameters, Threads::single(), kernel)?;
        let context = Arc::new(Context::of(Arc::new(rlwe))?);
        let rlwe = context.rlwe();
        let secret = SecretKey::generate(rlwe)?;
        let mut keys = EvaluationKeys::empty(rlwe, secret.fingerprint());
        keys.add_relinearisation(rlwe, &secret)?;
        let evaluator = Evaluator::new(Arc::clone(&context), Arc::new(keys.into_prepared(rlwe)?));
        Ok(Bench { context, secret, evaluator, fresh })
    }

    pub(super) fn encrypt(&self, x: &[f64], scale: Scale) -> Result<Ciphertext> {
        let big: Vec<BigFloat> =
            x.iter().map(|x| Ok(BigFloat::try_from(*x)?)).collect::<Result<_>>()?;
        let plaintext = self.context.encode(Values::Big(&big), x.len(), scale, self.fresh)?;
        Ok(self.context.encrypt(&self.secret, &plaintext)?.expand(&self.context))
    }

    /// Encrypts a tuple with this divisor. It has the modulus and the precision of a ciphertext.
    pub(super) fn tuple(
        &self,
        x: &[f64],
        scale: Scale,
        length: usize,
        divisor: u64,
    ) -> Result<Tuple> {
        let mut scales = vec![scale];
        while scales.len() < length {
            scales.insert(0, scales[0].divided_by(divisor));
        }
        let partial = scales.into_iter().map(|s| self.encrypt(x, s)).collect::<Result<Vec<_>>>()?;
        Ok(self.evaluator.tuple(&partial, divisor)?)
    }

    /// Returns values 1 and -1 for all slots. Their squares are 1.
    pub(super) fn values(&self) -> Vec<f64> {
        let sign = |i: usize| if i * i % 7 < 3 { 1.0 } else { -1.0 };
        (0..self.context.max_slots()).map(sign).collect()
    }

    fn square(&self, a: &Operand, scale: Scale) -> Result<Operand> {
        let e = &self.evaluator;
        Ok(match a {
            Operand::Plain(a) => Operand::Plain(e.square_rescale(a, scale)?),
            Operand::Tuple(a) => Operand::Tuple(e.tuple_mul(a, a, scale)?),
        })
    }

    fn capacity(&self, a: &Operand) -> f64 {
        match a {
            Operand::Plain(a) => a.capacity_bits(&self.context),
            Operand::Tuple(a) => a.capacity_bits(&self.context),
        }
    }

    /// Returns `-log2` of the largest error in a slot. All slots should hold 1, so it is the
    /// largest value after subtracting 1.
    pub(super) fn precision(&self, a: &Operand) -> Result<f64> {
        let whole = match a {
            Operand::Plain(a) => a.clone(),
            Operand::Tuple(a) => self.evaluator.rcb(a)?,
        };
        let ones = vec![BigFloat::from(-1); whole.slots()];
        let ones = self.context.encode(
            Values::Big(&ones),
            whole.slots(),
            whole.scale(),
            whole.modulus(),
        )?;
        let error =
            self.context.decrypt(&self.secret, &self.evaluator.add_plain(&whole, &ones)?)?;
        Ok(-self.context.decode_real(&error)?.iter().fold(0.0f64, |max, x| max.max(x.abs())).log2())
    }

    fn figures(&self, name: String, fresh: Operand, scale: Scale) -> Result<Figures> {
        let mut figures =
            Figures { name, takes: 0.0, squarings: 0, precision: 0.0, precision_deep: 0.0 };
        let mut at = fresh;
        // The last squaring fails for lack of capacity.
        while let Ok(next) = self.square(&at, scale) {
            figures.squarings += 1;
            match figures.squarings {
                1 => {
                    figures.takes = self.capacity(&at) - self.capacity(&next);
                    figures.precision = self.precision(&next)?;
                }
                DEEP_SQUARINGS => figures.precision_deep = self.precision(&next)?,
                _ => {}
            }
            at = next;
        }
        Ok(figures)
    }

    /// Returns the rows of plain products with [`LARGER`].
    fn plain_rows(&self, session: &mut Session, bits: i32) -> Result<Vec<Row>> {
        let scale = Scale::power_of_two(bits);
        let [plain, other] = [(); 2].map(|()| self.encrypt(&self.values(), scale));
        let (plain, other) = (plain?, other?);
        let mut out = Ciphertext::empty(&self.context);
        let e = &self.evaluator;
        let log_degree = self.context.parameters().log_degree();
        let [time] = session
            .time(log_degree, [&mut || Ok(e.mul_rescale_into(&mut out, &plain, &other, scale)?)])?;
        let name = format!("{LARGER}, 2^{bits}, plain");
        let figures = self.figures(name, Operand::Plain(plain), scale)?;
        let named = |what: &str| format!("{}: {what}", figures.name);
        Ok(vec![
            Row::more_is_better(named("squarings"), figures.squarings as f64, ""),
            Row::more_is_better(named("precision of a product"), figures.precision, "bits"),
            Row::new(named("a product"), 1e3 * time, "ms"),
        ])
    }

    fn rows(&self, session: &mut Session, bits: i32) -> Result<Vec<Row>> {
        let scale = Scale::power_of_two(bits);
        let (context, e) = (&self.context, &self.evaluator);
        let x = self.values();
        let plain = self.encrypt(&x, scale)?;
        let tuples = LENGTHS.map(|length| {
            let divisor = e.tuple_divisor(scale, length, RESERVE_BITS)?;
            self.tuple(&x, scale, length, divisor)
        });
        let tuples = tuples.into_iter().collect::<Result<Vec<_>>>()?;

        let other = self.encrypt(&x, scale)?;
        let mut out = Ciphertext::empty(context);
        let mut works = NamedWorks::default();
        works.add("plain", || Ok(e.mul_rescale_into(&mut out, &plain, &other, scale)?));
        for tuple in &tuples {
            let other = tuple.clone();
            works.add("tuple", move || Ok(e.tuple_mul(tuple, &other, scale).map(drop)?));
        }
        let times = session.time_named(context.parameters().log_degree(), works)?;

        let plain = self.figures(
            format!("{PRESET}, 2^{bits}, plain"),
            Operand::Plain(plain.clone()),
            scale,
        )?;
        let mut rows = Vec::new();
        for (tuple, (_, time)) in tuples.into_iter().zip(&times[1..]) {
            let (length, divisor) = (tuple.length(), tuple.divisor().ilog2());
            let name = format!("{PRESET}, 2^{bits}, tuple of {length} by 2^{divisor}");
            let figures = self.figures(name, Operand::Tuple(tuple), scale)?;
            let named = |what: &str| format!("{}: {what}", figures.name);
            let taken = Row::new(named("capacity that a product uses"), figures.takes, "bits");
            rows.push(taken.against(&plain.name, plain.takes));
            let squarings = Row::more_is_better(named("squarings"), figures.squarings as f64, "");
            rows.push(squarings.against(&plain.name, plain.squarings as f64));
            let precision =
                Row::more_is_better(named("precision of a product"), figures.precision, "bits");
            rows.push(precision.against(&plain.name, plain.precision));
            if plain.squarings >= DEEP_SQUARINGS && figures.squarings >= DEEP_SQUARINGS {
                let what = format!("precision after {DEEP_SQUARINGS}");
                let precision = Row::more_is_better(named(&what), figures.precision_deep, "bits");
                rows.push(precision.against(&plain.name, plain.precision_deep));
            }
            let time = Row::new(named("a product"), 1e3 * time, "ms");
            rows.push(time.against(&plain.name, 1e3 * times[0].1));
        }
        Ok(rows)
    }
}
