use hippocrene_ckks::Scale;
use hippocrene_rlwe::design::{Request, design};

use super::*;
use crate::Stored;

#[test]
fn presets_are_secure() {
    for preset in PRESETS {
        let settings = preset.settings().unwrap();
        assert_eq!(settings.parameters().digest(), preset.parameters().unwrap().digest());
        // A gate needs no larger modulus, so security is higher.
        let security = if preset.name == "bits16" { 256 } else { 128 };
        assert_eq!(preset.describe().unwrap().security.bits, security, "{}", preset.name);
    }
    let names: std::collections::HashSet<&str> = PRESETS.iter().map(|p| p.name).collect();
    assert_eq!(names.len(), PRESETS.len());
    assert!(Preset::by_name("n99").unwrap_err().to_string().contains("n13, n14, n15, n16"));
}

#[test]
fn digits_are_below_the_specials() {
    for preset in PRESETS {
        let parameters = preset.parameters().unwrap();
        let top = parameters.top();
        let digits: Vec<f64> =
            parameters.digits(top).map(|(_, digit)| parameters.log2(digit)).collect();
        assert_eq!(digits.len(), preset.gadget_rank, "{}", preset.name);
        let largest = digits.iter().copied().fold(0.0, f64::max);
        let margin = match (preset.family, preset.log_degree) {
            (Family::Grafted, 13) => 0.19,
            (Family::Grafted, _) => 2.99,
            (Family::Bits, _) => 2.67,
            _ => 0.0,
        };
        let p = parameters.log2(parameters.specials());
        assert!(p >= largest + margin, "{}: {p} {digits:?}", preset.name);
    }
}

/// Our sets use the security limit, and their sprouts are universal for their words.
///
/// No set that the rule of GRAFT's Appendix G designs, for the same usable bits and the same room
/// above the digits, needs fewer transforms.
#[test]
fn ours_are_well_designed() {
    let ours = PRESETS.into_iter().filter(|p| p.family == Family::Grafted);
    for preset in ours {
        let parameters = preset.parameters().unwrap();
        let (top, fresh) = (parameters.top(), preset.fresh(&parameters));
        let limit = f64::from(parameters.security().unwrap().log2_pq);
        let log2_pq = parameters.log2(parameters.full());
        assert!(log2_pq > 0.97 * limit, "{}: {log2_pq} of {limit}", preset.name);
        let word = preset.units.iter().map(|(bits, _)| *bits).max().unwrap();
        let sprout = Sprout::named(preset.sprout.unwrap()).unwrap();
        assert!(sprout.epsilon(word - 1) < 0.4151, "{}", preset.name);
        assert!(fresh.divides(top) && fresh.contains(Modulus::TWO) == (preset.log_degree < 14));
        let two = f64::from(sprout.two);
        let odd = parameters.log2(top) - two;
        assert!(
            (parameters.log2(fresh) - odd - if preset.fresh_two { two } else { 0.0 }).abs() < 1e-9
        );
        let rule = design(&Request {
            log_degree: preset.log_degree,
            secret: preset.secret,
            sprout,
            usable: odd.round() as u32 - 1,
            word: word.max(if preset.log_degree == 12 { 38 } else { 48 }),
            log2_pq: None,
            margin: if preset.log_degree == 13 { 0 } else { 3 },
        });
        let transforms = (preset.gadget_rank + 2)
            * (parameters.unit_count() + 1 + parameters.specials().limb_count());
        let least = rule.unwrap().transforms();
        assert!(
            transforms <= least,
            "{}: {transforms} transforms, {least} by the rule",
            preset.name
        );
    }
}

#[test]
fn scales_of_simple_chains_are_steady() {
    for preset in PRESETS.into_iter().filter(|p| p.family == Family::Simple) {
        let settings = preset.settings().unwrap();
        let parameters = settings.parameters();
        let bits = preset.scale_bits.unwrap();
        let mut scale = settings.scale();
        assert_eq!(scale.log2(), f64::from(bits));
        for l in (1..parameters.unit_count()).rev() {
            scale = scale.times(scale).divided_by(parameters.factor(l));
            assert!((scale.log2() - f64::from(bits)).abs() < 1e-3, "{} {l} {scale}", preset.name);
        }
        let limit = f64::from(parameters.security().unwrap().log2_pq);
        assert!(parameters.log2(parameters.full()) > limit - 45.0, "{}", preset.name);
    }
}

#[test]
fn invalid_parameters_are_refused() {
    let (simple, grafted) = (PRESETS[9], PRESETS[2]);
    for wrong in [
        Preset { log_degree: 64, ..simple },
        Preset { units: &[(0, 1)], ..simple },
        Preset { units: &[(64, 1)], ..simple },
        Preset { units: &[(40, usize::MAX)], ..simple },
        Preset { units: &[(46, 1), (40, 4)], ..simple },
        Preset { gadget_rank: 0, ..simple },
        Preset { log_degree: 64, ..grafted },
        Preset { units: &[(40, usize::MAX)], ..grafted },
        Preset { specials: &[(62, 1)], ..grafted },
        Preset { sprout: Some("sprout-1"), ..grafted },
        Preset { sprout: Some("sprout-15-16-17"), ..grafted },
    ] {
        let error = wrong.parameters().unwrap_err();
        assert!(matches!(error, Error::Parameters(_) | Error::Security(_)), "{error}");
    }
}

/// In files, a key has the size that [`hippocrene_rlwe::KeySize`] states, and a few bytes that name
/// it.
#[test]
fn keys_are_stored_in_the_stated_size() {
    let preset = Preset::by_name("n13").unwrap();
    let client = crate::ClientKey::generate(preset.settings().unwrap()).unwrap();
    let bytes = |rotations: &[i64]| {
        let request = crate::KeyRequest::only(rotations.iter().copied());
        client.evaluation_keys(&request).unwrap().to_bytes().len()
    };
    let seeded = preset.parameters().unwrap().switching_key_size().seeded;
    let more = bytes(&[1, 2]) - bytes(&[1]);
    assert!((seeded..seeded + 32).contains(&more), "{more} bytes, {seeded} stated");
}

/// Bootstraps of bits fit into their sets.
///
/// Ours fail less often than once in `2^128` times, and are secure together with the keys of
/// encapsulation.
#[test]
fn bootstraps_of_bits_fit_into_their_sets() {
    use std::sync::Arc;

    use hippocrene_ckks::{Context, bits::BitPlan};
    use hippocrene_ring::Threads;

    // The capacity for products between two bootstraps, in bits.
    for (name, room) in [("bits14", 0.0), ("bits16", 0.0), ("n16s", 500.0)] {
        let preset = Preset::by_name(name).unwrap();
        let parameters = preset.parameters().unwrap();
        let context = Arc::new(Context::new(parameters, Threads::single()).unwrap());
        let plan = BitPlan::new(context, preset.bits().unwrap()).unwrap();
        assert!(plan.log2_failure_probability() < -128.0, "{name}");
        assert!(plan.sparse_context().parameters().security().is_some(), "{name}");
        let parameters = plan.context().parameters();
        let left = parameters.log2(parameters.top()) - plan.bits() - plan.bits_needed();
        assert!(left >= room - 1.0, "{name}: {left}");
    }
    assert!(Preset::by_name("n14").unwrap().bits().unwrap_err().to_string().contains("bits14"));
}

/// The listed failure probabilities are those of the plans.
#[test]
fn listed_failure_probabilities_are_those_of_the_plans() {
    use std::sync::Arc;

    use hippocrene_arrays::{Bootstrapping, Session};
    use hippocrene_ckks::bits::BitPlan;

    for preset in PRESETS {
        let listed = preset.failures();
        let session = preset.settings().and_then(Session::dry_run);
        let Ok(session) = session else {
            assert!(listed.is_empty(), "{}", preset.name);
            continue;
        };
        let described = Bootstrapping::default().describe(&session).ok();
        let numbers = described.map(|described| described.log2_failure_probability);
        let bits = preset.bits().ok().and_then(|bits| {
            let plan = BitPlan::new(Arc::clone(session.context()), bits).ok()?;
            Some((plan.log2_failure_probability() * 10.0).ceil() / 10.0)
        });
        let mut have = listed.iter();
        for (of, expected) in [("numbers", numbers), ("bits", bits.map(Some))] {
            if let Some(expected) = expected {
                let found = have.next().expect(preset.name);
                assert_eq!(
                    (found.of, found.log2_failure_probability),
                    (of, expected),
                    "{}",
                    preset.name
                );
            }
        }
        assert!(have.next().is_none(), "{}", preset.name);
    }
}

#[test]
fn scales_follow_from_precisions() {
    for settings in PRESETS.into_iter().filter_map(|preset| preset.settings().ok()) {
        let overhead = settings.overhead();
        assert!((9.0..22.0).contains(&overhead), "{overhead}");
        for precision in [0.5, 20.0, 31.3, 53.0] {
            let bits = settings.scale_of(precision).unwrap().log2();
            assert!(bits >= precision + overhead && bits < precision + overhead + 1.0);
        }
        let parameters = settings.parameters();
        for bits in [10, 33, 59] {
            let at = Settings::at_scale(parameters.clone(), bits).unwrap();
            assert_eq!(at.scale(), Scale::power_of_two(bits as i32));
            assert_eq!(at.scale_of(at.precision()).unwrap(), at.scale());
        }
        let two = parameters.top().two();
        assert!(settings.fresh().divides(parameters.top()) && settings.fresh().two() <= two);
        assert!(settings.clone().with_fresh_two(two + 1).is_err());
        for wrong in [-20.0, 1e4, f64::NAN, f64::INFINITY] {
            let error = settings.clone().with_precision(wrong).unwrap_err().to_string();
            assert!(error.contains("2^10"), "{error}");
        }
        let error = settings.scale_of(1e308).unwrap_err().to_string();
        assert!(
            error.starts_with("a precision of 1e308 bits takes a scale of 2^1e308;"),
            "{error}"
        );
    }
}
