from __future__ import annotations

import pytest

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


@pytest.fixture(scope="session")
def stranger() -> hippocrene.Client:
    """Another client, with a key of its own."""
    return hippocrene.Client.generate("n14")
