//! The table `linear`: a matrix times an encrypted vector, with the divisions of its rotations
//! combined or one by one.

use std::{cell::RefCell, collections::BTreeMap, sync::Arc};

use hippocrene::{
    ClientKey, EncryptedArray, Encryption, KeyRequest, Preset, Server, Session as Library,
    Simulation,
};
use hippocrene_ckks::{Ciphertext, Evaluator, Plaintext, Scale, Values, circuits::LinearTransform};
use hippocrene_rlwe::{EvaluationKeys, SecretKey};

use super::Table;
use crate::{
    Result,
    report::Row,
    session::{NamedWorks, Session},
};

/// The table.
pub const TABLE: Table = Table {
    name: "linear",
    about: "matrices times encrypted vectors by diagonals, and related products. Double hoisting \
            (ePrint 2020/1203) is compared with single hoisting (ePrint 2018/244) and with \
            single rotations. Diagonals are encoded limb by limb as they are used, or first; and \
            once for several ciphertexts, or for each. A server's product with a matrix in its \
            cache is compared with the first product, and with the default rotation keys. \
            Products of two encrypted matrices (rotated tiles) and of a matrix with itself \
            (diagonals) are compared with a sum over a common broadcast array. Sums of selected \
            elements times plain numbers are compared with the same after moving the elements. \
            Last, plain matrices times rows of whole ciphertexts",
    memory: "5 GB",
    time: "about 2 minutes",
    live: &[],
    plot: false,
    run,
};

/// Presets, and the numbers of diagonals of the matrices.
const CASES: [(&str, usize); 4] = [("n14", 16), ("n14", 64), ("n15", 16), ("n15", 64)];

fn run(session: &mut Session) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (preset, diagonals) in CASES {
        rows.extend(matrix(session, Preset::by_name(preset)?, diagonals)?);
    }
    for preset in ["n14", "n15"] {
        rows.extend(servers(session, Preset::by_name(preset)?)?);
    }
    rows.extend(encrypted(session, Preset::by_name("n14")?)?);
    Ok(rows)
}

/// The number of ciphertexts in a group of several.
const GROUP_CIPHERTEXTS: usize = 8;

/// The number of rows and columns of a server's matrix.
const SIZE: usize = 64;

/// Measures a server's matrix with and without the cache, and with keys from which rotations are
/// composed.
fn servers(session: &mut Session, preset: Preset) -> Result<[Row; 2]> {
    let x: Vec<f64> = (0..SIZE).map(|i| (i as f64).cos()).collect();
    let matrix: Vec<f64> = (0..SIZE * SIZE).map(|i| (i as f64).sin()).collect();
    let product = |server: &Server, x: &EncryptedArray| -> Result<()> {
        Ok(server.rmatmul_plain(&matrix, SIZE, x).map(drop)?)
    };
    let simulation = Simulation::new(preset.settings()?)?;
    let simulated = simulation.encrypt(Values::Real(&x), &[SIZE], &Encryption::default())?;
    product(simulation.server(), &simulated)?;
    let client = ClientKey::generate(preset.settings()?)?;
    let keys = client.evaluation_keys(&KeyRequest::for_simulation(&simulation.report()))?;
    let (keeping, forgetful) = (Server::with_threads(&keys, 1)?, Server::with_threads(&keys, 1)?);
    forgetful.set_cache_memory(0);
    let composing = Server::new(client.evaluation_keys(&KeyRequest::default())?)?;
    // An array under the public key has no seed that each use would expand.
    let x = client.public_key()?.encrypt(&x, &[SIZE])?;
    let works = [&keeping, &forgetful, &composing].map(|server| || product(server, &x));
    let [mut again, mut first, mut composed] = works;
    let [again, first, composed] =
        session.time(preset.log_degree, [&mut again, &mut first, &mut composed])?;
    let row = |what: &str, seconds: f64| {
        Row::new(
            format!("{}: a matrix of {SIZE} by {SIZE}, {what}", preset.name),
            1e3 * seconds,
            "ms",
        )
    };
    Ok([
        row("again", again).against("the first time", 1e3 * first),
        row("keys of powers of two", composed).against("keys of its rotations", 1e3 * again),
    ])
}

/// A function of two encrypted matrices.
type Product = fn(&Server, [&EncryptedArray; 2]) -> Result<EncryptedArray>;

/// Computes the product as a sum over a common array that both are broadcast to.
fn repeated(server: &Server, [a, b]: [&EncryptedArray; 2]) -> Result<EncryptedArray> {
    let (a, b) = (server.insert_axis(a, 1)?, server.insert_axis(&server.transpose(b)?, 0)?);
    Ok(server.sum(&server.mul(&a, &b)?, Some(2))?)
}

/// The number of rows and columns of a kernel.
const KERNEL: usize = 3;

/// Returns the places of the elements of all windows of an image with `SIZE` rows and columns.
fn windows() -> Vec<usize> {
    let along = || 0..=SIZE - KERNEL;
    let corners = along().flat_map(|i| along().map(move |j| i * SIZE + j));
    let offsets = || (0..KERNEL).flat_map(|k| (0..KERNEL).map(move |l| k * SIZE + l));
    corners.flat_map(|corner| offsets().map(move |offset| corner + offset)).collect()
}

/// The kernel's weight for the element of a window.
fn weight(element: usize) -> f64 {
    ((element % (KERNEL * KERNEL)) as f64).cos()
}

/// Computes a convolution directly from the image.
fn convolved(server: &Server, [a, _]: [&EncryptedArray; 2]) -> Result<EncryptedArray> {
    let (side, places) = (SIZE - KERNEL + 1, windows());
    let entries = places.iter().enumerate().map(|(i, place)| (*place, weight(i)));
    Ok(server.linear_combinations(a, &[side, side], KERNEL * KERNEL, entries)?)
}

/// Computes the same convolution from an array of the windows.
fn convolved_windows(server: &Server, [a, _]: [&EncryptedArray; 2]) -> Result<EncryptedArray> {
    let (side, places) = (SIZE - KERNEL + 1, windows());
    let windows = server.gather(&[a], &[side, side, KERNEL * KERNEL], &places)?;
    let weights: Vec<f64> = (0..places.len()).map(weight).collect();
    Ok(server.sum(&server.mul_plain(&windows, Values::Real(&weights))?, Some(2))?)
}

/// Returns the places of the elements of a third of the rows, and the number of these rows.
fn selection([rows, columns]: [usize; 2]) -> (Vec<usize>, usize) {
    let picked: Vec<usize> = (0..rows).filter(|row| row * row % 7 == 2).collect();
    (
        picked.iter().flat_map(|row| (0..columns).map(move |j| row * columns + j)).collect(),
        picked.len(),
    )
}

/// Sums the columns of some rows, directly from the array.
fn selected(server: &Server, [a, _]: [&EncryptedArray; 2]) -> Result<EncryptedArray> {
    let columns = a.shape()[1];
    let (places, rows) = selection([a.shape()[0], columns]);
    let by_columns = (0..columns).flat_map(|j| (0..rows).map(move |i| i * columns + j));
    let entries = by_columns.map(|i| (places[i], 1.0));
    Ok(server.linear_combinations(a, &[columns], rows, entries)?)
}

/// Computes the same sums from an array of these rows.
fn selected_rows(server: &Server, [a, _]: [&EncryptedArray; 2]) -> Result<EncryptedArray> {
    let columns = a.shape()[1];
    let (places, rows) = selection([a.shape()[0], columns]);
    Ok(server.sum(&server.gather(&[a], &[rows, columns], &places)?, Some(0))?)
}

/// Computes a plain matrix with half as many rows times an array whose rows are ciphertexts.
fn combined(server: &Server, [a, _]: [&EncryptedArray; 2]) -> Result<EncryptedArray> {
    let (rows, columns) = (a.shape()[0] / 2, a.shape()[0]);
    let weights: Vec<f64> = (0..rows * columns).map(weight).collect();
    Ok(server.rmatmul_plain(&weights, rows, a)?)
}

/// Computes the same by products with plaintexts.
fn weighted(server: &Server, [a, _]: [&EncryptedArray; 2]) -> Result<EncryptedArray> {
    let [columns, length] = [a.shape()[0], a.shape()[1]];
    let row = |i: usize| {
        let weights: Vec<f64> =
            (0..columns * length).map(|k| weight(i * columns + k / length)).collect();
        Ok(server.sum(&server.mul_plain(a, Values::Real(&weights))?, Some(0))?)
    };
    let rows = (0..columns / 2).map(row).collect::<Result<Vec<EncryptedArray>>>()?;
    let places: Vec<usize> = (0..columns / 2 * length).collect();
    Ok(server.gather(&rows.iter().collect::<Vec<_>>(), &[columns / 2, length], &places)?)
}

/// The functions of encrypted matrices: name, shape of both operands, the library's method and an
/// alternative, and the name of the alternative.
const PRODUCTS: [(&str, [usize; 2], [Product; 2], &str); 5] = [
    (
        "a @ b",
        [SIZE, SIZE],
        [|server, [a, b]| Ok(server.dot(a, b)?), repeated],
        "a sum of broadcast arrays",
    ),
    (
        "a.T @ a",
        [8 * SIZE, SIZE / 2],
        [
            |server, [a, _]| Ok(server.dot(&server.transpose(a)?, a)?),
            |server, [a, _]| repeated(server, [&server.transpose(a)?, a]),
        ],
        "a sum of broadcast arrays",
    ),
    (
        "windows of 3 by 3 times a kernel",
        [SIZE, SIZE],
        [convolved, convolved_windows],
        "an array of windows",
    ),
    ("sums of some rows", [16 * SIZE, 10], [selected, selected_rows], "an array of these rows"),
    (
        "a plain matrix times rows of whole ciphertexts",
        [8, 1 << 13],
        [combined, weighted],
        "products with plaintexts",
    ),
];

/// Measures two encrypted matrices, with keys for their rotations and with keys from which
/// rotations are composed.
fn encrypted(session: &mut Session, preset: Preset) -> Result<Vec<Row>> {
    let client = ClientKey::generate(preset.settings()?)?;
    let public = client.public_key()?;
    let composing = Server::with_threads(&client.evaluation_keys(&KeyRequest::default())?, 1)?;
    let mut rows = Vec::new();
    for (what, shape, ways, against) in PRODUCTS {
        let numbers: Vec<f64> = (0..shape[0] * shape[1]).map(|i| (i as f64).sin()).collect();
        let (a, b) = (public.encrypt(&numbers, &shape)?, public.encrypt(&numbers, &shape)?);
        let mut servers = Vec::new();
        for way in ways {
            let simulation = Simulation::new(preset.settings()?)?;
            let simulated =
                || simulation.encrypt(Values::Real(&numbers), &shape, &Encryption::default());
            way(simulation.server(), [&simulated()?, &simulated()?])?;
            let keys = client.evaluation_keys(&KeyRequest::for_simulation(&simulation.report()))?;
            servers.push(Server::with_threads(&keys, 1)?);
        }
        for (keys, [one, other]) in [
            ("their rotations", [&servers[0], &servers[1]]),
            ("powers of two", [&composing, &composing]),
        ] {
            let [ours, by_copies] = ways;
            let mut works =
                (|| ours(one, [&a, &b]).map(drop), || by_copies(other, [&a, &b]).map(drop));
            let [ours, copied] = session.time(preset.log_degree, [&mut works.0, &mut works.1])?;
            let [m, n] = shape;
            let name = format!("{}: {what}, encrypted, {m} by {n}, keys of {keys}", preset.name);
            rows.push(Row::new(name, 1e3 * ours, "ms").against(against, 1e3 * copied));
        }
    }
    Ok(rows)
}

/// Measures a matrix of `count` diagonals at one preset.
fn matrix(session: &mut Session, preset: Preset, count: usize) -> Result<Vec<Row>> {
    let library = Library::new(preset.settings()?, 1)?;
    let (context, scale) = (library.context(), library.settings().scale());
    let (rlwe, slots, top) = (context.rlwe(), context.max_slots(), library.settings().fresh());
    let diagonals: BTreeMap<usize, Vec<f64>> =
        (0..count).map(|r| (r, (0..slots).map(|i| ((i + r) as f64).sin()).collect())).collect();
    let transform = LinearTransform::from_real(slots, diagonals.clone())?;
    let [by_limb, dropped] = [0, 1].map(|_| LinearTransform::from_real(slots, diagonals.clone()));
    let (by_limb, dropped) = (by_limb?, dropped?);
    by_limb.set_memory(0);
    let limit = dropped.memory().1;
    let grid = Grid::new(count);
    let secret = SecretKey::generate(rlwe)?;
    let mut keys = EvaluationKeys::empty(rlwe, secret.fingerprint());
    keys.add_rotations(rlwe, &secret, transform.rotations())?;
    keys.add_rotations(rlwe, &secret, 1..count as i64)?;
    let evaluator = Evaluator::new(Arc::clone(context), Arc::new(keys.prepare(rlwe)?));
    let encode = |values: &[f64]| context.encode(Values::Real(values), slots, scale, top);
    let a = context.encrypt(&secret, &encode(&diagonals[&0])?)?.expand(context);
    let plain: Vec<Plaintext> =
        diagonals.values().map(|d| encode(d)).collect::<std::result::Result<_, _>>()?;
    let rotated: Vec<Plaintext> = diagonals
        .iter()
        .map(|(r, diagonal)| {
            let mut diagonal = diagonal.clone();
            diagonal.rotate_right(r - r % grid.baby);
            encode(&diagonal)
        })
        .collect::<std::result::Result<_, _>>()?;

    let transforms = RefCell::new(BTreeMap::new());
    let counted = |name: &'static str, work: &dyn Fn() -> Result<Ciphertext>| -> Result<()> {
        let before = rlwe.transforms();
        work()?;
        transforms.borrow_mut().insert(name, rlwe.transforms() - before);
        Ok(())
    };
    let (double, single, each) = ("double hoisting", "single hoisting", "one by one");
    let (limbs, first) = ("encoded limb by limb", "encoded first");
    let (several, singly) = ("of several ciphertexts, encoded once", "encoded for each");
    let operands = [&a; GROUP_CIPHERTEXTS];
    let mut works = NamedWorks::default();
    works.add(double, || {
        counted(double, &|| Ok(evaluator.linear_transform(&a, &transform, scale)?))
    });
    works.add(single, || counted(single, &|| grid.single(&evaluator, &a, &rotated, scale)));
    works.add(each, || counted(each, &|| one_by_one(&evaluator, &a, &plain, scale)));
    works.add(limbs, || {
        evaluator.linear_transform(&a, &by_limb, scale).map(drop).map_err(Into::into)
    });
    works.add(first, || {
        let product = evaluator.linear_transform(&a, &dropped, scale);
        dropped.set_memory(0);
        dropped.set_memory(limit);
        product.map(drop).map_err(Into::into)
    });
    works.add(several, || {
        evaluator.linear_transforms(&operands, &by_limb, scale).map(drop).map_err(Into::into)
    });
    works.add(singly, || {
        let each = operands.iter().map(|a| evaluator.linear_transform(a, &by_limb, scale));
        each.collect::<std::result::Result<Vec<_>, _>>().map(drop).map_err(Into::into)
    });
    let times: BTreeMap<String, f64> =
        session.time_named(preset.log_degree, works)?.into_iter().collect();
    let counts = transforms.into_inner();
    let name = format!("{}, {count} diagonals", preset.name);
    let mut rows = Vec::new();
    for other in [single, each] {
        rows.push(
            Row::new(name.clone(), 1e3 * times[double], "ms").against(other, 1e3 * times[other]),
        );
        rows.push(
            Row::new(format!("{name}: transforms"), counts[double] as f64, "")
                .against(other, counts[other] as f64),
        );
    }
    rows.push(
        Row::new(format!("{name}, {limbs}"), 1e3 * times[limbs], "ms")
            .against(first, 1e3 * times[first]),
    );
    rows.push(
        Row::new(format!("{name}, {several}"), 1e3 * times[several], "ms")
            .against(singly, 1e3 * times[singly]),
    );
    Ok(rows)
}

/// Baby steps and giant steps without double hoisting, with the best grid for them.
struct Grid {
    baby: usize,
    count: usize,
}

impl Grid {
    /// A hoisted rotation costs about half as much as a single one.
    fn new(count: usize) -> Self {
        let baby = (0..=count.ilog2()).map(|k| 1 << k).min_by_key(|baby| baby + 2 * count / baby);
        Grid { baby: baby.unwrap_or(1), count }
    }

    /// Computes the map with hoisted baby rotations, each with its own division.
    fn single(
        &self,
        e: &Evaluator,
        a: &Ciphertext,
        diagonals: &[Plaintext],
        scale: Scale,
    ) -> Result<Ciphertext> {
        let steps: Vec<i64> = (0..self.baby as i64).collect();
        let rotated = e.rotate_many(a, &steps)?;
        let mut sums = Vec::new();
        for giant in (0..self.count).step_by(self.baby) {
            let mut sum = e.mul_plain(&rotated[0], &diagonals[giant])?;
            for (x, diagonal) in rotated.iter().zip(&diagonals[giant..]).skip(1) {
                e.mul_plain_add_assign(&mut sum, x, diagonal)?;
            }
            sums.push(e.rotate(&sum, giant as i64)?);
        }
        added(e, sums, scale)
    }
}

/// Computes the map with one rotation for each diagonal.
fn one_by_one(
    e: &Evaluator,
    a: &Ciphertext,
    diagonals: &[Plaintext],
    scale: Scale,
) -> Result<Ciphertext> {
    let terms = diagonals
        .iter()
        .enumerate()
        .map(|(r, diagonal)| Ok(e.mul_plain(&e.rotate(a, r as i64)?, diagonal)?));
    added(e, terms.collect::<Result<_>>()?, scale)
}

/// Returns the rescaled sum.
fn added(e: &Evaluator, terms: Vec<Ciphertext>, scale: Scale) -> Result<Ciphertext> {
    let mut terms = terms.into_iter();
    let mut sum = terms.next().ok_or("a matrix without diagonals")?;
    terms.try_for_each(|term| e.add_assign(&mut sum, &term))?;
    Ok(e.rescale(&sum, scale)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_balanced() {
        assert_eq!([1, 4, 16, 64].map(|count| Grid::new(count).baby), [1, 2, 4, 8]);
    }
}
