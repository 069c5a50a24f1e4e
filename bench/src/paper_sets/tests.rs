use std::sync::Arc;

use hippocrene::ckks::{Context, bits::BitPlan};
use hippocrene_ring::Threads;
use hippocrene_rlwe::{RlweError, security};

use super::*;

/// The sets beyond our limits for sparse secrets, with their excess in bits.
const INSECURE: [(&str, f64); 8] = [
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
fn sets_are_secure_or_listed() {
    for set in TABLE_2.into_iter().chain(TABLE_3) {
        let (name, parameters) = (set.preset.name, set.insecure_parameters().unwrap());
        let log2_pq = parameters.log2(parameters.full());
        let checked = Parameters::new(set.preset.literal().unwrap());
        match (INSECURE.iter().find(|(listed, _)| *listed == name), checked) {
            (Some((_, beyond)), Err(RlweError::Insecure { .. })) => {
                // At 2^14 the only limit is that for the keys of encapsulation.
                let limit = match set.preset.log_degree {
                    14 => 65.0,
                    15 => 768.0,
                    _ => 1550.0,
                };
                assert!((log2_pq - limit - beyond).abs() < 0.1, "{name}: {log2_pq}");
            }
            (None, Ok(_)) => {
                let level = security::level(set.preset.log_degree, set.preset.secret, log2_pq);
                assert_eq!(level.unwrap().bits, set.security, "{name}");
            }
            (_, other) => panic!("{name}: {other:?}"),
        }
    }
    assert!(PaperSet::by_name("n14").is_err());
}

#[test]
fn digits_barely_exceed_the_specials() {
    for set in TABLE_2.into_iter().chain(TABLE_3) {
        let (name, parameters) = (set.preset.name, set.insecure_parameters().unwrap());
        let digits: Vec<f64> =
            parameters.digits(parameters.top()).map(|(_, digit)| parameters.log2(digit)).collect();
        assert_eq!(digits.len(), set.preset.gadget_rank, "{name}");
        let largest = digits.iter().copied().fold(0.0, f64::max);
        let margin = match name {
            // The sprout is larger than the paper's P, but most moduli contain only a part of it.
            "graBinFHE14" | "graBinFHE14Opt" => -5.01,
            // The digits of 13 primes differ by more than P exceeds their mean.
            "simBinFHE16" => -2.01,
            _ => 0.0,
        };
        let p = parameters.log2(parameters.specials());
        assert!(p >= largest + margin, "{name}: {p} {digits:?}");
    }
}

#[test]
fn bits_are_bootstrapped_with_table_3() {
    // The capacity for products between two bootstraps, in bits; the paper has 840 for the last.
    for (name, room) in [
        ("simBinFHE14", 52.0),
        ("graBinFHE14", 52.0),
        ("graBinFHE14Opt", 72.0),
        ("graBinFHE16", 770.0),
    ] {
        let context =
            Arc::new(Context::new(parameters_of(name).unwrap(), Threads::single()).unwrap());
        let plan = BitPlan::new(context, bits_of(name).unwrap()).unwrap();
        assert!(plan.log2_failure_probability() > -128.0, "{name}");
        assert!(plan.sparse_context().parameters().security().is_none(), "{name}");
        let parameters = plan.context().parameters();
        let left =
            parameters.log2(parameters.top()) - plan.modulus_bits_of_refresh() - plan.bits_needed();
        assert!(left >= room - 1.0, "{name}: {left}");
    }
    assert!(bits_of("graSHE14").is_err() && bits_of("bits14").unwrap().clean);
}

/// Each set of GRAFT's Table 2 has the paper's number of factors, gadget rank and bits.
///
/// Both sets of a pair have the same usable bits, except for the documented differences.
#[test]
fn table_2_matches_the_paper() {
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
        let set = PaperSet::by_name(name).unwrap();
        let (preset, parameters) = (set.preset, set.insecure_parameters().unwrap());
        let count = parameters.unit_count()
            + parameters.specials().limb_count()
            + usize::from(preset.is_grafted());
        assert_eq!((count, preset.gadget_rank), (factors, rank), "{name}");
        let log2 = |modulus| parameters.log2(modulus);
        // 62-bit primes that have 61 bits here, in Q and in P, and the 4* of graFHE15s.
        let (in_q, in_p) = match name {
            "graSHE15s" => (6.0, 2.0),
            "graFHE15s" => (5.0 + 4.0, 1.0),
            _ => (0.0, 0.0),
        };
        assert!(
            (log2(preset.fresh(&parameters)) - f64::from(usable) + in_q).abs() < 0.21,
            "{name}"
        );
        let difference = log2(parameters.full()) - f64::from(set.log2_pq);
        assert!((difference + in_q + in_p).abs() < 1.01, "{name}: {difference}");
        assert_eq!(set.differs.is_empty(), in_q == 0.0, "{name}");
    }
}

/// The key sizes are those of GRAFT's Table 5, in MB.
///
/// The last columns are the reduction from the simple set's key to the grafted set's: in percent as
/// the paper counts it, and as a fraction of our stored keys.
#[test]
fn key_sizes_match_table_5() {
    let table = [
        ("SHE14", 10.49, 7.08, 32, 0.257),
        ("SHE15", 27.26, 17.30, 37, 0.254),
        ("SHE15s", 44.04, 31.46, 29, 0.178),
        ("FHE15s", 115.34, 44.04, 62, 0.411),
        ("FHE16", 220.20, 157.29, 29, 0.172),
        ("FHE16s", 157.29, 146.80, 7, 0.007),
    ];
    for (name, simple, grafted, percent, stored) in table {
        let size =
            |kind: &str| parameters_of(&format!("{kind}{name}")).unwrap().switching_key_size();
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

/// Each set of GRAFT's Table 3 has the paper's number of factors, gadget rank and bits.
///
/// The exceptions are the documented differences.
#[test]
fn table_3_matches_the_paper() {
    // The columns # and dnum, and the paper's log2 PQ minus ours, in bits.
    let paper = [
        ("simBinFHE14", 14, 13, -3.0),
        ("graBinFHE14", 8, 7, 1.0),
        ("graBinFHE14Opt", 8, 7, 1.0),
        ("simBinFHE16", 46, 3, 0.0),
        ("graBinFHE16", 25, 4, 23.0),
    ];
    for (name, factors, rank, less) in paper {
        let set = PaperSet::by_name(name).unwrap();
        let (preset, parameters) = (set.preset, set.insecure_parameters().unwrap());
        let count = parameters.unit_count()
            + parameters.specials().limb_count()
            + usize::from(preset.is_grafted());
        assert_eq!((count, preset.gadget_rank), (factors, rank), "{name}");
        let difference = parameters.log2(parameters.full()) - f64::from(set.log2_pq);
        assert!((difference + less).abs() < 1.01, "{name}: {difference}");
        assert_eq!(set.differs.is_empty(), less == 0.0, "{name}");
    }
}
