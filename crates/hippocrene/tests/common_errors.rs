//! Errors that elements have in common: what arrays say of their precision beside what they are off by.

use crate::{common::insecure_grafted, entry::seal};
use hippocrene::{ClientKey, EncryptedArray, Error, KeyRequest, Server};
use hippocrene_rlwe::SecretDistribution;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// What values are off by from the beginning, in bits: more than all that computing adds.
const COARSE: f64 = 14.0;

/// A client of 256 slots and its server. Insecure.
fn insecure() -> (ClientKey, Server) {
    let settings = insecure_grafted(9, 8, SecretDistribution::SparseTernary { weight: 64 });
    let client = ClientKey::generate_with(settings, 1).unwrap();
    let server = Server::new(client.evaluation_keys(&KeyRequest::default()).unwrap()).unwrap();
    (client, server)
}

/// Numbers from `-1` to `1`, of variance 1/3.
fn uniform(count: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    (0..count).map(|_| f64::from(rng.next_u32()) / f64::from(1u32 << 31) - 1.0).collect()
}

/// How many times as large as it says the error is of what `f` makes of an encrypted vector, whose elements are off by so many bits, and of the plain one: the root mean square over some runs.
fn ratio<T>(
    count: usize,
    bits: f64,
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
        let x = uniform(count, &mut rng);
        let errors = uniform(count, &mut rng).into_iter().map(|e| 3f64.sqrt() * e * (-bits).exp2());
        let off: Vec<f64> = x.iter().zip(errors).map(|(x, e)| x + e).collect();
        let a = client.encrypt(&off, &[count]).unwrap().with_bound(1.1).unwrap();
        let (out, expected) = f(&server, &server.declare_precision(&a, bits).unwrap(), &x).unwrap();
        let said = out.precision_bits(server.session()).exp2();
        let (got, expected) = (client.decrypt(&out).unwrap(), expected.as_ref());
        assert_eq!(got.len(), expected.len());
        let squares: f64 = got.iter().zip(expected).map(|(g, e)| ((g - e) * said).powi(2)).sum();
        sum += squares / got.len() as f64;
    }
    (sum / f64::from(runs)).sqrt()
}

/// `m x`.
fn times(m: &[f64], x: &[f64]) -> Vec<f64> {
    m.chunks(x.len()).map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum()).collect()
}

/// A matrix of so many rows of numbers from 0 to 1.
fn positive(rows: usize, columns: usize) -> Vec<f64> {
    let numbers = uniform(rows * columns, &mut ChaCha8Rng::seed_from_u64(11));
    numbers.into_iter().map(|x| 0.5 + 0.5 * x).collect()
}

/// Whether a root mean square over so many runs is what is said, give or take what such few runs are off by, for errors that are one in each run.
fn is_close(ratio: f64) -> bool {
    (0.5..1.6).contains(&ratio)
}

#[test]
fn averages_do_not_make_smaller_what_all_have() {
    let n = 24;
    let mut averages = positive(n, n);
    for row in averages.chunks_mut(n) {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= sum);
    }
    for steps in [1, 2, 4] {
        let from_left = ratio(n, COARSE, |server, a, x| {
            let out = (0..steps).try_fold(a.clone(), |a, _| server.rmatmul_plain(&averages, n, &a))?;
            Ok((out, (0..steps).fold(x.to_vec(), |x, _| times(&averages, &x))))
        });
        assert!(is_close(from_left), "{steps} steps: {from_left}");
    }
    // Differences of neighbours have nothing of it, but that is not relied on: what rotations add to copies of an element is not the same in all of them.
    let differences: Vec<f64> = (0..(n - 1) * n)
        .map(|k| match (k / n).wrapping_sub(k % n) {
            0 => -1.0,
            usize::MAX => 1.0,
            _ => 0.0,
        })
        .collect();
    let of_all = ratio(n, COARSE, |server, a, x| {
        let ones = vec![1.0; n];
        let same = server.add(&server.broadcast_to(&server.sum(a, None)?, &[n])?, a)?;
        let sum: f64 = x.iter().sum();
        let expected: Vec<f64> = x.iter().zip(&ones).map(|(x, one)| sum * one + x).collect();
        Ok((server.rmatmul_plain(&differences, n - 1, &same)?, times(&differences, &expected)))
    });
    assert!(of_all < 1.6, "{of_all}");
}

#[test]
fn sums_of_what_a_matrix_made_are_off_by_as_much_as_they_say() {
    let (rows, k) = (40, 12);
    let m = positive(rows, k);
    let mean = ratio(k, COARSE, |server, a, x| {
        let product = server.rmatmul_plain(&m, rows, a)?;
        Ok((server.mean(&product, None)?, [times(&m, x).iter().sum::<f64>() / rows as f64]))
    });
    assert!(is_close(mean), "{mean}");
    let weights: Vec<f64> = (0..rows).map(|i| 1.0 + i as f64 / 40.0).collect();
    let weighted = ratio(k, COARSE, |server, a, x| {
        let product = server.rmatmul_plain(&m, rows, a)?;
        Ok((server.dot_plain(&product, &weights)?, times(&weights, &times(&m, x))))
    });
    assert!(is_close(weighted), "{weighted}");
    // The other way round, `x @ m`, and a product with plain numbers before the sum.
    let right = ratio(k, COARSE, |server, a, x| {
        let product = server.matmul_plain(a, &m, rows)?;
        let product = server.mul_plain(&product, &weights[..])?;
        let turned: Vec<f64> =
            (0..rows).map(|i| (0..k).map(|j| m[j * rows + i] * x[j]).sum::<f64>() * weights[i]).collect();
        Ok((server.sum(&product, None)?, [turned.iter().sum::<f64>()]))
    });
    // Weights up to twice the mean: the largest counts.
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
        let each = ratio(30, COARSE, copies);
        assert!(is_close(each), "{count} copies: {each}");
        let sum = ratio(30, COARSE, |server, a, x| {
            let (copies, expected) = copies(server, a, x)?;
            Ok((server.sum(&copies, None)?, [expected.iter().sum::<f64>()]))
        });
        assert!(is_close(sum), "the sum of {count} copies: {sum}");
    }
}

/// Deviations from a mean that is off by more than the values add up to zero all the same.
#[test]
fn sums_of_squared_deviations_are_not_off_by_the_error_of_the_mean() {
    let n = 40;
    let variance = |declared: bool| {
        ratio(n, 24.0, move |server, a, x| {
            let mean = server.declare_precision(&server.mean(a, None)?, 14.0)?;
            let deviations = server.sub(a, &server.broadcast_to(&mean, &[n])?)?;
            let deviations = if declared { deviations.as_deviations() } else { deviations };
            let mean_of = x.iter().sum::<f64>() / n as f64;
            let squares: f64 = x.iter().map(|x| (x - mean_of).powi(2)).sum();
            Ok((server.sum(&server.mul(&deviations, &deviations)?, None)?, [squares]))
        })
    };
    let [plain, declared] = [variance(false), variance(true)];
    assert!(declared < 1.6 && declared > 30.0 * plain, "{plain} {declared}");
}

/// What is sent on or put by is as precise later as it says now, and so is what is made of it.
#[test]
fn files_keep_what_errors_have_in_common() {
    let (client, server) = insecure();
    let a = client.encrypt(&[0.5; 30], &[30]).unwrap();
    let a = server.declare_precision(&a, COARSE).unwrap();
    let copies = server.broadcast_to(&server.mean(&a, None).unwrap(), &[300]).unwrap();
    let bytes = copies.to_bytes();
    let read = EncryptedArray::from_bytes(&bytes, server.session()).unwrap();
    assert_eq!(read.to_bytes(), bytes);
    let said = |a: &EncryptedArray| {
        let sum = server.sum(a, None).unwrap();
        [a, &sum].map(|a| a.precision_bits(server.session()))
    };
    assert_eq!(said(&read), said(&copies));
    let [one, all] = said(&read);
    assert!((one - all - 300f64.log2()).abs() < 0.1, "{one} {all}");

    // The noise, that in zeros and what is common of the first of two ciphertexts, whose heads begin after the interval and
    // the one axis.
    let noise = 56 + 32 + 16 + 16 + 22;
    let refused = |at: usize, new: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        seal(&mut bytes);
        EncryptedArray::from_bytes(&bytes, server.session()).unwrap_err().to_string()
    };
    let words = |error: &str, said: &str| assert!(error.contains(said), "{error}");
    words(&refused(noise + 8, &5000f64.to_le_bytes()), "the noise in zeros is 5000; it must be -4096 to");
    words(&refused(noise + 16, &f64::NAN.to_le_bytes()), "the common noise is NaN; it must be -4096 to");
    words(&refused(noise + 16, &100f64.to_le_bytes()), "the common noise is 100; it must be at most ");
    // Nothing is left of it in both, and the flag stays.
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
