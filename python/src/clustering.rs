//! K-means on encrypted points, which are exchanged, saved and resumed as bytes.

use hippocrene::{
    Clustering, EncryptedArray, Error, IterationTimes, Session, Stored,
    wire::{self, Kind, Limits},
};
use pyo3::{prelude::*, pybacked::PyBackedBytes, types::PyBytes};
use std::path::PathBuf;

use crate::{
    client::{ClientKey, Sizes, clustering_method, settings},
    errors::detached,
    files::{HeldBytes, load, to_python},
    server::Server,
    simulation::SimulationReport,
};

/// Centroids row by row, and labels if there are any.
type Values = (Vec<f64>, Option<Vec<usize>>);
/// The digests of the points, and of the start if it was not sent with the points.
type OriginDigests = (String, Option<String>);

/// Encrypted centroids and labels, with or without the points, as the bytes of a file.
#[pyclass(frozen, module = "hippocrene._native")]
pub(crate) struct Clusters {
    bytes: HeldBytes,
    #[pyo3(get)]
    sizes: Sizes,
    #[pyo3(get)]
    iteration: u64,
    #[pyo3(get)]
    has_points: bool,
    #[pyo3(get)]
    origin: Option<OriginDigests>,
}

impl Clusters {
    fn of(bytes: HeldBytes) -> Result<Self, Error> {
        let told = wire::describe_clustering(&bytes)?;
        let sizes = (told.count, told.shape.dimension(), told.shape.clusters());
        let (iteration, has_points) = (told.iteration, told.has_points);
        Ok(Clusters { bytes, sizes, iteration, has_points, origin: told.origin.map(digests) })
    }

    fn made(clusters: &Clustering) -> Result<Self, Error> {
        Self::of(HeldBytes::Read(clusters.to_bytes()))
    }

    fn read(&self, session: &Session) -> Result<Clustering, Error> {
        Clustering::from_bytes(&self.bytes, session)
    }
}

#[pymethods]
impl Clusters {
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: PyBackedBytes) -> PyResult<Self> {
        detached(py, || Self::of(HeldBytes::Python(data)))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        load(py, &path, &[Kind::Clustering], &Limits::default(), |bytes| {
            Self::of(HeldBytes::Read(std::mem::take(bytes)))
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        to_python(py, || Ok(&self.bytes[..]))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        detached(py, || wire::write(&path, &self.bytes))
    }

    /// Encrypts points and the centroids to start from, row by row.
    #[staticmethod]
    fn encrypt(
        py: Python<'_>,
        client: &ClientKey,
        tables: Option<&str>,
        sizes: Sizes,
        points: Vec<f64>,
        start: Vec<f64>,
    ) -> PyResult<Self> {
        detached(py, || {
            let method = clustering_method(tables, sizes)?;
            Self::made(&client.0.encrypt_points(method, &points, &start)?)
        })
    }

    /// Encrypts points to be assigned to these clusters.
    fn encrypt_new(
        &self,
        py: Python<'_>,
        client: &ClientKey,
        tables: Option<&str>,
        points: Vec<f64>,
    ) -> PyResult<Self> {
        detached(py, || {
            let clusters = self.read(client.0.session())?;
            let shape = clusters.shape();
            let sizes = (shape.points(), shape.dimension(), shape.clusters());
            let method = clustering_method(tables, sizes)?;
            Self::made(&client.0.encrypt_new_points(method, &clusters, &points)?)
        })
    }

    /// Decrypts the centroids, row by row, and the labels if there are any.
    fn decrypt(&self, py: Python<'_>, client: &ClientKey) -> PyResult<Values> {
        detached(py, || client.0.decrypt_clusters(&self.read(client.0.session())?))
    }

    /// Assigns new points to these clusters.
    fn assign_new(&self, py: Python<'_>, server: &Server, points: &Clusters) -> PyResult<Self> {
        detached(py, || {
            let session = server.inner().session();
            let (points, clusters) = (points.read(session)?, self.read(session)?);
            Self::made(&server.inner().assign_new_points(&points, &clusters)?.0)
        })
    }

    /// Makes one iteration on these points, and returns the seconds of each of its parts.
    fn cluster(
        &self,
        py: Python<'_>,
        server: &Server,
        clusters: &Clusters,
    ) -> PyResult<(Self, [f64; 5])> {
        detached(py, || {
            let session = server.inner().session();
            let (next, sectors) =
                server.inner().cluster(&self.read(session)?, &clusters.read(session)?)?;
            Ok((Self::made(&next)?, seconds(sectors)))
        })
    }

    /// Splits the points into those of each ciphertext, for `assign_block`.
    fn blocks<'py>(&self, py: Python<'py>, server: &Server) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let blocks = detached(py, || {
            let blocks = self.read(server.inner().session())?.blocks()?;
            Ok(blocks.iter().map(EncryptedArray::to_bytes).collect::<Vec<_>>())
        })?;
        Ok(blocks.iter().map(|bytes| PyBytes::new(py, bytes)).collect())
    }

    /// Does the part of an iteration for the points of one ciphertext, from these clusters, and
    /// returns the seconds of each part.
    fn assign_block<'py>(
        &self,
        py: Python<'py>,
        server: &Server,
        points: PyBackedBytes,
        block: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, [f64; 5])> {
        let (bytes, sectors) = detached(py, || {
            let session = server.inner().session();
            let points = EncryptedArray::from_bytes(&points, session)?;
            let (assigned, sectors) =
                server.inner().assign_block(&points, block, &self.read(session)?)?;
            Ok((assigned.to_bytes(), sectors))
        })?;
        Ok((PyBytes::new(py, &bytes), seconds(sectors)))
    }

    /// Ends an iteration on these points with the results of all blocks, and returns the seconds of
    /// each part.
    fn update(
        &self,
        py: Python<'_>,
        server: &Server,
        assigned: Vec<PyBackedBytes>,
        clusters: &Clusters,
    ) -> PyResult<(Self, [f64; 5])> {
        detached(py, || {
            let session = server.inner().session();
            let assigned = assigned.iter().map(|bytes| EncryptedArray::from_bytes(bytes, session));
            let assigned = assigned.collect::<Result<Vec<_>, _>>()?;
            let (points, clusters) = (self.read(session)?, clusters.read(session)?);
            let (next, sectors) = server.inner().update_clusters(&points, &assigned, &clusters)?;
            Ok((Self::made(&next)?, seconds(sectors)))
        })
    }

    /// Makes a start from the points with these indices.
    fn start(&self, py: Python<'_>, server: &Server, chosen: Vec<usize>) -> PyResult<Self> {
        detached(py, || {
            Self::made(
                &server.inner().start_clusters(&self.read(server.inner().session())?, &chosen)?,
            )
        })
    }

    /// The origin of a run on these points, from their own start or from the points with these
    /// indices.
    fn as_origin(
        &self,
        py: Python<'_>,
        server: &Server,
        chosen: Option<Vec<usize>>,
    ) -> PyResult<OriginDigests> {
        detached(py, || {
            Ok(digests(self.read(server.inner().session())?.as_origin(chosen.as_deref())))
        })
    }
}

fn seconds(sectors: IterationTimes) -> [f64; 5] {
    let IterationTimes { distance, extraction, look_ups, repacking, update } = sectors;
    [distance, extraction, look_ups, repacking, update].map(|time| time.as_secs_f64())
}

fn digests(origin: hippocrene::Origin) -> OriginDigests {
    (origin.points.to_string(), origin.start.map(|start| start.to_string()))
}

/// Simulates iterations, and returns the centroids row by row and the labels, if they are known,
/// and the cost. If there are new points, it assigns these afterwards, and returns their labels and
/// the cost of that alone.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // the parameters of an estimator, and its data
pub(crate) fn simulate_clustering(
    py: Python<'_>,
    preset: &str,
    tables: Option<&str>,
    sizes: Sizes,
    points: Vec<f64>,
    start: Vec<f64>,
    iterations: usize,
    new: Option<Vec<f64>>,
) -> PyResult<(Option<Values>, SimulationReport)> {
    detached(py, || {
        let method = clustering_method(tables, sizes)?;
        let settings = settings(preset, None, None, None)?;
        let request = method.key_request(&Session::dry_run(settings.clone())?)?;
        let simulation = hippocrene::Simulation::with_keys(settings, &request)?;
        let points = simulation.encrypt_points(method, &points, &start)?;
        simulation.restart();
        let mut clusters = points.clone();
        for _ in 0..iterations {
            clusters = simulation.server().cluster(&points, &clusters)?.0;
        }
        if let Some(new) = new {
            let new = simulation.encrypt_new_points(method, &clusters, &new)?;
            simulation.restart();
            clusters = simulation.server().assign_new_points(&new, &clusters)?.0;
        }
        Ok((simulation.clusters(&clusters), SimulationReport::of(&simulation)))
    })
}
