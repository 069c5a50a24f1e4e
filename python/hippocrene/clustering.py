"""k-means on encrypted points. docs/pegasus.md explains it."""

from hippocrene.models.clustering import EncryptedClusters, EncryptedKMeans, KMeansSimulation

__all__ = ["EncryptedClusters", "EncryptedKMeans", "KMeansSimulation"]
