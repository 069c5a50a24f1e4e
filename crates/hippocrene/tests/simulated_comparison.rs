//! Tests that simulated comparisons and gates give the same results as real ones with the requested
//! keys, with small insecure parameters.

use crate::common::{insecure_bits, insecure_grafted};
use hippocrene::{
    BitArray, BitServer, Bootstrapping, ClientKey, Comparison, EncryptedArray, Encryption, Error,
    Interval, KeyRequest, Purpose, Report, Server, Settings, Simulation, Stored,
};
use hippocrene_ckks::bits::BitPacking;
use hippocrene_rlwe::SecretDistribution;

const SPARSE: SecretDistribution = SecretDistribution::SparseTernary { weight: 64 };

type Program<'a> =
    &'a dyn Fn(&Server, &EncryptedArray, &EncryptedArray) -> Result<EncryptedArray, Error>;

/// Returns two vectors of 40 numbers up to 3. The numbers of a pair differ by more than 1/16, and
/// the numbers of the first vector are more than 1/16 from 0.
fn operands() -> [Vec<f64>; 2] {
    let x: Vec<f64> = (0..40).map(|i| f64::from(i) * 0.14 - 2.73).collect();
    let other = |(i, x): (usize, &f64)| [x - 0.13, x + 0.2, -0.5 * x][i % 3];
    let y = x.iter().enumerate().map(other).collect();
    [x, y]
}

/// Runs `program` in the simulation, and then with the keys that the simulation requests.
///
/// Checks that both results have the same metadata. The values may differ by noise and by
/// `max_error`, the error of comparisons. (Comparisons amplify noise by their slope, which is
/// larger for some values than its root mean square.)
fn both_ways(
    simulation: &Simulation,
    settings: &Settings,
    program: Program<'_>,
    max_error: f64,
) -> (Report, Vec<f64>) {
    let how = Encryption { interval: Some(Interval::symmetric(3.0)), precision: None };
    let [x, y] = operands();
    let [a, b] = [&x, &y].map(|v| simulation.encrypt((&v[..]).into(), &[40], &how).unwrap());
    simulation.restart();
    let simulated = program(simulation.server(), &a, &b).unwrap();
    let report = simulation.report();

    let client = ClientKey::generate_with(settings.clone(), 1).unwrap();
    let keys = client.evaluation_keys(&KeyRequest::for_simulation(&report)).unwrap();
    let stored = keys.to_bytes().len() as f64;
    assert!(
        (report.key_bytes as f64 / stored - 1.0).abs() < 0.05,
        "{stored} bytes, {} in the report",
        report.key_bytes
    );
    let server = Server::new(keys).unwrap();
    let [a, b] = [&x, &y].map(|v| client.encrypt_with((&v[..]).into(), &[40], &how).unwrap());
    let real = program(&server, &a, &b).unwrap();
    let (session, dry) = (server.session(), simulation.server().session());
    assert_eq!(server.bootstraps(), report.bootstraps);
    assert_eq!(real.capacity_bits(session), simulated.capacity_bits(dry));
    assert_eq!(real.precision_bits(session), simulated.precision_bits(dry));
    assert_eq!((real.bound(), real.layout()), (simulated.bound(), simulated.layout()));
    let values: Vec<f64> = simulation.values(&simulated).unwrap().iter().map(|z| z.re).collect();
    let decrypted = client.decrypt(&real).unwrap();
    let deviation = (-real.precision_bits(session)).exp2();
    for (real, simulated) in decrypted.iter().zip(&values) {
        let limit = 10.0 * deviation + 2.0 * max_error;
        assert!(
            (real - simulated).abs() < limit,
            "{real}, {simulated} simulated, deviation {deviation}"
        );
    }
    (report, values)
}

#[test]
fn comparisons_are_simulated() {
    let settings = insecure_grafted(9, 10, SPARSE);
    let simulation = Simulation::new(settings.clone()).unwrap();
    let how = Comparison { gap: Some(0.06), precision: Some(12.0), ..Comparison::default() };
    type Expected = fn(f64, f64) -> f64;
    let programs: [(Program<'_>, Expected, f64); 7] = [
        (&|s, a, _| s.sign(a, how), |x, _| x.signum(), 1.0),
        (&|s, a, _| s.abs(a, how), |x, _| x.abs(), 4.5),
        (&|s, a, _| s.relu(a, how), |x, _| x.max(0.0), 2.25),
        (&|s, a, b| s.greater(a, b, how), |x, y| f64::from(x > y), 0.5),
        (&|s, a, b| s.less(a, b, how), |x, y| f64::from(x < y), 0.5),
        (&|s, a, b| s.maximum(a, b, how), f64::max, 4.5),
        (&|s, a, b| s.minimum(a, b, how), f64::min, 4.5),
    ];
    let [x, y] = operands();
    for (i, (program, expected, off)) in programs.into_iter().enumerate() {
        let off = off * 2f64.powi(-12);
        let (report, values) = both_ways(&simulation, &settings, program, off);
        for ((x, y), value) in x.iter().zip(&y).zip(values) {
            let expected = expected(*x, *y);
            assert!((value - expected).abs() <= off, "{i}: {value}, not {expected}");
        }
        // The request has keys for products and the conjugation, and none for rotations.
        let purposes: Vec<Purpose> = report.keys.iter().map(|key| key.purpose).collect();
        assert_eq!(purposes, [Purpose::Relinearisation, Purpose::Conjugation]);
        assert!(report.conjugates() && report.bootstrapping.is_none() && report.bits.is_none());
    }
    let a = simulation.encrypt((&x[..]).into(), &[40], &Encryption::default()).unwrap();
    let refused = simulation
        .server()
        .sign(&a, Comparison { gap: Some(0.0), precision: None, ..Comparison::default() });
    assert!(matches!(refused, Err(Error::Argument { .. })));
}

#[test]
fn comparisons_that_bootstrap_are_simulated() {
    let settings = insecure_grafted(9, 22, SPARSE);
    let wanted = Bootstrapping::default();
    let simulation = Simulation::with_bootstrapping(settings.clone(), wanted).unwrap();
    let how = Comparison { gap: Some(0.001), precision: Some(14.0), ..Comparison::default() };
    let program = |s: &Server, a: &EncryptedArray, _: &EncryptedArray| {
        let mut a = a.clone();
        for _ in 0..8 {
            a = s.mul_number(&s.mul_number(&a, 0.3)?, 1.0 / 0.3)?.with_bound(3.0)?;
        }
        s.sign(&s.sign(&a, how)?, how)
    };
    let (report, values) = both_ways(&simulation, &settings, &program, 2f64.powi(-14));
    assert_eq!(report.bootstrapping, Some(wanted));
    assert!(report.bootstraps > 0 && report.rotations().is_empty() && !report.conjugates());
    assert!(values.iter().zip(&operands()[0]).all(|(sign, x)| (sign - x.signum()).abs() < 1e-4));
    // A program that needs no bootstrap requests no bootstrapping keys.
    let (report, _) =
        both_ways(&simulation, &settings, &|s, a, b| s.roll(&s.mul(a, b)?, 3, None), 0.0);
    assert_eq!((report.bootstraps, report.bootstrapping), (0, None));
    assert!(!report.rotations().is_empty());
}

/// Returns `x + y` with the lowest bits first, and three further gates on the results.
fn adder(server: &BitServer, x: &[BitArray], y: &[BitArray]) -> Result<Vec<BitArray>, Error> {
    use hippocrene::Gate::{And, Majority, Xor};
    let mut out = Vec::new();
    let mut carry: Option<BitArray> = None;
    for (x, y) in x.iter().zip(y) {
        let made = match &carry {
            None => server.gates(&[Xor, And], &[x, y])?,
            Some(carry) => server.gates(&[Xor, Majority], &[x, y, carry])?,
        };
        let [sum, next]: [BitArray; 2] = made.try_into().expect("two gates have two results");
        out.push(sum);
        carry = Some(next);
    }
    let carry = carry.expect("there are bits");
    out.push(server.select(&carry, &x[0], &server.not(&y[0])?)?);
    out.push(server.nand(&out[0], &out[1])?);
    let plain: Vec<bool> = (0..x[0].size()).map(|i| i % 3 == 0).collect();
    out.push(server.gate_plain(hippocrene::Gate::Nor, &out[2], &plain)?);
    Ok(out)
}

fn gates(packing: BitPacking, clean: bool, output_bits: Option<f64>) {
    const BITS: usize = 3;
    let (settings, literal) = insecure_bits(packing, clean, output_bits);
    let request = KeyRequest::bits(literal.clone());
    let simulation = Simulation::with_keys(settings.clone(), &request).unwrap();
    let numbers: Vec<u32> = (0..64).collect();
    let slice = |shift: usize| numbers.iter().map(|x| x >> shift & 1 == 1).collect::<Vec<bool>>();
    let slices: Vec<Vec<bool>> = (0..2 * BITS).map(slice).collect();
    let encrypted: Vec<BitArray> =
        slices.iter().map(|bits| simulation.encrypt_bits(bits, &[64]).unwrap()).collect();
    simulation.restart();
    let server = simulation.server().bits().unwrap();
    let simulated = adder(server, &encrypted[..BITS], &encrypted[BITS..]).unwrap();
    let report = simulation.report();
    assert_eq!((report.bits.as_ref(), report.bootstraps), (Some(&literal), server.bootstraps()));
    assert_eq!(KeyRequest::for_simulation(&report), request);
    for (i, n) in numbers.iter().enumerate() {
        let (x, y) = (n & 7, n >> BITS);
        let [low, middle, highest] = [0, 1, 2].map(|k| (x + y) >> k & 1 == 1);
        let chosen = if x + y > 7 { x & 1 == 1 } else { y & 1 == 0 };
        let expected = [low, middle, highest, chosen, !(low && middle), !(highest || i % 3 == 0)];
        let bits: Vec<bool> = simulated.iter().map(|a| simulation.bits(a).unwrap()[i]).collect();
        assert_eq!(bits, expected, "{x} + {y}");
    }

    let client = ClientKey::generate_with(settings, 1).unwrap();
    let keys = client.evaluation_keys(&KeyRequest::for_simulation(&report)).unwrap();
    let server = Server::new(keys).unwrap();
    let server = server.bits().unwrap();
    let encrypted: Vec<BitArray> = slices
        .iter()
        .map(|bits| client.encrypt_bits(server.plan(), bits, &[64]).unwrap())
        .collect();
    let real = adder(server, &encrypted[..BITS], &encrypted[BITS..]).unwrap();
    assert_eq!(server.bootstraps(), report.bootstraps);
    for (real, simulated) in real.iter().zip(&simulated) {
        assert_eq!((real.error(), real.layout()), (simulated.error(), simulated.layout()));
        assert_eq!(client.decrypt_bits(real).unwrap(), simulation.bits(simulated).unwrap());
    }
}

#[test]
fn gates_are_simulated() {
    gates(BitPacking::Real, true, None);
    gates(BitPacking::Complex, true, None);
    // Bits that are not cleaned have capacity for products between bootstraps.
    gates(BitPacking::Real, false, None);
}
