"""What client and server agree on."""

from __future__ import annotations

PRESET = "n15"
# Where nothing else is said.
CLUSTERS = 3
ITERATIONS = 3
# Of the choice of the centroids to start from.
SEED = 4
