//! K-means on encrypted points, which are exchanged, saved and resumed as bytes.

use hippocrene::{
    Clustering, EncryptedArray, Error, LookUps, Sectors, Shape, Stored,
    wire::{self, Kind, Limits},
};
use pyo3::{prelude::*, types::PyBytes};
use std::path::PathBuf;

use crate::{
    client::{ClientKey, EvaluationKeys, settings},
    errors::detached,
    files::load,
    server::Server,
    simulation::SimulationReport,
};

/// The number of points, the dimension, and the number of clusters.
type Sizes = (usize, usize, usize);
/// Centroids row by row, and labels if there are any. It is `None` if they are not known.
type Clusters = Option<(Vec<f64>, Option<Vec<usize>>)>;

fn look_ups(tables: &str, (points, dimension, clusters): Sizes) -> Result<LookUps, Error> {
    let shape = Shape::new(points, dimension, clusters)?;
    Ok(LookUps { clusters: Some(shape), ..LookUps::by_name(tables)? })
}

#[pyfunction]
pub(crate) fn clustering_keys(
    py: Python<'_>,
    client: &ClientKey,
    tables: &str,
    sizes: Sizes,
) -> PyResult<EvaluationKeys> {
    let keys = detached(py, || {
        let request = hippocrene::KeyRequest {
            look_ups: Some(look_ups(tables, sizes)?),
            ..hippocrene::KeyRequest::only([])
        };
        client.0.evaluation_keys(&request)
    })?;
    Ok(EvaluationKeys(keys))
}

#[pyfunction]
pub(crate) fn encrypt_points<'py>(
    py: Python<'py>,
    client: &ClientKey,
    tables: &str,
    sizes: Sizes,
    points: Vec<f64>,
    start: Vec<f64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let work =
        || Ok(client.0.encrypt_points(&look_ups(tables, sizes)?, &points, &start)?.to_bytes());
    detached(py, work).map(|bytes| PyBytes::new(py, &bytes))
}

/// Decrypts the centroids, row by row, and the labels if there are any.
#[pyfunction]
pub(crate) fn decrypt_clusters(
    py: Python<'_>,
    client: &ClientKey,
    clusters: Vec<u8>,
) -> PyResult<(Vec<f64>, Option<Vec<usize>>)> {
    detached(py, || {
        let clusters = Clustering::from_bytes(&clusters, client.0.session())?;
        client.0.decrypt_clusters(&clusters)
    })
}

/// Encrypts points to be assigned to these clusters.
#[pyfunction]
pub(crate) fn encrypt_new_points<'py>(
    py: Python<'py>,
    client: &ClientKey,
    tables: &str,
    clusters: Vec<u8>,
    points: Vec<f64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let work = || {
        let clusters = Clustering::from_bytes(&clusters, client.0.session())?;
        Ok(client.0.encrypt_new_points(&LookUps::by_name(tables)?, &clusters, &points)?.to_bytes())
    };
    detached(py, work).map(|bytes| PyBytes::new(py, &bytes))
}

/// Assigns new points to these clusters.
#[pyfunction]
pub(crate) fn assign_new_points<'py>(
    py: Python<'py>,
    server: &Server,
    points: Vec<u8>,
    clusters: Vec<u8>,
) -> PyResult<Bound<'py, PyBytes>> {
    let work = || {
        let session = server.0.session();
        let points = Clustering::from_bytes(&points, session)?;
        let clusters = Clustering::from_bytes(&clusters, session)?;
        Ok(server.0.assign_new_points(&points, &clusters)?.0.to_bytes())
    };
    detached(py, work).map(|bytes| PyBytes::new(py, &bytes))
}

/// Makes one iteration, and returns the seconds of each of its parts.
#[pyfunction]
pub(crate) fn cluster<'py>(
    py: Python<'py>,
    server: &Server,
    points: Vec<u8>,
    clusters: Vec<u8>,
) -> PyResult<(Bound<'py, PyBytes>, [f64; 5])> {
    let (bytes, sectors) = detached(py, || {
        let session = server.0.session();
        let points = Clustering::from_bytes(&points, session)?;
        let (next, sectors) =
            server.0.cluster(&points, &Clustering::from_bytes(&clusters, session)?)?;
        Ok((next.to_bytes(), sectors))
    })?;
    Ok((PyBytes::new(py, &bytes), seconds(sectors)))
}

fn seconds(sectors: Sectors) -> [f64; 5] {
    let Sectors { distance, extraction, look_ups, repacking, update } = sectors;
    [distance, extraction, look_ups, repacking, update].map(|time| time.as_secs_f64())
}

/// Splits the points into those of each ciphertext, for `assign_block`.
#[pyfunction]
pub(crate) fn blocks_of_points<'py>(
    py: Python<'py>,
    server: &Server,
    points: Vec<u8>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let blocks = detached(py, || {
        let blocks = Clustering::from_bytes(&points, server.0.session())?.blocks()?;
        Ok(blocks.iter().map(EncryptedArray::to_bytes).collect::<Vec<_>>())
    })?;
    Ok(blocks.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
}

/// Does the part of an iteration for the points of one ciphertext, and returns the seconds of each
/// part.
#[pyfunction]
pub(crate) fn assign_block<'py>(
    py: Python<'py>,
    server: &Server,
    points: Vec<u8>,
    block: usize,
    clusters: Vec<u8>,
) -> PyResult<(Bound<'py, PyBytes>, [f64; 5])> {
    let (bytes, sectors) = detached(py, || {
        let session = server.0.session();
        let points = EncryptedArray::from_bytes(&points, session)?;
        let clusters = Clustering::from_bytes(&clusters, session)?;
        let (assigned, sectors) = server.0.assign_block(&points, block, &clusters)?;
        Ok((assigned.to_bytes(), sectors))
    })?;
    Ok((PyBytes::new(py, &bytes), seconds(sectors)))
}

/// Ends an iteration with the results of all blocks, and returns the seconds of each part.
#[pyfunction]
pub(crate) fn update_clusters<'py>(
    py: Python<'py>,
    server: &Server,
    points: Vec<u8>,
    assigned: Vec<Vec<u8>>,
    clusters: Vec<u8>,
) -> PyResult<(Bound<'py, PyBytes>, [f64; 5])> {
    let (bytes, sectors) = detached(py, || {
        let session = server.0.session();
        let assigned = assigned.iter().map(|bytes| EncryptedArray::from_bytes(bytes, session));
        let assigned = assigned.collect::<Result<Vec<_>, _>>()?;
        let points = Clustering::from_bytes(&points, session)?;
        let clusters = Clustering::from_bytes(&clusters, session)?;
        let (next, sectors) = server.0.update_clusters(&points, &assigned, &clusters)?;
        Ok((next.to_bytes(), sectors))
    })?;
    Ok((PyBytes::new(py, &bytes), seconds(sectors)))
}

/// Makes a start from the points with these indices.
#[pyfunction]
pub(crate) fn start_clusters<'py>(
    py: Python<'py>,
    server: &Server,
    points: Vec<u8>,
    chosen: Vec<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    let work = || {
        let points = Clustering::from_bytes(&points, server.0.session())?;
        Ok(server.0.start_clusters(&points, &chosen)?.to_bytes())
    };
    detached(py, work).map(|bytes| PyBytes::new(py, &bytes))
}

/// Simulates iterations, and returns the centroids row by row, the labels, and the cost. If there
/// are new points, it assigns these afterwards, and returns their labels and the cost of that
/// alone.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // what an estimator has, and its data
pub(crate) fn simulate_clustering(
    py: Python<'_>,
    preset: &str,
    tables: &str,
    sizes: Sizes,
    points: Vec<f64>,
    start: Vec<f64>,
    iterations: usize,
    new: Option<Vec<f64>>,
) -> PyResult<(Clusters, SimulationReport)> {
    detached(py, || {
        let wanted = look_ups(tables, sizes)?;
        let request =
            hippocrene::KeyRequest { look_ups: Some(wanted), ..hippocrene::KeyRequest::only([]) };
        let simulation =
            hippocrene::Simulation::with_keys(settings(preset, None, None, None)?, &request)?;
        let points = simulation.encrypt_points(&wanted, &points, &start)?;
        simulation.restart();
        let mut clusters = points.clone();
        for _ in 0..iterations {
            clusters = simulation.server().cluster(&points, &clusters)?.0;
        }
        if let Some(new) = new {
            let new = simulation.encrypt_new_points(&wanted, &clusters, &new)?;
            simulation.restart();
            clusters = simulation.server().assign_new_points(&new, &clusters)?.0;
        }
        Ok((simulation.clusters(&clusters), SimulationReport::of(&simulation)))
    })
}

/// The digests of the points, and of the start if it was not sent with the points.
type OriginDigests = (String, Option<String>);

fn digests(origin: hippocrene::Origin) -> OriginDigests {
    (origin.points.to_string(), origin.start.map(|start| start.to_string()))
}

/// The origin of a run on these points, from their own start or from the points with these indices.
#[pyfunction]
pub(crate) fn origin_of_points(
    py: Python<'_>,
    server: &Server,
    points: Vec<u8>,
    chosen: Option<Vec<usize>>,
) -> PyResult<OriginDigests> {
    detached(py, || {
        let points = Clustering::from_bytes(&points, server.0.session())?;
        Ok(digests(points.as_origin(chosen.as_deref())))
    })
}

/// The standard deviation of the error of compared squared distances, divided by the square of the
/// radius.
#[pyfunction]
pub(crate) fn nearest_deviation(
    py: Python<'_>,
    client: &ClientKey,
    tables: &str,
    sizes: Sizes,
) -> PyResult<f64> {
    detached(py, || client.0.nearest_deviation(&look_ups(tables, sizes)?))
}

/// Reads the bytes of a file of clusters.
#[pyfunction]
pub(crate) fn read_clustering(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyBytes>> {
    let bytes = load(py, &path, &[Kind::Clustering], &Limits::default(), |bytes| {
        Ok(std::mem::take(bytes))
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// Describes clusters: the number of points, the dimension and the number of clusters, the number
/// of iterations, whether the points are included, and the origin.
#[pyfunction]
pub(crate) fn describe_clustering(
    py: Python<'_>,
    data: Vec<u8>,
) -> PyResult<(Sizes, u64, bool, Option<OriginDigests>)> {
    detached(py, || {
        let told = wire::describe_clustering(&data)?;
        let sizes = (told.count, told.shape.dimension(), told.shape.clusters());
        Ok((sizes, told.iteration, told.has_points, told.origin.map(digests)))
    })
}
