//! Repacking compared with a plain reference, for short and tall matrices, layouts, moduli and
//! threads.

use std::sync::LazyLock;

use crate::common::{Q, Setup, check, context, literal, setup, spread, tables};
use hippocrene_ckks::Scale;
use hippocrene_fhew::LweSecretKey;
use hippocrene_pegasus::{Layout, Numbers, PegasusError, PegasusLiteral, PegasusPlan};
use proptest::prelude::*;

/// Returns `I + x/q` divided by the reach, which a partial decryption holds by its definition.
fn partial(numbers: &Numbers, secret: &[i64], reach: f64) -> Vec<f64> {
    let q = numbers.parameters().modulus() as i64;
    let centred = |x: u64| if x as i64 > q / 2 { x as i64 - q } else { x as i64 };
    let of = |c: &hippocrene_fhew::LweCiphertext| {
        let sum: i128 = c.a().iter().zip(secret).map(|(a, s)| i128::from(centred(*a) * s)).sum();
        (sum + i128::from(centred(c.b()))) as f64 / q as f64 / reach
    };
    numbers.ciphertexts().iter().map(of).collect()
}

#[test]
fn partial_decryptions_of_all_shapes() {
    let s = setup(context(10, 17, 1), literal(&[16], 64));
    let reach = s.pegasus.plan().literal().reduction.reach();
    // Short, square and tall matrices, up to all slots.
    for count in [1, 2, 3, 16, 50, 64, 200, 512] {
        let layout = Layout::in_order(count);
        let (mut got, mut all, mut precision) = (Vec::new(), Vec::new(), 0.0);
        for _ in 0..(256 / count).clamp(1, 5) {
            let x = s.numbers(&spread(count, 1.0), 1.0);
            let y = s.pegasus.partial_decryption(&x, &layout).unwrap();
            assert_eq!(y.slots(), layout.slots());
            let mut expected = partial(&x, s.lwe.coefficients(), reach);
            assert!(expected.iter().all(|x| x.abs() < 1.0));
            expected.resize(layout.slots(), 0.0);
            all.extend(expected);
            got.extend(s.decrypt(&y));
            precision = y.precision_bits();
        }
        // The errors of few slots vary by chance.
        let within = if count >= 50 { 0.7 } else { 12.0 };
        check(&got, &all, precision, within, &format!("{count} numbers"));
    }
}

#[test]
fn numbers_are_repacked_to_the_slots_of_the_layout() {
    let s = setup(context(10, 17, 1), literal(&[16], 64));
    for (slots, places) in [
        (64, (0..64).collect::<Vec<_>>()),
        (128, (0..100).map(|i| (37 * i + 5) % 128).collect()),
        (32, vec![31, 0, 7]),
        (1, vec![0]),
    ] {
        let bound = 2.0;
        let values = spread(places.len(), bound);
        let mut expected = vec![0.0; slots];
        places.iter().zip(&values).for_each(|(place, x)| expected[*place] = *x);
        let x = s.numbers(&values, bound);
        let y = s.pegasus.repack(&x, &Layout::new(slots, places).unwrap()).unwrap();
        assert_eq!((y.slots(), y.bound()), (slots, bound));
        let scale = y.scale().log2() - s.pegasus.plan().literal().output_scale_bits;
        assert!(scale.abs() < 1.0, "the scale is 2^{scale} too large");
        let capacity = y.capacity_bits(&s.context) - s.pegasus.plan().literal().output_bits;
        assert!(
            (-2.0..30.0).contains(&capacity),
            "the capacity is {capacity} bits above the planned one"
        );
        let within = if slots >= 64 { 1.5 } else { 12.0 };
        check(&s.decrypt(&y), &expected, y.precision_bits(), within, &format!("{slots} slots"));
        assert!(y.precision_bits() > 12.0, "{}", y.precision_bits());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_layout_of_any_count_is_repacked(
        log_slots in 0u32..9,
        seed in 0usize..1000,
        full in 1usize..100,
    ) {
        static SETUP: LazyLock<Setup> =
            LazyLock::new(|| setup(context(9, 17, 1), literal(&[16], 32)));
        let slots = (1usize << log_slots).min(SETUP.context.max_slots());
        let count = (slots * full / 100).max(1);
        // An odd step visits every slot once.
        let places: Vec<usize> = (0..count).map(|i| ((2 * seed + 1) * i + seed) % slots).collect();
        let values = spread(count, 2.0);
        let mut expected = vec![0.0; slots];
        places.iter().zip(&values).for_each(|(place, x)| expected[*place] = *x);
        let y = SETUP
            .pegasus
            .repack(&SETUP.numbers(&values, 2.0), &Layout::new(slots, places).unwrap())
            .unwrap();
        check(&SETUP.decrypt(&y), &expected, y.precision_bits(), 12.0, "any layout");
    }
}

#[test]
fn numbers_are_added_between_extraction_and_repacking() {
    let s = setup(context(9, 17, 2), literal(&[16], 32));
    let (u, v) = (spread(200, 0.3), spread(400, 0.3)[200..].to_vec());
    let x = s.numbers(&u, 1.0).with_bound(0.3).unwrap();
    let y = s.numbers(&v, 1.0).with_bound(0.3).unwrap();
    let z = x.add(&y.clone().times_integer(-2).unwrap()).unwrap().plus(0.05).unwrap();
    let z = z.sub(&x.select(&[0; 200]).unwrap()).unwrap();
    assert!((z.bound() - 1.25).abs() < 1e-12);
    let expected: Vec<f64> = (0..200).map(|i| u[i] - 2.0 * v[i] + 0.05 - u[0]).collect();
    check(&s.decrypt_numbers(&z), &expected, z.precision_bits(), 1.0, "sums");
    // Their bound may exceed the limit of the reduction. A caller who knows a tighter bound
    // declares it.
    let layout = Layout::in_order(200);
    assert!(matches!(s.pegasus.repack(&z, &layout), Err(PegasusError::Domain { .. })));
    let packed =
        s.pegasus.repack(&z.clone().over(1.25).unwrap().with_bound(0.8).unwrap(), &layout).unwrap();
    let scaled: Vec<f64> = expected.iter().map(|x| x / 1.25).chain([0.0; 56]).collect();
    check(&s.decrypt(&packed), &scaled, packed.precision_bits(), 2.0, "repacked");
    let both = x.concat(&y).unwrap();
    check(&s.decrypt_numbers(&both), &[u, v].concat(), both.precision_bits(), 1.0, "concatenated");
}

/// Any modulus works, and the number of threads changes nothing.
#[test]
fn moduli_and_threads_change_no_result() {
    let bits = |threads| {
        let s = setup(context(9, 17, threads), literal(&[16], 32));
        let q = (1 << 24) - 3;
        let x = s.numbers(&spread(32, 1.0), 1.0);
        let small = x.ciphertexts().iter().map(|c| c.switch_modulus(q).unwrap()).collect();
        let scale = x.scale().times_integer(q).divided_by(*Q);
        let x = Numbers::new(small, scale, 1.0).unwrap();
        let y = s.pegasus.repack(&x, &Layout::in_order(32)).unwrap();
        check(&s.decrypt(&y), &spread(32, 1.0), y.precision_bits(), 1.5, "modulo 2^24");
        let again = s.pegasus.repack(&x, &Layout::in_order(32)).unwrap();
        assert_eq!(y, again);
    };
    bits(1);
    bits(2);
}

#[test]
fn other_layouts_keys_and_bounds_are_refused() {
    let s = setup(context(9, 17, 1), literal(&[16], 32));
    let x = s.numbers(&[0.5, -0.5], 1.0);
    let refused =
        |x: &Numbers, layout: Layout| s.pegasus.repack(x, &layout).unwrap_err().to_string();
    assert!(refused(&x, Layout::in_order(3)).contains("places for 3 numbers, but there are 2"));
    assert!(
        refused(&x, Layout::new(512, vec![0, 1]).unwrap()).contains("the layout has 512 slots")
    );
    let other = LweSecretKey::generate(s.lwe.parameters()).unwrap();
    let foreign = Numbers::new(vec![other.encrypt(5).unwrap()], x.scale(), 1.0).unwrap();
    assert!(refused(&foreign, Layout::in_order(1)).contains("under the key"));
    assert!(x.add(&foreign).is_err() && x.clone().concat(&foreign).is_err());
    assert!(matches!(x.clone().times_integer(1000), Err(PegasusError::Domain { .. })));
    assert!(matches!(
        x.clone().over(2.0).unwrap().add(&x),
        Err(PegasusError::ScaleMismatch { .. })
    ));
    assert!(Numbers::new(vec![], Scale::power_of_two(0), 1.0).is_err());
    assert!(x.select(&[2]).is_err() && x.over(0.0).is_err());
}

#[test]
fn plans_state_moduli_and_failure_probabilities() {
    let c = context(9, 17, 1);
    let plan = |change: &dyn Fn(&mut PegasusLiteral)| {
        let mut literal = literal(&[16], 32);
        change(&mut literal);
        PegasusPlan::new(c.clone(), literal)
    };
    let good = plan(&|_| ()).unwrap();
    assert_eq!(good.repacking_rotations(), [1, 2, 3, 4, 5, 6, 7, 8, 16, 24]);
    // The secret has at most 32 coefficients that are not 0, so |I| >= 20 is impossible.
    assert_eq!(good.log2_failure_probability(1 << 8), f64::NEG_INFINITY);
    let larger = plan(&|l| l.tables = tables(128)).unwrap();
    let fails = larger.log2_failure_probability(256);
    assert!((-60.0..-20.0).contains(&fails), "2^{fails}");
    assert!((larger.log2_failure_probability(512) - fails - 1.0).abs() < 1e-9);
    // The capacity of the output determines the modulus that repacking starts from (section
    // IV.C.3).
    let log2 = |p: &PegasusPlan| c.parameters().log2(p.repacking());
    let more = plan(&|l| l.output_bits += 48.0).unwrap();
    assert!((log2(&more) - log2(&good) - 48.0).abs() < 24.0);
    assert!(good.repacking().two() == 0);
    assert!(plan(&|l| l.slots = vec![12]).unwrap_err().to_string().contains("12 slots"));
    assert!(
        plan(&|l| l.output_bits = 2000.0)
            .unwrap_err()
            .to_string()
            .contains("repacking needs a modulus of")
    );
    assert!(plan(&|l| l.baby = 64).unwrap_err().to_string().contains("64 baby steps"));
    assert!(plan(&|l| l.bound = 0.0).is_err() && plan(&|l| l.key_bits = 0.0).is_err());
}
