//! Compares the re-design rule with GRAFT's Table 12.

use hippocrene_rlwe::{
    Parameters, RlweError, SecretDistribution, Sprout,
    design::{Design, Request, design},
};

/// A row of Tables 11 and 12.
struct Row {
    name: &'static str,
    log_degree: u32,
    /// The number of primes of the original set, and the number of specials among them.
    original: (usize, usize),
    /// `log2(PQ)` of the grafted set.
    log2_pq: u32,
    /// The bits of a word: 128 if the paper marks the row with an asterisk.
    word: u32,
    /// The sizes of its primes as (bits, count). One of the units is the sprout.
    units: &'static [(u32, usize)],
    specials: &'static [(u32, usize)],
    /// The speed-ups of additions and tensor products, and of key switching, that the paper
    /// predicts.
    tensor: f64,
    speed_up: f64,
    /// The differences of our design, if any: our specials, our speed-ups, and the reason.
    differs: Option<Difference>,
}

struct Difference {
    specials: &'static [(u32, usize)],
    tensor: f64,
    speed_up: f64,
    why: &'static str,
}

#[rustfmt::skip]
const TABLE_12: [Row; 16] = [
    Row { name: "HEaaN S 13", log_degree: 13, original: (5, 1), log2_pq: 217, word: 62, units: &[(54, 3)], specials: &[(55, 1)], tensor: 1.00, speed_up: 1.20, differs: None },
    Row { name: "HEaaN S 14", log_degree: 14, original: (10, 2), log2_pq: 437, word: 62, units: &[(54, 3), (55, 3)], specials: &[(55, 2)], tensor: 1.14, speed_up: 1.33, differs: None },
    Row { name: "HEaaN S 15, 42 bits", log_degree: 15, original: (20, 5), log2_pq: 860, word: 62, units: &[(53, 4), (54, 8)], specials: &[(54, 4)], tensor: 1.15, speed_up: 1.18, differs: None },
    Row { name: "HEaaN S 15, 40 bits", log_degree: 15, original: (21, 1), log2_pq: 855, word: 62, units: &[(61, 13)], specials: &[(62, 1)], tensor: 1.43, speed_up: 2.05, differs: None },
    Row { name: "HEaaN F 15", log_degree: 15, original: (17, 1), log2_pq: 773, word: 62, units: &[(59, 8), (60, 4)], specials: &[(61, 1)], tensor: 1.23, speed_up: 1.56, differs: None },
    Row { name: "HEaaN F 16", log_degree: 16, original: (30, 5), log2_pq: 1545, word: 62, units: &[(61, 5), (62, 15)], specials: &[(62, 5)], tensor: 1.19, speed_up: 1.35, differs: None },
    Row { name: "HEaaN F 17", log_degree: 17, original: (40, 10), log2_pq: 2070, word: 62, units: &[(57, 15), (58, 12)], specials: &[(57, 3), (58, 6)], tensor: 1.07, speed_up: 1.08, differs: None },
    Row { name: "Lattigo S 14", log_degree: 14, original: (12, 2), log2_pq: 428, word: 62, units: &[(61, 6)], specials: &[(62, 1)], tensor: 1.43, speed_up: 1.31, differs: None },
    Row { name: "Lattigo S 15", log_degree: 15, original: (21, 3), log2_pq: 886, word: 62, units: &[(59, 12)], specials: &[(59, 2), (60, 1)], tensor: 1.38, speed_up: 1.75, differs: None },
    Row { name: "Lattigo F 15", log_degree: 15, original: (16, 2), log2_pq: 768, word: 62, units: &[(59, 11)], specials: &[(59, 1), (60, 1)], tensor: 1.17, speed_up: 1.29, differs: None },
    Row { name: "Lattigo F 16, 40 bits", log_degree: 16, original: (30, 5), log2_pq: 1546, word: 62, units: &[(61, 4), (62, 16)], specials: &[(62, 5)], tensor: 1.19, speed_up: 1.35, differs: None },
    Row { name: "Lattigo F 16, 30 bits", log_degree: 16, original: (27, 5), log2_pq: 1553, word: 62, units: &[(61, 4), (62, 16)], specials: &[(62, 5)], tensor: 1.00, speed_up: 1.21,
        differs: Some(Difference { specials: &[(62, 5)], tensor: 1.05, speed_up: 1.21, why:
            "its 22 units take 22/21 times as many limbs as 20 and a sprout; the paper says as many" }) },
    Row { name: "OpenFHE S 14", log_degree: 14, original: (7, 1), log2_pq: 371, word: 62, units: &[(61, 1), (62, 4)], specials: &[(62, 1)], tensor: 1.00, speed_up: 1.14, differs: None },
    Row { name: "OpenFHE S 15", log_degree: 15, original: (7, 1), log2_pq: 675, word: 122, units: &[(111, 4), (112, 1)], specials: &[(119, 1)], tensor: 1.00, speed_up: 1.14, differs: None },
    Row { name: "OpenFHE F 16", log_degree: 16, original: (27, 5), log2_pq: 1558, word: 62, units: &[(62, 20)], specials: &[(53, 6)], tensor: 1.05, speed_up: 1.17,
        differs: Some(Difference { specials: &[(62, 5)], tensor: 1.05, speed_up: 1.21, why:
            "five words of 62 bits hold the largest digit; the paper takes six of 53" }) },
    Row { name: "OpenFHE F 17", log_degree: 17, original: (34, 6), log2_pq: 2910, word: 122, units: &[(121, 18)], specials: &[(122, 6)], tensor: 1.47, speed_up: 1.90, differs: None },
];

fn sum(sizes: &[(u32, usize)]) -> u32 {
    sizes.iter().map(|(bits, count)| bits * *count as u32).sum()
}

/// Returns sizes as runs, in ascending order.
fn runs(sizes: &[u32]) -> Vec<(u32, usize)> {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    sorted.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect()
}

/// The requested modulus and the bound on `PQ` are those of the row. The number of units and
/// specials, their sizes and the gadget rank must come out as in the paper. The predicted speed-up
/// determines the gadget rank. The paper's sprouts have the size of a unit in this table, so one of
/// our units represents the sprout. The paper counts it twice in times.
#[test]
fn table_12_is_reproduced() {
    for row in TABLE_12 {
        let request = Request {
            log_degree: row.log_degree,
            secret: SecretDistribution::Ternary,
            sprout: Sprout::default(),
            usable: sum(row.units),
            word: row.word,
            log2_pq: Some(row.log2_pq),
            margin: 0,
        };
        let ours = design(&request).unwrap();
        let as_the_paper = Difference {
            specials: row.specials,
            tensor: row.tensor,
            speed_up: row.speed_up,
            why: "as the paper",
        };
        let Difference { specials, tensor, speed_up, why } = row.differs.unwrap_or(as_the_paper);
        assert_eq!(runs(&ours.units), row.units, "{}", row.name);
        assert_eq!(runs(&ours.specials), specials, "{}: {why}", row.name);
        let (count, k) = row.original;
        let ratio = (count - k) as f64 / (ours.units.len() + 1) as f64;
        assert!((ratio - tensor).abs() < 0.0051, "{}: {ratio}, expected {tensor}: {why}", row.name);
        let simple = ((count - k).div_ceil(k) + 2) * count;
        let grafted = (ours.gadget_rank + 2) * (ours.words() + 1);
        let ratio = simple as f64 / grafted as f64;
        assert!(
            (ratio - speed_up).abs() < 0.0051,
            "{}: {ratio}, expected {speed_up}: {why}",
            row.name
        );
    }
}

fn request(sprout: &str) -> Request {
    Request {
        log_degree: 14,
        secret: SecretDistribution::Ternary,
        sprout: Sprout::named(sprout).unwrap(),
        usable: 300,
        word: 48,
        log2_pq: None,
        margin: 3,
    }
}

/// Every design is a secure parameter set, and its digits are those of the rule and below `P`.
#[test]
fn designs_are_parameter_sets() {
    for (log_degree, usable, sprout, rank) in [
        (14, 240, "sprout-15-16-32", 2),
        (14, 319, "sprout-15-16-32", 4),
        (16, 1420, "sprout-19-21-23", 5),
    ] {
        let wish = Request { log_degree, usable, ..request(sprout) };
        let ours = design(&wish).unwrap();
        assert_eq!(ours.gadget_rank, rank, "{ours:?}");
        let parameters = Parameters::new(ours.literal().unwrap()).unwrap();
        let (top, p) = (parameters.top(), parameters.log2(parameters.specials()));
        let odd = parameters.log2(top) - f64::from(wish.sprout.two);
        assert!(odd > f64::from(usable) - 0.01 && odd < f64::from(usable) + 1.0, "{odd}");
        let digits: Vec<f64> =
            parameters.digits(top).map(|(_, digit)| parameters.log2(digit)).collect();
        assert!(digits.len() == rank && digits.iter().all(|d| d + 2.99 < p), "{digits:?} {p}");
    }
}

/// More usable bits or a larger margin never take less time.
#[test]
fn larger_requests_cost_time() {
    let transforms = |usable, margin| {
        design(&Request { usable, margin, ..request("sprout-15-16-32") })
            .map(|ours| ours.transforms())
    };
    let times: Vec<usize> =
        (100..=320).step_by(20).map(|usable| transforms(usable, 3).unwrap()).collect();
    assert!(times.is_sorted() && times[0] < times[11] / 2, "{times:?}");
    assert!(
        (100..=300)
            .step_by(20)
            .all(|usable| transforms(usable, 0).unwrap() <= transforms(usable, 8).unwrap())
    );
}

#[test]
fn impossible_requests_are_refused() {
    let error = design(&Request { usable: 400, ..request("sprout-15-16-32") }).unwrap_err();
    assert!(
        error.to_string().contains("400 usable bits") && error.to_string().contains("430"),
        "{error}"
    );
    let sparse = SecretDistribution::SparseTernary { weight: 31 };
    let error = design(&Request { secret: sparse, ..request("sprout-15-16-32") }).unwrap_err();
    assert!(matches!(error, RlweError::NoSecurityLimit { .. }), "{error}");
    let good = design(&request("sprout-15-16-32")).unwrap();
    for bad in
        [Design { specials: vec![62], ..good.clone() }, Design { log_degree: 64, ..good.clone() }]
    {
        assert!(matches!(bad.literal(), Err(RlweError::Parameters { .. })));
    }
    assert!(matches!(Design { units: vec![16; 4], ..good }.literal(), Err(RlweError::Ring(_))));
}

/// A request for more bits than any set has.
#[test]
fn too_many_bits_are_refused() {
    let request = |usable| Request {
        log_degree: 15,
        secret: SecretDistribution::Ternary,
        sprout: Sprout::default(),
        usable,
        word: 48,
        log2_pq: None,
        margin: 4,
    };
    for usable in [5000, 1 << 31, u32::MAX] {
        assert!(matches!(design(&request(usable)), Err(RlweError::Parameters { .. })), "{usable}");
    }
}
