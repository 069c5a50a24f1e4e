"""k-means on encrypted points. docs/how-to/cluster-points.md explains it."""

from hippocrene.models.clustering import EncryptedClusters, EncryptedKMeans, KMeansSimulation

__all__ = ["EncryptedClusters", "EncryptedKMeans", "KMeansSimulation"]
