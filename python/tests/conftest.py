from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

# Tests do not depend on the profile of this machine that its user may have measured.
os.environ["XDG_CONFIG_HOME"] = str(Path(tempfile.gettempdir()) / "hippocrene-tests-have-none")

import hippocrene


@pytest.fixture(scope="session")
def client() -> hippocrene.Client:
    return hippocrene.Client.generate("n14")


@pytest.fixture(scope="session")
def keys(client: hippocrene.Client) -> hippocrene.EvaluationKeys:
    return client.evaluation_keys()


@pytest.fixture(scope="session")
def server(keys: hippocrene.EvaluationKeys) -> hippocrene.Server:
    return hippocrene.Server(keys)


@pytest.fixture
def secret(client, server):
    """Arrays as the server of a test has them; its module may have a client and a server of its own."""

    def encrypt(array, **how) -> hippocrene.EncryptedArray:
        return server.load(client.encrypt(array, **how))

    return encrypt


@pytest.fixture(scope="session")
def stranger() -> hippocrene.Client:
    """Another client, with a key of its own."""
    return hippocrene.Client.generate("n14")


@pytest.fixture
def near(client):
    """Checks an encrypted array of real numbers against a plain one."""

    def check(encrypted, want) -> None:
        assert isinstance(encrypted, hippocrene.EncryptedArray)
        assert encrypted.shape == np.shape(want)
        np.testing.assert_allclose(
            client.decrypt(encrypted), np.asarray(want, dtype=complex).real, atol=2e-4
        )

    return check


@pytest.fixture(scope="session")
def clusters():
    """Encrypted points and centroids, which need no keys but the client's."""
    owner = hippocrene.Client.generate("n15")
    model = hippocrene.clustering.EncryptedKMeans(2, init=[0, 3])
    return model.encrypt(owner, [[0.0, 0.0], [0.5, 0.25], [1.0, 0.5], [4.0, 4.0]])
