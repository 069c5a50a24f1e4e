use hippocrene_rlwe::design::{Request, design};

use super::*;

/// The refused sets, with their excess over our limits for sparse secrets, in bits.
const REFUSED: [(&str, f64); 8] = [
    ("simFHE15s", 9.0),
    ("graFHE15s", 2.0),
    ("simFHE16s", 5.0),
    ("graFHE16s", 5.2),
    ("simBinFHE14", 362.0),
    ("graBinFHE14", 360.0),
    ("graBinFHE14Opt", 358.0),
    ("simBinFHE16", 48.0),
];

#[test]
fn presets_are_secure_or_refused() {
    for preset in PRESETS {
        let parameters = preset.parameters_insecure().unwrap();
        let log2_pq = parameters.log2(parameters.full());
        match (REFUSED.iter().find(|(name, _)| *name == preset.name), preset.parameters()) {
            (Some((_, beyond)), Err(Error::Security(error))) => {
                // At 2^14 the only limit is that for the keys of encapsulation.
                let limit = match preset.log_degree {
                    14 => 65.0,
                    15 => 768.0,
                    _ => 1550.0,
                };
                assert!(
                    (log2_pq - limit - beyond).abs() < 0.1,
                    "{} {log2_pq}: {error}",
                    preset.name
                );
                assert_eq!(preset.describe().unwrap().security, None);
            }
            (None, Ok(checked)) => {
                let security = preset.describe().unwrap().security.unwrap();
                // A gate needs no larger modulus, so security is higher.
                let ours = if preset.name == "bits16" { 256 } else { 128 };
                let stated = preset.paper.map_or(ours, |paper| paper.security);
                assert_eq!(security.bits, stated, "{}", preset.name);
                assert_eq!(checked.digest(), parameters.digest());
                let settings = preset.settings().unwrap();
                assert_eq!(settings.parameters().digest(), checked.digest());
            }
            (_, other) => panic!("{}: {other:?}", preset.name),
        }
    }
    let names: std::collections::HashSet<&str> = PRESETS.iter().map(|p| p.name).collect();
    assert_eq!(names.len(), PRESETS.len());
    assert!(Preset::by_name("n99").unwrap_err().to_string().contains("n13, n14, n15, n16"));
    assert_eq!(Preset::by_name("graSHE14").unwrap().gadget_rank, 3);
}

#[test]
fn digits_are_below_the_specials() {
    for preset in PRESETS {
        let parameters = preset.parameters_insecure().unwrap();
        let top = parameters.top();
        let digits: Vec<f64> =
            parameters.digits(top).map(|(_, digit)| parameters.log2(digit)).collect();
        assert_eq!(digits.len(), preset.gadget_rank, "{}", preset.name);
        let largest = digits.iter().copied().fold(0.0, f64::max);
        let margin = match (preset.family, preset.log_degree) {
            (Family::Grafted, 13) => 0.19,
            (Family::Grafted, _) => 2.99,
            (Family::Bits, _) => 2.67,
            // The sprout is larger than the paper's P, but most moduli contain only a part of it.
            (Family::Table3, 14) if preset.is_grafted() => -5.01,
            // The digits of 13 primes differ by more than P exceeds their mean.
            (Family::Table3, 16) if !preset.is_grafted() => -2.01,
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

/// Each set of GRAFT's Table 2 has the paper's number of factors, gadget rank and bits.
///
/// Both sets of a pair have the same usable bits, except for the documented differences.
#[test]
fn table_2_is_as_in_the_paper() {
    // The columns # and d, and the bits of Q.
    let paper = [
        ("simSHE14", 10, 4, 306),
        ("graSHE14", 8, 3, 306),
        ("simSHE15", 13, 4, 412),
        ("graSHE15", 10, 3, 412),
        ("simSHE15s", 14, 6, 555),
        ("graSHE15s", 11, 5, 555),
        ("simFHE15s", 22, 10, 693),
        ("graFHE15s", 13, 6, 657),
        ("simFHE16", 35, 6, 1429),
        ("graFHE16", 29, 5, 1429),
        ("simFHE16s", 30, 5, 1258),
        ("graFHE16s", 27, 5, 1258),
    ];
    for (name, factors, rank, usable) in paper {
        let preset = Preset::by_name(name).unwrap();
        let parameters = preset.parameters_insecure().unwrap();
        let count = parameters.unit_count()
            + parameters.specials().limb_count()
            + usize::from(preset.is_grafted());
        assert_eq!((count, preset.gadget_rank), (factors, rank), "{name}");
        let described = preset.describe().unwrap();
        let paper = described.paper.as_ref().unwrap();
        // 62-bit primes that have 61 bits here, in Q and in P, and the 4* of graFHE15s.
        let (in_q, in_p) = match name {
            "graSHE15s" => (6.0, 2.0),
            "graFHE15s" => (5.0 + 4.0, 1.0),
            _ => (0.0, 0.0),
        };
        assert!(
            (described.usable_bits - f64::from(usable) + in_q).abs() < 0.21,
            "{name}: {described:?}"
        );
        assert!((paper.difference_bits + in_q + in_p).abs() < 1.01, "{name}: {paper:?}");
        assert_eq!(paper.differs.is_empty(), in_q == 0.0, "{name}");
    }
}

/// The key sizes are those of GRAFT's Table 5, in MB.
///
/// The last columns are the reduction from the simple set's key to the grafted set's: in percent as
/// the paper counts it, and as a fraction of our stored keys.
#[test]
fn keys_shrink_as_in_table_5() {
    let table = [
        ("SHE14", 10.49, 7.08, 32, 0.257),
        ("SHE15", 27.26, 17.30, 37, 0.254),
        ("SHE15s", 44.04, 31.46, 29, 0.178),
        ("FHE15s", 115.34, 44.04, 62, 0.411),
        ("FHE16", 220.20, 157.29, 29, 0.172),
        ("FHE16s", 157.29, 146.80, 7, 0.007),
    ];
    for (name, simple, grafted, percent, stored) in table {
        let size = |kind: &str| {
            let preset = Preset::by_name(&format!("{kind}{name}")).unwrap();
            preset.parameters_insecure().unwrap().switching_key_size()
        };
        let (sim, gra) = (size("sim"), size("gra"));
        for (have, want) in [(sim, simple), (gra, grafted)] {
            assert!(
                (have.words as f64 / 1e6 - want).abs() < 0.006,
                "{name}: {have:?}, the paper {want} MB"
            );
            assert_eq!(have.packed, 2 * (have.seeded - 32));
        }
        let reduction = |a: usize, b: usize| 1.0 - b as f64 / a as f64;
        assert_eq!((100.0 * reduction(sim.words, gra.words)).round() as i32, percent, "{name}");
        let ours = reduction(sim.packed, gra.packed);
        assert!((ours - stored).abs() < 0.001, "{name}: {ours}");
    }
}

#[test]
fn nonsense_is_refused() {
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
    let client = crate::ClientKey::generate(preset).unwrap();
    let bytes = |rotations: &[i64]| {
        let request = crate::KeyRequest::only(rotations.iter().copied());
        client.evaluation_keys(&request).unwrap().to_bytes().len()
    };
    let seeded = preset.parameters().unwrap().switching_key_size().seeded;
    let more = bytes(&[1, 2]) - bytes(&[1]);
    assert!((seeded..seeded + 32).contains(&more), "{more} bytes, {seeded} stated");
}

/// Each set of GRAFT's Table 3 has the paper's number of factors, gadget rank and bits.
///
/// The exceptions are the documented differences.
#[test]
fn table_3_is_as_in_the_paper() {
    // The columns # and dnum, and the paper's log2 PQ minus ours, in bits.
    let paper = [
        ("simBinFHE14", 14, 13, -3.0),
        ("graBinFHE14", 8, 7, 1.0),
        ("graBinFHE14Opt", 8, 7, 1.0),
        ("simBinFHE16", 46, 3, 0.0),
        ("graBinFHE16", 25, 4, 23.0),
    ];
    for (name, factors, rank, less) in paper {
        let preset = Preset::by_name(name).unwrap();
        let parameters = preset.parameters_insecure().unwrap();
        let count = parameters.unit_count()
            + parameters.specials().limb_count()
            + usize::from(preset.is_grafted());
        assert_eq!((count, preset.gadget_rank), (factors, rank), "{name}");
        let described = preset.describe().unwrap().paper.unwrap();
        assert!((described.difference_bits + less).abs() < 1.01, "{name}: {described:?}");
        assert_eq!(described.differs.is_empty(), less == 0.0, "{name}");
    }
}

/// Bootstraps of bits fit into their sets.
///
/// Ours fail less often than once in `2^128` times, and are secure together with the keys of
/// encapsulation.
#[test]
fn bits_are_bootstrapped_with_the_sets_that_are_made_for_it() {
    use std::sync::Arc;

    use hippocrene_ckks::{Context, bits::BitPlan};
    use hippocrene_ring::Threads;

    // The capacity for products between two bootstraps, in bits; the paper has 52, 52, 72, 840
    // and 840.
    for (name, room) in [
        ("bits14", 0.0),
        ("bits16", 0.0),
        ("n16s", 500.0),
        ("simBinFHE14", 52.0),
        ("graBinFHE14", 52.0),
        ("graBinFHE14Opt", 72.0),
        ("graBinFHE16", 770.0),
    ] {
        let preset = Preset::by_name(name).unwrap();
        let paper = preset.paper.is_some();
        let parameters = if paper { preset.parameters_insecure() } else { preset.parameters() };
        let context = Arc::new(Context::new(parameters.unwrap(), Threads::single()).unwrap());
        let plan = BitPlan::new(context, preset.bits().unwrap()).unwrap();
        assert_eq!(plan.log2_failure_probability() < -128.0, !paper, "{name}");
        assert_eq!(plan.narrow().parameters().security().is_some(), !paper, "{name}");
        let parameters = plan.context().parameters();
        let used = if paper { plan.bits_of_refresh() } else { plan.bits() };
        let left = parameters.log2(parameters.top()) - used - plan.bits_needed();
        assert!(left >= room - 1.0, "{name}: {left}");
    }
    assert!(Preset::by_name("n14").unwrap().bits().unwrap_err().to_string().contains("bits14"));
}

/// The listed failure probabilities are those of the plans.
#[test]
fn bootstraps_fail_as_likely_as_is_written_down() {
    use std::sync::Arc;

    use crate::{Bootstrapping, Session};
    use hippocrene_ckks::bits::BitPlan;

    for preset in PRESETS {
        let told = preset.failures();
        let session = preset.settings().and_then(Session::hollow);
        let Ok(session) = session else {
            assert!(told.is_empty(), "{}", preset.name);
            continue;
        };
        let described = Bootstrapping::default().describe(&session).ok();
        let numbers = described.map(|described| described.log2_failure_probability);
        let bits = preset.bits().ok().and_then(|bits| {
            let plan = BitPlan::new(Arc::clone(session.context()), bits).ok()?;
            Some((plan.log2_failure_probability() * 10.0).ceil() / 10.0)
        });
        let mut have = told.iter();
        for (of, likely) in [("numbers", numbers), ("bits", bits.map(Some))] {
            if let Some(likely) = likely {
                let found = have.next().expect(preset.name);
                assert_eq!(
                    (found.of, found.log2_failure_probability),
                    (of, likely),
                    "{}",
                    preset.name
                );
            }
        }
        assert!(have.next().is_none(), "{}", preset.name);
    }
}
