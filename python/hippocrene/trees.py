"""Private decision trees: a server evaluates them on encrypted rows and keeps them to itself.

docs/how-to/classify-with-a-tree.md explains them.
"""

from hippocrene.models.tree_interface import TreeInterface
from hippocrene.models.trees import (
    PrivateDecisionTree,
    TreeClient,
    TreeKeys,
    TreeQuery,
    TreeReply,
    TreeServer,
    TreeSimulation,
)

__all__ = [
    "PrivateDecisionTree",
    "TreeClient",
    "TreeInterface",
    "TreeKeys",
    "TreeQuery",
    "TreeReply",
    "TreeServer",
    "TreeSimulation",
]
