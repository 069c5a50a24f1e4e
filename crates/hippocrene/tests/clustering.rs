//! Tests of k-means on encrypted points, between a client and a server that share only files, with
//! small insecure parameters.

#[allow(dead_code)] // the tests of files use the rest of it
use crate::common::{insecure_grafted, numbers};
use hippocrene::{
    ClientKey, Clustering, EncryptedArray, Error, EvaluationKeys, KMeansMethod, KeyRequest,
    LookUps, Server, Shape, Simulation, Stored, wire,
};
use hippocrene_rlwe::SecretDistribution;

/// Returns points around two centres far from 0, and the index of each point's centre.
fn points(count: usize) -> (Vec<f64>, Vec<usize>) {
    let noise = numbers(2 * count, 7);
    let labels: Vec<usize> = (0..count).map(|i| usize::from(i % 3 == 0)).collect();
    let centres = [[100.0, -20.0], [130.0, -60.0]];
    let coordinate = |i: usize| centres[labels[i / 2]][i % 2] + 8.0 * noise[i];
    ((0..2 * count).map(coordinate).collect(), labels)
}

/// One test with one key, because making a key takes seconds.
#[test]
fn clusters_of_points_in_files() {
    let settings = insecure_grafted(11, 18, SecretDistribution::Ternary);
    let client = ClientKey::generate_with(settings, 2).unwrap();
    let shape = Shape::new(12, 2, 2).unwrap();
    let asked = LookUps { tables: "lut11", capacity: Some(30.0), clusters: Some(shape) };
    let keys = client
        .evaluation_keys(&KeyRequest { look_ups: Some(asked), ..KeyRequest::only([]) })
        .unwrap();
    let bytes = keys.to_bytes();
    drop(keys);
    assert_eq!(wire::inspect(&bytes).unwrap().keys.unwrap().tables, Some("lut11"));
    let stored = EvaluationKeys::from_bytes_insecure(&bytes, 2).unwrap();
    assert_eq!(stored.to_bytes(), bytes);
    assert_eq!(stored.look_ups().unwrap().request(), asked);
    let stored_bytes = bytes.len() as f64;
    drop(bytes);
    let server = Server::new(stored).unwrap();
    assert_eq!(server.clusters(), Some(shape));
    let session = server.session();

    let (values, labels) = points(12);
    let start = [105.0, -30.0, 125.0, -50.0];
    let sent = client.encrypt_points(&asked, &values, &start).unwrap().to_bytes();
    let inspection = wire::inspect(&sent).unwrap();
    assert_eq!(inspection.kind, wire::Kind::Clustering);
    assert!(inspection.array.is_none() && inspection.ring_degree == 2048);
    let description = wire::describe_clustering(&sent).unwrap();
    assert_eq!((description.shape, description.count, description.iteration), (shape, 12, 0));
    assert!(description.has_points && description.origin.is_none());
    let sent = Clustering::from_bytes(&sent, session).unwrap();
    assert!(sent.has_points() && sent.iteration() == 0);
    let (centroids, none) = client.decrypt_clusters(&sent).unwrap();
    assert!(none.is_none() && centroids.iter().zip(start).all(|(x, y)| (x - y).abs() < 1e-3));

    let (first, sectors) = server.cluster(&sent, &sent).unwrap();
    assert!(!first.has_points() && sectors.total() > sectors.look_ups);
    let checkpoint = first.to_bytes();
    // Read from the file of the first iteration, as another process would do.
    let resumed = Clustering::from_bytes(&checkpoint, session).unwrap();
    assert_eq!(resumed.to_bytes(), checkpoint);
    let second = server.cluster(&sent, &resumed).unwrap().0;

    // The second iteration again, in parts that other machines may compute, with files between
    // them.
    let blocks = sent.blocks().unwrap();
    assert!(blocks.len() == 1 && first.blocks().unwrap().is_empty());
    let block = EncryptedArray::from_bytes(&blocks[0].to_bytes(), session).unwrap();
    let assigned = server.assign_block(&block, 0, &first).unwrap().0;
    let assigned = EncryptedArray::from_bytes(&assigned.to_bytes(), session).unwrap();
    let parts = server.update_clusters(&sent, std::slice::from_ref(&assigned), &first).unwrap().0;
    assert_eq!(parts.to_bytes(), second.to_bytes());
    // The server chooses the starting points. Point 3 belongs to the second centre.
    let begun = server.start_clusters(&sent, &[1, 3]).unwrap();
    assert!(begun.iteration() == 0 && !begun.has_points());
    for (x, y) in client
        .decrypt_clusters(&begun)
        .unwrap()
        .0
        .iter()
        .zip(&[&values[2..4], &values[6..8]].concat())
    {
        assert!((x - y).abs() < 1.0, "{x} instead of {y}");
    }
    assert!(matches!(server.assign_block(&block, 1, &first), Err(Error::Argument { .. })));
    assert!(matches!(server.update_clusters(&sent, &[], &first), Err(Error::Argument { .. })));
    assert!(matches!(server.start_clusters(&sent, &[1, 12]), Err(Error::Argument { .. })));

    let (centroids, found) = client.decrypt_clusters(&second).unwrap();
    assert_eq!(found.unwrap(), labels);
    assert_eq!(second.iteration(), 2);
    let mean = |j: usize, c: usize| {
        let members: Vec<f64> =
            (0..12).filter(|i| labels[*i] == j).map(|i| values[2 * i + c]).collect();
        members.iter().sum::<f64>() / members.len() as f64
    };
    for (i, x) in centroids.iter().enumerate() {
        assert!((x - mean(i / 2, i % 2)).abs() < 0.5, "{centroids:?}");
    }

    // New points in files between client and server. Two of them lie outside the others' range.
    let new = [100.0, -20.0, 130.0, -60.0, 80.0, 10.0, 1e6, -1e6, 125.0, -50.0];
    let sent_new = client.encrypt_new_points(&asked, &second, &new).unwrap().to_bytes();
    let description = wire::describe_clustering(&sent_new).unwrap();
    assert_eq!(
        (description.shape, description.count, description.iteration, description.has_points),
        (shape, 5, 2, true)
    );
    let new_points = Clustering::from_bytes(&sent_new, session).unwrap();
    assert!(new_points.has_new_points() && !sent.has_new_points() && new_points.count() == 5);
    assert_eq!(new_points.to_bytes(), sent_new);
    let (assigned_new, _) = server.assign_new_points(&new_points, &second).unwrap();
    let assigned_new = assigned_new.to_bytes();
    let description = wire::describe_clustering(&assigned_new).unwrap();
    assert_eq!(
        (description.count, description.has_points, description.origin),
        (5, false, second.origin())
    );
    let assigned_new = Clustering::from_bytes(&assigned_new, session).unwrap();
    let (same, found) = client.decrypt_clusters(&assigned_new).unwrap();
    assert_eq!((found.unwrap(), same), (vec![0, 1, 0, 1, 1], centroids.clone()));
    let refused_new = |points: &[f64]| {
        client.encrypt_new_points(&asked, &second, points).map(|_| ()).unwrap_err()
    };
    for (refused, what) in [
        (
            server.assign_new_points(&new_points, &first).map(|_| ()).unwrap_err(),
            "were encrypted for other clusters",
        ),
        (server.assign_new_points(&sent, &second).map(|_| ()).unwrap_err(), "has no new points"),
        (server.assign_new_points(&second, &second).map(|_| ()).unwrap_err(), "has no new points"),
        (
            server.cluster(&new_points, &second).map(|_| ()).unwrap_err(),
            "the points were encrypted for existing clusters",
        ),
        (
            server.start_clusters(&new_points, &[0, 1]).map(|_| ()).unwrap_err(),
            "the points were encrypted for existing clusters",
        ),
        (refused_new(&new[..3]), "3 numbers for points of dimension 2"),
        (refused_new(&[0.0; 26]), "1 to 12 points are possible at one time"),
        (refused_new(&[f64::INFINITY, 0.0]), "number 0 of the points is inf"),
        (refused_new(&[1e200, 0.0]), "point 0 lies so far out"),
    ] {
        let refused = refused.to_string();
        assert!(refused.contains(what), "{refused}");
    }
    hostile_rows(&sent_new, session);

    // A simulation, which has no keys, gives the same result.
    let request = KeyRequest { look_ups: Some(asked), ..KeyRequest::only([]) };
    let simulation = Simulation::with_keys(client.session().settings().clone(), &request).unwrap();
    let drawn = simulation.encrypt_points(&asked, &values, &start).unwrap();
    simulation.restart();
    let simulated = simulation.server().cluster(&drawn, &drawn).unwrap().0;
    let report = simulation.report();
    assert_eq!(KeyRequest::for_simulation(&report), request);
    // One look-up for each point, and one for each cluster's reciprocal.
    let count = |what: &str| {
        report.operations.iter().find(|(name, _, _)| *name == what).map(|noted| noted.1)
    };
    assert_eq!(count("look up"), Some(12 + 2));
    assert!((report.key_bytes as f64 / stored_bytes - 1.0).abs() < 0.05 && report.seconds > 0.01);
    let simulated = simulation.server().cluster(&drawn, &simulated).unwrap().0;
    let (known, found) = simulation.clusters(&simulated).unwrap();
    assert_eq!(found.unwrap(), labels);
    for (x, y) in known.iter().zip(&centroids) {
        assert!((x - y).abs() < 0.5, "{known:?} instead of {centroids:?}");
    }
    assert_eq!(simulation.clusters(&drawn).unwrap().1, None);
    let refused = simulation.server().cluster(&simulated, &simulated).unwrap_err().to_string();
    assert!(refused.contains("the first operand has no points"), "{refused}");

    // Clusters of other points are refused, because each clustering names its origin.
    let origin = first.origin().unwrap();
    assert_eq!((origin, second.origin()), (sent.as_origin(None), Some(origin)));
    assert_eq!(begun.origin(), Some(sent.as_origin(Some(&[1, 3]))));
    assert_ne!(begun.origin(), Some(sent.as_origin(Some(&[3, 1]))));
    assert_eq!(resumed.origin(), Some(origin));
    let again = client.encrypt_points(&asked, &values, &start).unwrap();
    let refused = server.cluster(&again, &first).unwrap_err().to_string();
    assert!(refused.contains("the clusters were made of other points"), "{refused}");
    let refused =
        server.update_clusters(&again, std::slice::from_ref(&assigned), &first).unwrap_err();
    assert!(refused.to_string().contains("the clusters were made of other points"), "{refused}");

    // Invalid operands are refused.
    let other = Shape::new(11, 2, 2).unwrap();
    let asked_other = LookUps { clusters: Some(other), ..asked };
    let fewer = client.encrypt_points(&asked_other, &values[2..], &start).unwrap();
    let functions = LookUps { clusters: None, ..asked };
    for (refused, what) in [
        (
            server.cluster(&fewer, &sent).map(|_| ()),
            "11 points of dimension 2 in 2 clusters, but the keys are for 12",
        ),
        (server.cluster(&first, &first).map(|_| ()), "the first operand has no points"),
        (
            client.encrypt_points(&functions, &values, &start).map(|_| ()),
            "for functions, not for clusters",
        ),
        (
            client.encrypt_points(&asked, &values[1..], &start).map(|_| ()),
            "23 numbers for 12 points of dimension 2",
        ),
        (client.encrypt_points(&asked, &[f64::NAN; 24], &start).map(|_| ()), "finite"),
        (
            server.sort(&client.encrypt(&[1.0, 2.0], &[2]).unwrap(), None).map(|_| ()),
            "no keys of look-up tables",
        ),
    ] {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(what), "{refused}");
    }
    let other_client =
        ClientKey::generate_with(insecure_grafted(11, 18, SecretDistribution::Ternary), 2).unwrap();
    let theirs = other_client.encrypt_points(&asked, &values, &start).unwrap();
    assert!(matches!(server.cluster(&theirs, &theirs), Err(Error::KeyMismatch(_))));
    assert!(matches!(server.cluster(&sent, &theirs), Err(Error::KeyMismatch(_))));
    hostile(&checkpoint, session);
}

/// Checks that files with wrong contents are refused.
fn hostile(bytes: &[u8], session: &hippocrene::Session) {
    let read = |bytes: &[u8]| Clustering::from_bytes(bytes, session).unwrap_err().to_string();
    for length in [0, 20, 60, 80, bytes.len() / 2, bytes.len() - 1] {
        read(&bytes[..length]);
        assert!(wire::inspect(&bytes[..length]).is_err());
    }
    // The payload holds points, dimension, clusters, flags, iteration, the digests of points and
    // start, and the length of the first array.
    for (offset, field, what) in [
        (0, 1u32, "1 points of dimension 2 in 2 clusters"),
        (4, 3, "the arrays of clusters"),
        (8, 9, "the arrays of clusters"),
        (12, 8, "the flags of clusters"),
        (12, 3, "an array of clusters"),
        (12, 0, "clusters"),
        (56, u32::MAX, "an array of clusters"),
        (60, u32::MAX, "an array of clusters"),
    ] {
        let mut wrong = bytes.to_vec();
        wrong[56 + offset..60 + offset].copy_from_slice(&field.to_le_bytes());
        crate::entry::seal(&mut wrong);
        let refused = read(&wrong);
        assert!(refused.contains(what), "at {offset}: {refused}");
    }
    let mut wrong = bytes.to_vec();
    // A digest of the start without a digest of the points.
    wrong[56 + 24..56 + 56].fill(0);
    wrong[56 + 40] = 1;
    crate::entry::seal(&mut wrong);
    assert!(read(&wrong).contains("the digest of the start"));
    let mut wrong = bytes.to_vec();
    wrong[70] ^= 1;
    assert!(read(&wrong).contains("checksum"));
}

/// Checks that a file with more new points than its shape allows is refused.
fn hostile_rows(bytes: &[u8], session: &hippocrene::Session) {
    let mut wrong = bytes.to_vec();
    wrong[56..60].copy_from_slice(&4u32.to_le_bytes());
    crate::entry::seal(&mut wrong);
    let refused = Clustering::from_bytes(&wrong, session).unwrap_err().to_string();
    assert!(refused.contains("5 points, where 1 to 4 are possible"), "{refused}");
}

#[test]
fn clustering_without_keys_or_with_invalid_points_is_refused() {
    let client =
        ClientKey::generate_with(insecure_grafted(11, 18, SecretDistribution::Ternary), 1).unwrap();
    let server = Server::new(client.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
    let shape = Shape::new(4, 1, 2).unwrap();
    let asked = LookUps { tables: "lut11", clusters: Some(shape), ..LookUps::default() };
    let points = client.encrypt_points(&asked, &[0.0, 1.0, 5.0, 6.0], &[0.0, 5.0]).unwrap();
    let refused = server.cluster(&points, &points).unwrap_err().to_string();
    assert!(refused.contains("no keys for k-means"), "{refused}");
    let (all, one) = ([0.0, 1.0, 5.0, 6.0], [0.0, 5.0]);
    let wrong: [(&[f64], &[f64], &str); 6] = [
        (&all[..3], &one[..], "3 numbers for 4 points of dimension 1: 4 are needed"),
        (&all, &all, "4 numbers for 2 centroids of dimension 1: 2 are needed"),
        (&[0.0, f64::NAN, 5.0, 6.0], &one, "number 1 of the points is NaN"),
        (&all, &[0.0, f64::INFINITY], "number 1 of the centroids is inf"),
        (
            &[1.7e308, 1.7e308, 1.7e308, -1.7e308],
            &[0.0, 1e300],
            "distances are too large for a number",
        ),
        (&[0.0, 1e-300, 0.0, 0.0], &[0.0, 1e-300], "Measure them in a smaller unit"),
    ];
    for (points, start, what) in wrong {
        let refused = client.encrypt_points(&asked, points, start).unwrap_err();
        assert!(
            matches!(&refused, Error::Argument { what: is, .. } if is.contains(what)),
            "{refused}"
        );
    }
    // The middle and the radius are equally precise in any unit of the points.
    for unit in [1e9, 1.0, 1e-13, 1e-170] {
        let [points, start] =
            [&all[..], &one[..]].map(|x| x.iter().map(|x| x * unit).collect::<Vec<_>>());
        let sent = client.encrypt_points(&asked, &points, &start).unwrap();
        let (centroids, labels) = client.decrypt_clusters(&sent).unwrap();
        assert_eq!(labels, None);
        for (have, need) in centroids.iter().zip(one) {
            assert!((have / unit - need).abs() < 1e-4, "{have} of {need} in units of {unit}");
        }
    }
    for dimension in [usize::MAX, 1 << 63, (1 << 62) + 1] {
        assert!(
            Shape::new(4, dimension, 3).unwrap_err().to_string().contains("more than 65536 slots")
        );
    }
    let wide = LookUps { clusters: Some(Shape::new(4, 600, 2).unwrap()), ..asked };
    let refused = wide.plan(client.session()).unwrap_err().to_string();
    assert!(refused.contains("takes 2048 slots, there are 1024"), "{refused}");
}

const SPARSE: SecretDistribution = SecretDistribution::SparseTernary { weight: 64 };

/// Returns the centroids and the labels of some iterations by Lloyd, row by row.
fn lloyd(shape: Shape, points: &[f64], start: &[f64], iterations: usize) -> (Vec<f64>, Vec<usize>) {
    let d = shape.dimension();
    let (mut centroids, mut labels) = (start.to_vec(), Vec::new());
    for _ in 0..iterations {
        let distance = |x: &[f64], j: usize| -> f64 {
            x.iter().zip(&centroids[j * d..]).map(|(x, c)| (x - c).powi(2)).sum()
        };
        let nearest = |x: &[f64]| {
            let nearer = |j: &usize, k: &usize| distance(x, *j).total_cmp(&distance(x, *k));
            (0..shape.clusters()).min_by(nearer).unwrap()
        };
        labels = points.chunks_exact(d).map(nearest).collect();
        for j in 0..shape.clusters() {
            let members: Vec<&[f64]> = points
                .chunks_exact(d)
                .zip(&labels)
                .filter(|(_, k)| **k == j)
                .map(|(x, _)| x)
                .collect();
            for c in (0..d).filter(|_| !members.is_empty()) {
                let sum: f64 = members.iter().map(|x| x[c]).sum();
                centroids[j * d + c] = sum / members.len() as f64;
            }
        }
    }
    (centroids, labels)
}

/// Returns `count` points around as many centres as there are clusters, and centroids to start
/// from. The centres are at a distance of at least 1 from each other.
fn blobs(count: usize, dimension: usize, clusters: usize) -> (Vec<f64>, Vec<f64>) {
    let noise = numbers(count * dimension, 3);
    let centre = |j: usize, c: usize| if c == 0 { j as f64 } else { (j * j % 3) as f64 };
    let points: Vec<f64> = (0..count * dimension)
        .map(|k| centre(k / dimension % clusters, k % dimension) + 0.12 * noise[k])
        .collect();
    let start = (0..clusters * dimension)
        .map(|k| centre(k / dimension, k % dimension) + if k % 2 == 0 { 0.2 } else { -0.2 })
        .collect();
    (points, start)
}

/// Returns the largest distance of a point from the mean of all.
fn radius(points: &[f64], d: usize) -> f64 {
    let rows = points.len() / d;
    let mean: Vec<f64> =
        (0..d).map(|c| points.iter().skip(c).step_by(d).sum::<f64>() / rows as f64).collect();
    let norm = |x: &[f64]| x.iter().zip(&mean).map(|(x, m)| (x - m).powi(2)).sum::<f64>().sqrt();
    points.chunks_exact(d).map(norm).fold(0.0, f64::max)
}

/// One test with one key: two iterations in files, in parts, from chosen points, and new points.
#[test]
fn clusters_in_slots_of_points_in_files() {
    let client = ClientKey::generate_with(insecure_grafted(9, 20, SPARSE), 2).unwrap();
    // 32 points of 8 slots each fit a ciphertext, so there are two, and the second is not full.
    let shape = Shape::new(45, 2, 3).unwrap();
    let method = KMeansMethod::Slots(shape);
    let request = method.key_request(client.session()).unwrap();
    let keys = client.evaluation_keys(&request).unwrap().to_bytes();
    let server = Server::new(EvaluationKeys::from_bytes_insecure(&keys, 2).unwrap()).unwrap();
    assert_eq!(server.clusters(), None);
    let session = server.session();
    let (values, start) = blobs(45, 2, 3);
    let sent = client.encrypt_points(method, &values, &start).unwrap().to_bytes();
    let sent = Clustering::from_bytes(&sent, session).unwrap();
    let (first, times) = server.cluster(&sent, &sent).unwrap();
    assert!(times.look_ups > times.distance && times.repacking.is_zero());
    let resumed = Clustering::from_bytes(&first.to_bytes(), session).unwrap();
    let second = server.cluster(&sent, &resumed).unwrap().0;
    let (expected, labels) = lloyd(shape, &values, &start, 2);
    let (centroids, found) = client.decrypt_clusters(&second).unwrap();
    assert_eq!((found.unwrap(), second.iteration()), (labels, 2));
    let near = |have: &[f64], need: &[f64], off: f64| {
        let off = off * radius(&values, 2);
        have.iter().zip(need).for_each(|(x, y)| assert!((x - y).abs() < off, "{have:?} {need:?}"));
    };
    near(&centroids, &expected, 0.03);

    let blocks = sent.blocks().unwrap();
    assert_eq!(blocks.len(), 3);
    let assigned: Vec<EncryptedArray> = blocks
        .iter()
        .enumerate()
        .map(|(i, block)| server.assign_block(block, i, &resumed).unwrap().0)
        .map(|bits| EncryptedArray::from_bytes(&bits.to_bytes(), session).unwrap())
        .collect();
    let parts = server.update_clusters(&sent, &assigned, &resumed).unwrap().0;
    assert_eq!(parts.to_bytes(), second.to_bytes());
    let begun = server.start_clusters(&sent, &[1, 42, 35]).unwrap();
    let chosen: Vec<f64> =
        [1, 42, 35].iter().flat_map(|i| values[2 * i..2 * i + 2].to_vec()).collect();
    near(&client.decrypt_clusters(&begun).unwrap().0, &chosen, 0.02);
    let moved = server.cluster(&sent, &begun).unwrap().0;
    assert_eq!(
        client.decrypt_clusters(&moved).unwrap().1.unwrap(),
        lloyd(shape, &values, &chosen, 1).1
    );

    let new = [0.1, 0.0, 0.9, 1.1, 50.0, 40.0, -7.0, 0.5];
    let sent_new = client.encrypt_new_points(method, &second, &new).unwrap();
    let assigned_new = server.assign_new_points(&sent_new, &second).unwrap().0;
    assert_eq!(client.decrypt_clusters(&assigned_new).unwrap().1.unwrap(), [0, 1, 2, 0]);

    // A simulation takes the same steps.
    let settings = client.session().settings().clone();
    let simulation = Simulation::with_keys(settings, &request).unwrap();
    let drawn = simulation.encrypt_points(method, &values, &start).unwrap();
    simulation.restart();
    let simulated = simulation.server().cluster(&drawn, &drawn).unwrap().0;
    let report = simulation.report();
    assert!(report.bootstraps > 0 && report.look_ups.is_none());
    let keys = server.evaluator().keys();
    let degree = session.context().rlwe().degree();
    for steps in report.rotations() {
        let modulus = session.context().parameters().top();
        assert!(keys.rotation_count(degree, session.slots(), steps, modulus).is_some(), "{steps}");
    }
    near(
        &simulation.clusters(&simulated).unwrap().0,
        &client.decrypt_clusters(&first).unwrap().0,
        0.03,
    );

    let tables = LookUps { tables: "lut11", clusters: Some(shape), ..LookUps::default() };
    let of_functions = LookUps { clusters: None, ..tables };
    let text = |error: Error| error.to_string();
    for (refused, what) in [
        (
            client.encrypt_points(&of_functions, &values, &start).map(|_| ()),
            "for functions, not for clusters",
        ),
        (server.assign_block(&blocks[0], 3, &first).map(|_| ()), "there is no ciphertext 3"),
        (
            server.update_clusters(&sent, &assigned[..1], &first).map(|_| ()),
            "1 ciphertexts of points: there are 3",
        ),
        (server.start_clusters(&sent, &[1, 2, 45]).map(|_| ()), "3 of 0 to 44 are needed"),
        (
            client.encrypt_new_points(&tables, &second, &[0.0, 0.0]).map(|_| ()),
            "the clusters are for comparisons in slots, and the points would be for look-up tables",
        ),
        (server.cluster(&second, &second).map(|_| ()), "the first operand has no points"),
        (server.cluster(&sent_new, &second).map(|_| ()), "encrypted for existing clusters"),
        (server.assign_new_points(&sent_new, &first).map(|_| ()), "for other clusters"),
    ] {
        let refused = text(refused.unwrap_err());
        assert!(refused.contains(what), "{refused}");
    }
    let again = client.encrypt_points(method, &values, &start).unwrap();
    assert!(text(server.cluster(&again, &first).unwrap_err()).contains("made of other points"));
    let few = KMeansMethod::Slots(Shape::new(44, 2, 3).unwrap());
    let few = client.encrypt_points(few, &values[2..], &start).unwrap();
    assert!(text(server.cluster(&few, &first).unwrap_err()).contains("44 points of dimension 2"));
}

#[test]
fn simulated_clusters_in_slots_are_those_of_lloyd() {
    let settings = insecure_grafted(9, 20, SPARSE);
    for (count, dimension, clusters) in [
        (20, 2, 2),
        (20, 1, 2),
        (24, 3, 3),
        (25, 2, 4),
        (30, 1, 5),
        (33, 4, 6),
        (35, 2, 7),
        (64, 8, 8),
    ] {
        let shape = Shape::new(count, dimension, clusters).unwrap();
        let method = KMeansMethod::Slots(shape);
        let session = hippocrene::Session::dry_run(settings.clone()).unwrap();
        let request = method.key_request(&session).unwrap();
        let simulation = Simulation::with_keys(settings.clone(), &request).unwrap();
        let (values, start) = blobs(count, dimension, clusters);
        let sent = simulation.encrypt_points(method, &values, &start).unwrap();
        let mut state = sent.clone();
        for _ in 0..2 {
            state = simulation.server().cluster(&sent, &state).unwrap().0;
        }
        let (centroids, labels) = simulation.clusters(&state).unwrap();
        let (expected, nearest) = lloyd(shape, &values, &start, 2);
        assert_eq!(labels.unwrap(), nearest, "{shape:?}");
        let off = 0.05 * radius(&values, dimension);
        for (x, y) in centroids.iter().zip(&expected) {
            assert!((x - y).abs() < off, "{shape:?}: {centroids:?} instead of {expected:?}");
        }
    }
}

#[test]
fn empty_clusters_in_slots_stay_near_their_place_and_ties_are_shared() {
    let settings = insecure_grafted(9, 20, SPARSE);
    let run = |shape: Shape, points: &[f64], start: &[f64]| {
        let method = KMeansMethod::Slots(shape);
        let session = hippocrene::Session::dry_run(settings.clone()).unwrap();
        let request = method.key_request(&session).unwrap();
        let simulation = Simulation::with_keys(settings.clone(), &request).unwrap();
        let sent = simulation.encrypt_points(method, points, start).unwrap();
        let made = simulation.server().cluster(&sent, &sent).unwrap().0;
        simulation.clusters(&made).unwrap()
    };
    // The second cluster has no point. In units of the radius, it moves by less than 1/20.
    let (centroids, labels) =
        run(Shape::new(4, 1, 2).unwrap(), &[-1.0, -0.9, -0.8, -0.7], &[-0.85, 1.0]);
    assert_eq!(labels.unwrap(), [0; 4]);
    assert!(
        (centroids[0] + 0.85).abs() < 0.05 && (centroids[1] - 1.0).abs() < 0.1,
        "{centroids:?}"
    );
    // The point in the middle counts half for each cluster.
    let (centroids, _) = run(Shape::new(3, 1, 2).unwrap(), &[-1.0, 0.0, 1.0], &[-1.0, 1.0]);
    for (x, sign) in centroids.iter().zip([-1.0, 1.0]) {
        assert!((x - sign * 2.0 / 3.0).abs() < 0.03, "{centroids:?}");
    }
}
