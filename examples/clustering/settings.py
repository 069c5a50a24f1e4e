"""Settings that client and server agree on."""

from __future__ import annotations

PRESET = "n15"
# The default number of clusters.
CLUSTERS = 3
ITERATIONS = 3
# The seed of the choice of the first centroids.
SEED = 4
