//! Tests of errors that elements have in common: the stated precision against the real errors.

use crate::{common::insecure_grafted, entry::seal};
use hippocrene::{ClientKey, EncryptedArray, Error, KeyRequest, Server, Stored};
use hippocrene_rlwe::SecretDistribution;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// The precision of the inputs, in bits after the binary point.
///
/// It is so low that the errors of the inputs exceed all errors that computing adds.
const INPUT_PRECISION_BITS: f64 = 14.0;

/// Returns a client with 256 slots and its server. Insecure.
fn insecure() -> (ClientKey, Server) {
    let settings = insecure_grafted(9, 8, SecretDistribution::SparseTernary { weight: 64 });
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let server = Server::new(client.evaluation_keys(&KeyRequest::default()).unwrap()).unwrap();
    (client, server)
}

/// Returns numbers from `-1` to `1`, of variance 1/3.
fn uniform(count: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    (0..count).map(|_| f64::from(rng.next_u32()) / f64::from(1u32 << 31) - 1.0).collect()
}

/// Returns the real error of the results of `f` divided by their stated error.
///
/// It is the root mean square over the elements of 24 runs. `f` gets an encrypted vector with
/// errors of precision `bits`, and the vector without errors. It returns the encrypted result and
/// the expected values.
fn ratio<T>(
    count: usize,
    bits: f64,
    f: impl Fn(&Server, &EncryptedArray, &[f64]) -> Result<(EncryptedArray, T), Error>,
) -> f64
where
    T: AsRef<[f64]>,
{
    ratio_of(count, bits, |x| x, f)
}

/// Maps values to the ends of `[-1, 1]`.
const SIGNS: fn(f64) -> f64 = |x| 1f64.copysign(x);

/// Maps values to 1.
const ONES: fn(f64) -> f64 = |_| 1.0;

/// As [`ratio`], for the values of `value` at numbers from `-1` to `1`.
fn ratio_of<T>(
    count: usize,
    bits: f64,
    value: fn(f64) -> f64,
    f: impl Fn(&Server, &EncryptedArray, &[f64]) -> Result<(EncryptedArray, T), Error>,
) -> f64
where
    T: AsRef<[f64]>,
{
    let (client, server) = insecure();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let runs = 24;
    let mut sum = 0.0;
    for _ in 0..runs {
        let x: Vec<f64> = uniform(count, &mut rng).into_iter().map(value).collect();
        let errors = uniform(count, &mut rng).into_iter().map(|e| 3f64.sqrt() * e * (-bits).exp2());
        let off: Vec<f64> = x.iter().zip(errors).map(|(x, e)| x + e).collect();
        let a = client.encrypt(&off, &[count]).unwrap().with_bound(1.1).unwrap();
        let (out, expected) = f(&server, &server.declare_precision(&a, bits).unwrap(), &x).unwrap();
        let stated = out.precision_bits(server.session()).exp2();
        let (got, expected) = (client.decrypt(&out).unwrap(), expected.as_ref());
        assert_eq!(got.len(), expected.len());
        let squares: f64 = got.iter().zip(expected).map(|(g, e)| ((g - e) * stated).powi(2)).sum();
        sum += squares / got.len() as f64;
    }
    (sum / f64::from(runs)).sqrt()
}

/// Returns `m x`.
fn times(m: &[f64], x: &[f64]) -> Vec<f64> {
    m.chunks(x.len()).map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum()).collect()
}

/// Returns a matrix of `rows` rows with numbers from 0 to 1.
fn positive(rows: usize, columns: usize) -> Vec<f64> {
    let numbers = uniform(rows * columns, &mut ChaCha8Rng::seed_from_u64(11));
    numbers.into_iter().map(|x| 0.5 + 0.5 * x).collect()
}

/// True if the ratio is close to 1.
///
/// It allows for the deviation of a root mean square over 24 runs with one independent error each.
fn is_close(ratio: f64) -> bool {
    (0.5..1.6).contains(&ratio)
}

#[test]
fn averages_keep_a_common_error() {
    let n = 24;
    let mut averages = positive(n, n);
    for row in averages.chunks_mut(n) {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= sum);
    }
    for steps in [1, 2, 4] {
        let from_left = ratio(n, INPUT_PRECISION_BITS, |server, a, x| {
            let out =
                (0..steps).try_fold(a.clone(), |a, _| server.rmatmul_plain(&averages, n, &a))?;
            Ok((out, (0..steps).fold(x.to_vec(), |x, _| times(&averages, &x))))
        });
        assert!(is_close(from_left), "{steps} steps: {from_left}");
    }
    // Differences of neighbours cancel the common error. The estimate does not rely on this,
    // because rotations add different errors to the copies of an element.
    let differences: Vec<f64> = (0..(n - 1) * n)
        .map(|k| match (k / n).wrapping_sub(k % n) {
            0 => -1.0,
            usize::MAX => 1.0,
            _ => 0.0,
        })
        .collect();
    let of_all = ratio(n, INPUT_PRECISION_BITS, |server, a, x| {
        let ones = vec![1.0; n];
        let same = server.add(&server.broadcast_to(&server.sum(a, None)?, &[n])?, a)?;
        let sum: f64 = x.iter().sum();
        let expected: Vec<f64> = x.iter().zip(&ones).map(|(x, one)| sum * one + x).collect();
        Ok((server.rmatmul_plain(&differences, n - 1, &same)?, times(&differences, &expected)))
    });
    assert!(of_all < 1.6, "{of_all}");
}

#[test]
fn sums_of_matrix_products_state_their_error() {
    let (rows, k) = (40, 12);
    let m = positive(rows, k);
    let mean = ratio(k, INPUT_PRECISION_BITS, |server, a, x| {
        let product = server.rmatmul_plain(&m, rows, a)?;
        Ok((server.mean(&product, None)?, [times(&m, x).iter().sum::<f64>() / rows as f64]))
    });
    assert!(is_close(mean), "{mean}");
    let weights: Vec<f64> = (0..rows).map(|i| 1.0 + i as f64 / 40.0).collect();
    let weighted = ratio(k, INPUT_PRECISION_BITS, |server, a, x| {
        let product = server.rmatmul_plain(&m, rows, a)?;
        Ok((server.dot_plain(&product, &weights)?, times(&weights, &times(&m, x))))
    });
    assert!(is_close(weighted), "{weighted}");
    // The product in the other order, `x @ m`, and a product with plain numbers before the sum.
    let right = ratio(k, INPUT_PRECISION_BITS, |server, a, x| {
        let product = server.matmul_plain(a, &m, rows)?;
        let product = server.mul_plain(&product, &weights[..])?;
        let turned: Vec<f64> = (0..rows)
            .map(|i| (0..k).map(|j| m[j * rows + i] * x[j]).sum::<f64>() * weights[i])
            .collect();
        Ok((server.sum(&product, None)?, [turned.iter().sum::<f64>()]))
    });
    // The weights are up to twice their mean, and the estimate uses the largest one.
    assert!((0.3..1.6).contains(&right), "{right}");
}

#[test]
fn copies_of_one_element_have_its_error() {
    for count in [7, 100] {
        let copies = |server: &Server, a: &EncryptedArray, x: &[f64]| {
            let mean = server.mean(a, None)?;
            let mean_of = x.iter().sum::<f64>() / x.len() as f64;
            Ok((server.broadcast_to(&mean, &[count])?, vec![mean_of; count]))
        };
        let each = ratio(30, INPUT_PRECISION_BITS, copies);
        assert!(is_close(each), "{count} copies: {each}");
        let sum = ratio(30, INPUT_PRECISION_BITS, |server, a, x| {
            let (copies, expected) = copies(server, a, x)?;
            Ok((server.sum(&copies, None)?, [expected.iter().sum::<f64>()]))
        });
        assert!(is_close(sum), "the sum of {count} copies: {sum}");
    }
}

/// The stated error of a sum of squared deviations holds for values at both ends of the bound,
/// where it is largest. It is not much larger than the real error.
#[test]
fn sums_of_squared_deviations_state_their_error() {
    let n = 40;
    for bits in [INPUT_PRECISION_BITS, 24.0] {
        let squares = ratio_of(n, bits, SIGNS, |server, a, x| {
            let mean = server.mean(a, None)?;
            let deviations = server.sub(a, &server.broadcast_to(&mean, &[n])?)?.as_deviations(1.1);
            let mean_of = x.iter().sum::<f64>() / n as f64;
            let squares: f64 = x.iter().map(|x| (x - mean_of).powi(2)).sum();
            Ok((server.sum(&server.square(&deviations)?, None)?, [squares]))
        });
        assert!((0.25..1.3).contains(&squares), "{bits} bits: {squares}");
    }
}

/// Sums over copies add up equal errors.
///
/// The copies are in slots that repeat, in the slots between them, and in several ciphertexts.
#[test]
fn sums_over_copies_state_their_error() {
    for (rows, columns) in [(16, 16), (4, 256), (5, 7)] {
        let n = rows * columns;
        let of_columns = |x: &[f64]| -> Vec<f64> {
            (0..columns)
                .map(|j| x.iter().skip(j).step_by(columns).sum::<f64>() * rows as f64)
                .collect()
        };
        let again = ratio(n, INPUT_PRECISION_BITS, |server, a, x| {
            let a = server.gather(&[a], &[rows, columns], &(0..n).collect::<Vec<_>>())?;
            let copies = server.broadcast_to(&server.sum(&a, Some(0))?, &[rows, columns])?;
            Ok((server.sum(&copies, Some(0))?, of_columns(x)))
        });
        assert!((0.4..1.3).contains(&again), "{rows} x {columns}: {again}");
        let of_all = ratio(n, INPUT_PRECISION_BITS, |server, a, x| {
            let a = server.gather(&[a], &[rows, columns], &(0..n).collect::<Vec<_>>())?;
            let copies = server.broadcast_to(&server.sum(&a, None)?, &[rows, columns])?;
            Ok((server.sum(&copies, None)?, [x.iter().sum::<f64>() * n as f64]))
        });
        assert!((0.4..2.2).contains(&of_all), "{rows} x {columns}: {of_all}");
    }
}

/// The errors of a vector affect all elements of its product with an encrypted matrix, and sums of
/// these elements add them up.
#[test]
fn products_with_encrypted_vectors_state_their_error() {
    let (rows, k) = (16, 8);
    let ones = vec![1.0; rows * k];
    let product = |server: &Server, a: &EncryptedArray| {
        let zeros = server.mul_number(&server.broadcast_to(a, &[rows, k])?, 0.0)?;
        server.dot(&server.add_plain(&zeros, &ones[..])?, a)
    };
    let each =
        ratio(k, INPUT_PRECISION_BITS, |server, a, x| Ok((product(server, a)?, times(&ones, x))));
    assert!((0.4..1.3).contains(&each), "{each}");
    let sum = ratio(k, INPUT_PRECISION_BITS, |server, a, x| {
        Ok((server.sum(&product(server, a)?, None)?, [times(&ones, x).iter().sum::<f64>()]))
    });
    assert!((0.4..1.3).contains(&sum), "{sum}");
}

/// An array that is used twice brings the same error twice.
#[test]
fn repeated_operands_state_their_error() {
    type Repeated = fn(&Server, &EncryptedArray) -> Result<EncryptedArray, Error>;
    type Case = (&'static str, Repeated, fn(f64) -> f64);
    let cases: [Case; 7] = [
        ("x + x", |server, x| server.add(x, x), |x| 2.0 * x),
        ("x + a clone", |server, x| server.add(x, &x.clone()), |x| 2.0 * x),
        ("x times a clone", |server, x| server.mul(x, &x.clone()), |x| x * x),
        (
            "eight times x",
            |server, x| (1..8).try_fold(x.clone(), |sum, _| server.add(&sum, x)),
            |x| 8.0 * x,
        ),
        ("2 x + x", |server, x| server.add(&server.mul_number(x, 2.0)?, x), |x| 3.0 * x),
        (
            "x - (1 - x)",
            |server, x| server.sub(x, &server.add_number(&server.negate(x)?, 1.0)?),
            |x| 2.0 * x - 1.0,
        ),
        ("x (x + 1)", |server, x| server.mul(x, &server.add_number(x, 1.0)?), |x| x * (x + 1.0)),
    ];
    for (name, repeated, plain) in cases {
        let all = ratio_of(64, INPUT_PRECISION_BITS, ONES, |server, a, x| {
            Ok((repeated(server, a)?, x.iter().map(|x| plain(*x)).collect::<Vec<_>>()))
        });
        // The root mean square of 1536 errors deviates by 10 % with a probability of about 2^-25.
        assert!((0.5..1.1).contains(&all), "{name}: {all}");
    }
    let nothing =
        ratio(64, INPUT_PRECISION_BITS, |server, a, x| Ok((server.sub(a, a)?, vec![0.0; x.len()])));
    assert!(nothing < 1.1, "{nothing}");
}

/// An array that is written and read again keeps its stated precision, and so do later results.
#[test]
fn files_keep_the_common_part_of_errors() {
    let (client, server) = insecure();
    let a = client.encrypt(&[0.5; 30], &[30]).unwrap();
    let a = server.declare_precision(&a, INPUT_PRECISION_BITS).unwrap();
    let copies = server.broadcast_to(&server.mean(&a, None).unwrap(), &[300]).unwrap();
    let bytes = copies.to_bytes();
    let read = EncryptedArray::from_bytes(&bytes, server.session()).unwrap();
    assert_eq!(read.to_bytes(), bytes);
    let stated = |a: &EncryptedArray| {
        let sum = server.sum(a, None).unwrap();
        [a, &sum].map(|a| a.precision_bits(server.session()))
    };
    assert_eq!(stated(&read), stated(&copies));
    let [one, all] = stated(&read);
    assert!((one - all - 300f64.log2()).abs() < 0.1, "{one} {all}");

    // The three noise estimates of the first of two ciphertexts: in slots, in zeros, and common.
    // The heads begin after the interval and the one axis.
    let noise = 56 + 32 + 16 + 16 + 22;
    let refused = |at: usize, new: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        seal(&mut bytes);
        EncryptedArray::from_bytes(&bytes, server.session()).unwrap_err().to_string()
    };
    let words = |error: &str, expected: &str| assert!(error.contains(expected), "{error}");
    words(
        &refused(noise + 8, &5000f64.to_le_bytes()),
        "the noise in zeros is 5000; it must be -4096 to",
    );
    words(
        &refused(noise + 16, &f64::NAN.to_le_bytes()),
        "the common noise is NaN; it must be -4096 to",
    );
    words(
        &refused(noise + 16, &100f64.to_le_bytes()),
        "the common noise is 100; it must be at most ",
    );
    // The common noise of both ciphertexts is removed, but the flag stays.
    let mut even = bytes.clone();
    for start in [noise, noise + 58 + 16] {
        even.copy_within(start..start + 8, start + 8);
        even[start + 16..start + 24].copy_from_slice(&(-4096f64).to_le_bytes());
    }
    seal(&mut even);
    let error = EncryptedArray::from_bytes(&even, server.session()).unwrap_err().to_string();
    words(&error, "the flags of an array is ");
    words(&error, "; it must be less 4");
}
