"""Models on encrypted data: imported ones, decision trees and k-means."""

from hippocrene.models.model import Model
from hippocrene.models.model_interface import ModelInterface
from hippocrene.models.sklearn import from_sklearn

__all__ = ["Model", "ModelInterface", "from_sklearn"]
