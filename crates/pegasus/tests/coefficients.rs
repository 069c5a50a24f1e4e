//! The transform of slots to coefficients and extraction, for every power of two of slots.

use crate::common::{check, context, literal, setup, spread};
use hippocrene_ckks::CkksError;
use hippocrene_fhew::LweSecretKey;
use hippocrene_pegasus::{Layout, PegasusError};

#[test]
fn numbers_of_any_power_of_two_of_slots_are_extracted() {
    let all = [1, 2, 16, 64, 512];
    let s = setup(context(10, 17, 1), literal(&all, 64));
    let parameters = s.context.parameters();
    let q0 = parameters.factor(0);
    let secret = LweSecretKey::of_rlwe(s.context.rlwe(), &s.secret, q0).unwrap();
    for (slots, bound) in all.into_iter().zip([1.0, 8.0, 0.25, 8.0, 3.0]) {
        let values = spread(slots, bound);
        for (scale_bits, bits) in [(40, 300.0), (30, 200.0), (50, 250.0)] {
            let runs = (512 / slots).clamp(1, 6);
            let (mut got, mut precision) = (Vec::new(), 0.0);
            for _ in 0..runs {
                let mut a = s.encrypt(&values, scale_bits, bits);
                a.set_bound(bound);
                let c = s.pegasus.to_coefficients(&a).unwrap();
                assert_eq!((c.slots(), c.bound()), (slots, bound));
                // The scale leaves a quarter of the modulus, minus the margin.
                let largest = c.scale().to_f64() * bound * 1.125;
                assert!((largest / (q0 as f64 / 4.0) - 1.0).abs() < 1e-9);
                let numbers: Vec<_> =
                    (0..slots).map(|j| c.inner().extract(c.place(j)).unwrap()).collect();
                got.extend(
                    numbers.iter().map(|x| secret.decrypt(x).unwrap() as f64 / c.scale().to_f64()),
                );
                precision = c.scale().log2() - numbers[0].noise().log2_std();
            }
            assert!(precision > 12.0 - bound.log2(), "{slots} slots: {precision}");
            // The errors of few slots vary by chance.
            let within = if slots >= 64 { 1.5f64.log2() } else { 12.0 };
            let expected = values.repeat(runs);
            check(
                &got,
                &expected,
                precision,
                within,
                &format!("{slots} slots, scale 2^{scale_bits}"),
            );
        }
    }
}

#[test]
fn extracted_numbers_are_under_the_lwe_secret() {
    for threads in [1, 2] {
        let all = [1, 4, 128, 512];
        let s = setup(context(10, 17, threads), literal(&all, 64));
        for slots in all {
            let values = spread(slots, 1.0);
            let mut a = s.encrypt(&values, 40, 300.0);
            a.set_bound(8.0);
            let c = s.pegasus.to_coefficients(&a).unwrap();
            let x = s.pegasus.extract(&c, &(0..slots).collect::<Vec<_>>()).unwrap();
            assert_eq!((x.len(), x.bound(), x.key()), (slots, 8.0, s.lwe.fingerprint()));
            assert_eq!(x.parameters(), s.lwe.parameters());
            let within = if slots >= 128 { 1.5f64.log2() } else { 12.0 };
            check(
                &s.decrypt_numbers(&x),
                &values,
                x.precision_bits(),
                within,
                &format!("{slots} slots"),
            );
            // Any slots can be extracted, in any order.
            let some: Vec<usize> = (0..slots.min(5)).map(|i| (7 * i + 3) % slots).collect();
            assert_eq!(s.pegasus.extract(&c, &some).unwrap(), x.select(&some).unwrap());
            let refused = s.pegasus.extract(&c, &[slots]).unwrap_err().to_string();
            assert!(refused.contains(&format!("no slot {slots}")), "{refused}");
            // The numbers can be repacked, because they are an eighth of their bound.
            let packed =
                s.pegasus.repack(&x.with_bound(1.0).unwrap(), &Layout::in_order(slots)).unwrap();
            let within = if slots >= 128 { 1.5 } else { 12.0 };
            check(&s.decrypt(&packed), &values, packed.precision_bits(), within, "there and back");
        }
    }
}

#[test]
fn unplanned_slots_and_capacities_are_refused() {
    let s = setup(context(9, 17, 1), literal(&[16], 32));
    let values = spread(16, 1.0);
    let refused = s.pegasus.to_coefficients(&s.encrypt(&values[..8], 40, 300.0)).unwrap_err();
    assert_eq!(refused.to_string(), "slots to coefficients: there are 8 slots: 16 were planned");
    let refused = s.pegasus.to_coefficients(&s.encrypt(&values, 40, 100.0));
    assert!(matches!(refused, Err(PegasusError::Ckks(CkksError::Capacity { .. }))));
    for bound in [0.0, f64::INFINITY] {
        let mut a = s.encrypt(&values, 40, 300.0);
        a.set_bound(bound);
        assert!(matches!(s.pegasus.to_coefficients(&a), Err(PegasusError::Domain { .. })));
    }
}
