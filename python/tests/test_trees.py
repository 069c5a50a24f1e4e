"""Private decision trees: the results of scikit-learn, between processes that share files, and errors."""

from __future__ import annotations

import copy
import importlib
import json
import pickle
import subprocess
import sys

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomTreesEmbedding,
    VotingClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import hippocrene
from hippocrene import (
    ArgumentError,
    Client,
    FileError,
    FormatError,
    KeyMismatchError,
    ParameterError,
    SecretPickleError,
    ShapeError,
)
from hippocrene.models.tree_interface import TreeInterface, read
from hippocrene.models.trees import (
    PrivateDecisionTree,
    TreeClient,
    TreeKeys,
    TreeQuery,
    TreeReply,
    TreeServer,
)

IRIS, SPECIES = load_iris(return_X_y=True)
RANGES = (IRIS.min(axis=0), IRIS.max(axis=0))


@pytest.fixture(scope="module")
def client() -> TreeClient:
    return TreeClient.generate("lut11")


@pytest.fixture(scope="module")
def server(client: TreeClient) -> TreeServer:
    return TreeServer(client.evaluation_keys(), threads=2)


def test_a_tree_says_what_it_says_in_the_clear(client, server):
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(IRIS, SPECIES)
    model = PrivateDecisionTree.from_sklearn(tree, IRIS, tables="lut11")
    rows = IRIS[::6]
    reply = model.evaluate(client.encrypt_query(model.interface, rows), server)
    assert np.array_equal(client.decrypt(model.interface, reply), tree.predict(rows))
    # One row of the default number of axes, and values beyond their ranges.
    one = model.evaluate(client.encrypt_query(model.interface, [1e9, 0.0, -1e9, 0.0]), server)
    assert client.decrypt(model.interface, one).tolist() == [0]
    assert model.log2_failure_probability < -30
    assert sum(model.look_ups) < 2 * tree.tree_.node_count


def test_skewed_features_are_compared_as_in_the_clear(client, server):
    random = np.random.default_rng(5)
    x = np.column_stack(
        [
            random.exponential(size=2000) ** 6,
            np.where(random.random(2000) < 0.8, 0, 1e3 * random.random(2000) ** 4),
        ]
    )
    y = (x[:, 0] > 0.01).astype(int) + (x[:, 1] > 0.5)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(x, y)
    model = PrivateDecisionTree.from_sklearn(tree, x, tables="lut11")
    assert np.array_equal(model.simulate(x).result, tree.predict(x))
    rows = x[:20]
    says = client.decrypt(
        model.interface, model.evaluate(client.encrypt_query(model.interface, rows), server)
    )
    assert np.array_equal(says, tree.predict(rows))
    assert len(np.unique(says)) == 3
    # A map by ranks needs fewer digits than a linear one, which has to tell all floats apart.
    linear = PrivateDecisionTree.from_sklearn(
        tree, ranges=(x.min(axis=0), x.max(axis=0)), tables="lut11"
    )
    assert linear.look_ups[0] > model.look_ups[0]


def test_integers_are_at_no_threshold(client, server):
    x = np.array([[2.0], [4.0], [8.0]])
    tree = DecisionTreeClassifier().fit(x, [0, 1, 0])
    assert sorted(tree.tree_.threshold[tree.tree_.feature >= 0]) == [3.0, 6.0]
    sample = np.arange(10.0)[:, np.newaxis]
    model = PrivateDecisionTree.from_sklearn(tree, sample, tables="lut11")
    rows = np.repeat(sample, 4, axis=0)
    reply = model.evaluate(client.encrypt_query(model.interface, rows), server)
    assert np.array_equal(client.decrypt(model.interface, reply), tree.predict(rows))
    # If a feature of the sample is not an integer, its thresholds stay as they are.
    model = PrivateDecisionTree.from_sklearn(
        tree, np.append(sample, [[2.5]], axis=0), tables="lut11"
    )
    assert model.simulate([[3.25]]).result == tree.predict([[3.25]]) == 1


@pytest.mark.parametrize(
    "labels",
    [
        np.array([5, 2**63 + 1], dtype=np.uint64),
        np.array([2**63 + 1, 2**63 + 3], dtype=np.uint64),
        np.array([2**53 + 1, -1]),
        np.array([True, False]),
        np.array([1.0, 2.0]),
        np.array(["b", "a"]),
    ],
    ids=str,
)
def test_classes_are_what_they_were(labels):
    x = np.arange(4.0)[:, np.newaxis]
    tree = DecisionTreeClassifier().fit(x, labels[[0, 0, 1, 1]])
    result = PrivateDecisionTree.from_sklearn(tree, x).simulate(x).result
    assert result.tolist() == labels[[0, 0, 1, 1]].tolist()
    assert result.dtype.kind == labels.dtype.kind or labels.dtype.kind == "u"


def test_classes_of_several_types_stay_what_they_are():
    x = np.arange(4.0)[:, np.newaxis]
    interface = PrivateDecisionTree.from_sklearn(
        DecisionTreeClassifier().fit(x, [0, 0, 1, 1]), x
    ).interface
    for classes in ([1, "a"], [True, 2], [2**63, -1], [2**70, 1]):
        fields = json.loads(interface.to_json())
        loaded = TreeInterface.from_json(json.dumps({**fields, "classes": classes}))
        labels = read(loaded, np.array([[0.0], [1.0]])).tolist()
        assert labels == classes
        assert [type(one) for one in labels] == [type(one) for one in classes]


def test_simulations_say_what_it_takes(client, server, capsys):
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(IRIS, SPECIES)
    model = PrivateDecisionTree.from_sklearn(tree, IRIS, tables="lut11")
    rows = IRIS[:3]
    told = model.simulate(rows)
    assert np.array_equal(told.result, tree.predict(rows))
    assert told.operations["look up"][0] == len(rows) * sum(model.look_ups)
    query = client.encrypt_query(model.interface, rows)
    calls = []
    reply = model.evaluate(query, server, progress=lambda done, of: calls.append((done, of)))
    assert calls[-1] == (3, 3)
    assert (told.query_bytes, told.reply_bytes) == (len(query.to_bytes()), len(reply.to_bytes()))
    # As `TreeKeys` and docs/reference/trees.md say.
    assert told.key_memory > told.key_bytes
    assert round(told.key_bytes / 1e6) == 76
    assert 0.01 < told.seconds < 10

    model.evaluate(query, server, progress=True)
    assert "trees: 3 of 3 rows, " in capsys.readouterr().out
    with pytest.raises(ZeroDivisionError):
        model.evaluate(query, server, progress=lambda done, of: done // (of - done))
    forest = RandomForestClassifier(3, max_depth=3, random_state=1).fit(IRIS, SPECIES)
    model = PrivateDecisionTree.from_sklearn(forest, IRIS, tables="lut11")
    assert np.array_equal(model.simulate(IRIS).result, forest.predict(IRIS))
    with pytest.raises(ShapeError, match="simulate: rows of 4 features"):
        model.simulate([1.0])


def test_forests_have_shares(client, server):
    cancer = load_breast_cancer(return_X_y=True)
    species = ["virginica", "setosa", "versicolor"]
    for rows, names, (x, y) in ((4, species, (IRIS, SPECIES)), (2, ["no", "yes"], cancer)):
        forest = RandomForestClassifier(3, max_depth=3, random_state=1).fit(x, np.array(names)[y])
        model = PrivateDecisionTree.from_sklearn(forest, x, tables="lut11", deviation=0.01)
        sure = x[:: len(x) // rows][:rows]
        reply = model.evaluate(client.encrypt_query(model.interface, sure), server)
        assert reply.shape == (len(sure), len(names) - 1)
        shares = client.decrypt_shares(model.interface, reply)
        expected = forest.predict_proba(sure)
        assert model.deviation <= 0.01
        assert np.max(abs(shares - expected)) < 10 * model.deviation
        clear = np.sort(expected)[:, -1] - np.sort(expected)[:, -2] > 0.3
        assert np.array_equal(
            client.decrypt(model.interface, reply)[clear], forest.predict(sure)[clear]
        )


def test_deviations_hold_for_the_first_class_too(client, server):
    """Its share is 1 less those of all others, whose errors add up."""
    x, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(2, max_depth=3, random_state=0).fit(x, y)
    model = PrivateDecisionTree.from_sklearn(forest, x, tables="lut11")
    assert model.deviation <= 1 / 256
    sure = x[:24]
    shares = client.decrypt_shares(
        model.interface, model.evaluate(client.encrypt_query(model.interface, sure), server)
    )
    off = shares - forest.predict_proba(sure)
    # A mean of 24 squares exceeds three times their expectation once in a million times.
    assert np.mean(off[:, 0] ** 2) < 3 * model.deviation**2
    assert np.mean(off[:, 1:] ** 2) < model.deviation**2


def test_boosted_trees_have_scores(client, server):
    cancer = load_breast_cancer(return_X_y=True)
    names = np.array(["b", "c", "a"])
    for classifier, (x, y) in (
        (
            GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=1),
            (IRIS, names[SPECIES]),
        ),
        (GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=1), cancer),
        (
            GradientBoostingClassifier(
                loss="exponential", n_estimators=4, init="zero", random_state=1
            ),
            cancer,
        ),
    ):
        frame = pandas.DataFrame(x)
        frame.columns = [f"column {i}" for i in frame.columns]
        boosting = classifier.fit(frame, y)
        model = PrivateDecisionTree.from_sklearn(boosting, frame, tables="lut11")
        assert TreeInterface.from_json(model.interface.to_json()) == model.interface
        sure = frame[:: len(x) // 3][:3]
        reply = model.evaluate(client.encrypt_query(model.interface, sure), server)
        shares = client.decrypt_shares(model.interface, reply)
        assert np.max(abs(shares - boosting.predict_proba(sure))) < 10 * np.max(model.deviation)
        assert np.array_equal(client.decrypt(model.interface, reply), boosting.predict(sure))
        assert np.array_equal(model.simulate(frame).result, boosting.predict(frame))


def test_histogram_based_boosting(client, server):
    cancer = load_breast_cancer(return_X_y=True)
    names = np.array(["b", "c", "a"])
    for x, y in ((IRIS, names[SPECIES]), cancer):
        boosting = HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=5, random_state=1).fit(
            x, y
        )
        model = PrivateDecisionTree.from_sklearn(boosting, x, tables="lut11")
        sure = x[:: len(x) // 3][:3]
        reply = model.evaluate(client.encrypt_query(model.interface, sure), server)
        shares = client.decrypt_shares(model.interface, reply)
        assert np.max(abs(shares - boosting.predict_proba(sure))) < 10 * np.max(model.deviation)
        assert np.array_equal(client.decrypt(model.interface, reply), boosting.predict(sure))
        assert np.array_equal(model.simulate(x).result, boosting.predict(x))
    # Trees of the default size.
    large = HistGradientBoostingClassifier(max_iter=5, random_state=1).fit(*cancer)
    model, rows = PrivateDecisionTree.from_sklearn(large, cancer[0]), cancer[0][:100]
    assert np.array_equal(model.simulate(rows).result, large.predict(rows))
    x, target = IRIS[:, :3], 10 * IRIS[:, 3]
    for loss in ("squared_error", "absolute_error"):
        boosting = HistGradientBoostingRegressor(loss=loss, max_iter=5, max_leaf_nodes=4).fit(
            x, target
        )
        model = PrivateDecisionTree.from_sklearn(boosting, x, tables="lut11")
        np.testing.assert_allclose(
            model.simulate(x).result, boosting.predict(x), atol=10 * model.deviation
        )
        leaves = [
            np.ptp(stage[0].nodes["value"][stage[0].nodes["is_leaf"] != 0])
            for stage in boosting._predictors
        ]
        assert model.interface.scales == (np.exp2(np.ceil(np.log2(5 * max(leaves)))),)
    counts = HistGradientBoostingRegressor(loss="poisson", max_iter=2).fit(x, target)
    with pytest.raises(ArgumentError, match="the loss 'poisson' are exponentials"):
        PrivateDecisionTree.from_sklearn(counts, x)
    kinds = HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]).fit(
        IRIS // 1, SPECIES
    )
    with pytest.raises(ArgumentError, match="split by categories"):
        PrivateDecisionTree.from_sklearn(kinds, IRIS)
    missing = np.where(IRIS > 5.5, np.nan, 1.0)
    with pytest.raises(ArgumentError, match="fit trees to rows without missing values"):
        PrivateDecisionTree.from_sklearn(
            HistGradientBoostingClassifier(max_iter=2).fit(missing, SPECIES), IRIS
        )


def test_boosted_trees_have_values(client, server):
    x, target = IRIS[:, :3], 10 * IRIS[:, 3]
    for boosting in (
        GradientBoostingRegressor(n_estimators=8, max_depth=2, random_state=1),
        GradientBoostingRegressor(
            loss="absolute_error", n_estimators=5, learning_rate=0.5, random_state=1
        ),
    ):
        model = PrivateDecisionTree.from_sklearn(boosting.fit(x, target), x, tables="lut11")
        rows = x[::50]
        values = client.decrypt(
            model.interface, model.evaluate(client.encrypt_query(model.interface, rows), server)
        )
        assert (abs(values - boosting.predict(rows)) < 10 * model.deviation).all()
        np.testing.assert_allclose(
            model.simulate(x).result, boosting.predict(x), atol=10 * model.deviation
        )
        assert model.deviation < 0.1
    other = GradientBoostingRegressor(init=DecisionTreeRegressor(), n_estimators=2).fit(x, target)
    with pytest.raises(ArgumentError, match="another model"):
        PrivateDecisionTree.from_sklearn(other, x)


def test_regression(client, server):
    target = np.column_stack([IRIS[:, 3] * 10, -IRIS[:, 0]])
    for targets in (target[:, 0], target):
        tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(IRIS[:, :3], targets)
        model = PrivateDecisionTree.from_sklearn(tree, IRIS[:, :3], tables="lut11")
        rows = IRIS[::50, :3]
        values = client.decrypt(
            model.interface, model.evaluate(client.encrypt_query(model.interface, rows), server)
        )
        assert values.shape == tree.predict(rows).shape
        assert (abs(values - tree.predict(rows)) < 10 * model.deviation).all()


SERVER = """
import pickle, sys
from hippocrene.models.trees import PrivateDecisionTree, TreeKeys, TreeQuery, TreeServer
tree, sample = pickle.load(open("tree.pickle", "rb"))
model = PrivateDecisionTree.from_sklearn(tree, sample, tables="lut11")
if sys.argv[1] == "publish":
    model.interface.save("interface.json")
else:
    model.evaluate(TreeQuery.load("query"), TreeServer(TreeKeys.load("server.keys"))).save("reply")
"""


def test_processes_share_files(tmp_path):
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(IRIS, SPECIES)
    (tmp_path / "tree.pickle").write_bytes(pickle.dumps((tree, IRIS)))

    def run_server(what: str) -> None:
        subprocess.run([sys.executable, "-c", SERVER, what], cwd=tmp_path, check=True)

    run_server("publish")
    interface = TreeInterface.load(tmp_path / "interface.json")
    client = TreeClient.generate(interface)
    client.save(tmp_path / "client.key")
    client.evaluation_keys().save(tmp_path / "server.keys")
    rows = IRIS[[3, 60, 140]]
    client.encrypt_query(interface, rows).save(tmp_path / "query")
    run_server("evaluate")
    client = TreeClient.load(tmp_path / "client.key")
    reply = TreeReply.load(tmp_path / "reply")
    assert np.array_equal(client.decrypt(interface, reply), tree.predict(rows))
    assert (tmp_path / "query").stat().st_size + (tmp_path / "reply").stat().st_size < 4_000
    with pytest.raises(FileExistsError):
        client.save(tmp_path / "client.key")
    with pytest.raises(FormatError, match="not a query to decision trees"):
        TreeQuery.load(tmp_path / "reply")
    with pytest.raises(FileError):
        TreeReply.load(tmp_path / "nothing")
    with pytest.raises(FormatError):
        Client.load(tmp_path / "client.key")
    before = (tmp_path / "client.key").read_bytes()
    with pytest.raises(FileError, match="secret key"):
        interface.save(tmp_path / "client.key")
    assert (tmp_path / "client.key").read_bytes() == before


def test_what_is_no_interface_and_no_name_is_refused(client):
    with pytest.raises(TypeError, match="a TreeInterface is needed, not str"):
        client.decrypt_shares("interface", None)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(IRIS, SPECIES)
    with pytest.raises(TypeError, match="from_sklearn: tables is text, not int"):
        PrivateDecisionTree.from_sklearn(tree, IRIS, tables=11)


def test_what_does_not_pickle_says_what_to_do(client):
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(IRIS, SPECIES)
    model = PrivateDecisionTree.from_sklearn(tree, IRIS, tables="lut11")
    server = TreeServer(client.evaluation_keys())
    for what, words in (
        (model, "PrivateDecisionTree does not pickle: .* from_sklearn"),
        (server, "send its TreeKeys"),
    ):
        with pytest.raises(TypeError, match=words):
            pickle.dumps(what)
        assert copy.deepcopy(what) is copy.copy(what) is what


def test_things_are_bytes_and_pickle(client):
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(IRIS, SPECIES)
    interface = PrivateDecisionTree.from_sklearn(tree, IRIS, tables="lut11").interface
    assert (
        TreeInterface.from_json(interface.to_json())
        == interface
        == pickle.loads(pickle.dumps(interface))
    )
    query = client.encrypt_query(interface, IRIS[:2])
    assert query.shape == (2, 4)
    assert pickle.loads(pickle.dumps(query)).to_bytes() == query.to_bytes()
    assert TreeClient.from_bytes(client.to_bytes()).fingerprint == client.fingerprint
    with pytest.raises(SecretPickleError):
        pickle.dumps(client)
    for text, words in (
        ("", "Expecting value"),
        ("null", "it is no JSON object"),
        ("[]", "it is no JSON object"),
        ("{}", "its format is None"),
        ('{"format": 1}', "its format is 1"),
        (interface.to_json().replace('"knots"', '"nots"'), "it lacks knots"),
        (interface.to_json().replace("lut11", 'lut99", "x": "'), "x"),
    ):
        with pytest.raises(FormatError, match=words):
            TreeInterface.from_json(text)
    fields = json.loads(interface.to_json())
    with pytest.raises(FormatError, match=r"its format is .* version 2"):
        TreeInterface.from_json(
            json.dumps(fields | {"format": "hippocrene interface of decision trees, version 2"})
        )
    for wrong in (
        {"scales": [1.0]},
        {"row_type": "float16"},
        {"row_type": []},
        {"outputs": "values", "classes": None},
        {"feature_names": ["a"]},
    ):
        with pytest.raises(FormatError):
            TreeInterface.from_json(json.dumps(fields | wrong))
    hostile = (
        {"classes": "abc"},
        {"classes": [[1, 2], [3]]},
        {"classes": [{}, {}]},
        {"tables": "lutXX"},
        {"tables": 1},
    )
    for wrong in hostile:
        with pytest.raises(FormatError, match="no interface of decision trees"):
            TreeInterface.from_json(json.dumps(fields | wrong))
    with pytest.raises(FormatError):
        TreeInterface.from_json("[" * 200_000)
    for knots in (
        ["0", "1"],
        "01",
        [0, 10**400],
        [1.0],
        [0.0, 0.0],
        [0.0, 2.0, 1.0],
        [0.0, float("nan")],
        [0.0, float("inf")],
        [],
        3,
        [None, 1],
    ):
        with pytest.raises(FormatError):
            TreeInterface.from_json(json.dumps(fields | {"knots": [*fields["knots"][:3], knots]}))


def test_other_interfaces_are_refused(client, server):
    """A model that was deployed anew: queries for the one before and replies that are read by it are refused."""
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(IRIS, SPECIES)
    model = PrivateDecisionTree.from_sklearn(tree, IRIS, tables="lut11")
    query = client.encrypt_query(model.interface, IRIS[:1])
    reply = model.evaluate(query, server)
    assert query.interface == reply.interface == model.interface.digest
    assert TreeInterface.from_json(model.interface.to_json()).digest == model.interface.digest
    names = np.array(["setosa", "versicolor", "virginica"])
    others = (
        (DecisionTreeClassifier(max_depth=2).fit(IRIS[:, ::-1], SPECIES), IRIS[:, ::-1], None),
        (tree, IRIS[:100], None),
        (tree, None, RANGES),
        (DecisionTreeClassifier(max_depth=2).fit(IRIS, names[SPECIES]), IRIS, None),
        (DecisionTreeClassifier(max_depth=2).fit(IRIS, 2 - SPECIES * 3), IRIS, None),
    )
    for fitted, sample, ranges in others:
        other = PrivateDecisionTree.from_sklearn(fitted, sample, ranges=ranges, tables="lut11")
        assert other.interface.digest != model.interface.digest
        with pytest.raises(
            ArgumentError, match="fetch the server's present interface and encrypt the rows for it"
        ):
            other.evaluate(query, server)
        with pytest.raises(ArgumentError, match="the reply was made for the interface"):
            client.decrypt(other.interface, reply)
    # Fitted to other rows, but asked and answered in the same way.
    again = DecisionTreeClassifier(max_depth=3, random_state=1).fit(IRIS[::2], SPECIES[::2])
    again = PrivateDecisionTree.from_sklearn(again, IRIS, tables="lut11")
    assert client.decrypt(model.interface, again.evaluate(query, server)).tolist() == [0]


def test_columns_of_data_frames_stay_in_order(client):
    frame = pandas.DataFrame(IRIS, columns=["a", "b", "c", "d"])
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(frame, SPECIES)
    model = PrivateDecisionTree.from_sklearn(tree, frame, tables="lut11")
    assert model.interface.feature_names == ("a", "b", "c", "d")
    assert TreeInterface.from_json(model.interface.to_json()) == model.interface
    assert client.encrypt_query(model.interface, frame[:2]).shape == (2, 4)
    with pytest.raises(
        ShapeError, match=r"the columns are \['d', 'c', 'b', 'a'\], where \['a', 'b', 'c', 'd'\]"
    ):
        client.encrypt_query(model.interface, frame[["d", "c", "b", "a"]])
    row = frame.iloc[3]
    for one in (
        row,
        row.reset_index(drop=True),
        frame[:1].convert_dtypes(),
        frame[:1].astype(object),
    ):
        assert client.encrypt_query(model.interface, one).shape == (1, 4)
    with pytest.raises(ShapeError, match=r"the columns are \['b', 'a', 'd', 'c'\]"):
        client.encrypt_query(model.interface, row[["b", "a", "d", "c"]])
    with pytest.raises(TypeError, match="not values of type NAType"):
        client.encrypt_query(
            model.interface, frame[:1].astype(object).replace(IRIS[0, 0], pandas.NA)
        )
    with pytest.raises(ShapeError, match="from_sklearn: the columns are"):
        PrivateDecisionTree.from_sklearn(tree, frame[["b", "a", "c", "d"]])


def test_what_is_no_tree_of_these_is_refused():
    dates = np.array(["2026-01-01", "2026-01-02", "2026-01-03"], dtype="datetime64[D]")
    for labels, kind in (
        (dates, "datetime64"),
        (dates.astype("datetime64[ns]"), "datetime64"),
        (dates.astype("S"), r"S\d+"),
    ):
        tree = DecisionTreeClassifier(max_depth=2).fit(IRIS, labels[SPECIES])
        with pytest.raises(
            ArgumentError, match=f"the classes are of type .*{kind}.*numbers, booleans and text"
        ):
            PrivateDecisionTree.from_sklearn(tree, IRIS)
    with pytest.raises(TypeError, match="gradient boosting, not RandomTreesEmbedding"):
        PrivateDecisionTree.from_sklearn(RandomTreesEmbedding(3, max_depth=2).fit(IRIS), IRIS)
    missing = np.where(IRIS > 5.5, np.nan, IRIS)
    for fitted in (
        DecisionTreeClassifier(random_state=0),
        RandomForestClassifier(5, random_state=0),
    ):
        with pytest.raises(ArgumentError, match="fit trees to rows without missing values"):
            PrivateDecisionTree.from_sklearn(fitted.fit(missing, SPECIES), IRIS)
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [2, 3]}).fit(IRIS, SPECIES)
    with pytest.raises(TypeError, match="not GridSearchCV: pass its best_estimator_"):
        PrivateDecisionTree.from_sklearn(search, IRIS)
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(IRIS, SPECIES)
    with pytest.raises(TypeError, match=r"not Pipeline: pass its last step, model\[-1\]"):
        PrivateDecisionTree.from_sklearn(pipeline, IRIS)


def test_mistakes_are_named(client, server):
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(IRIS, SPECIES)
    model = PrivateDecisionTree.from_sklearn(tree, IRIS, tables="lut11")
    interface = model.interface
    with pytest.raises(ShapeError, match="rows of 4 features are needed"):
        client.encrypt_query(interface, [1.0, 2.0])
    with pytest.raises(ArgumentError, match="feature 1 of row 0 is not a number"):
        client.encrypt_query(interface, [1.0, np.nan, 1.0, 1.0])
    with pytest.raises(ArgumentError, match="the key is for 'lut11'"):
        client.encrypt_query(PrivateDecisionTree.from_sklearn(tree, IRIS).interface, IRIS)
    with pytest.raises(ParameterError, match="lut11, lut12, lut13"):
        PrivateDecisionTree.from_sklearn(tree, IRIS, tables="lut9")
    with pytest.raises(ShapeError, match="ranges of 4 features"):
        PrivateDecisionTree.from_sklearn(tree, ranges=(0.0, 1.0))
    with pytest.raises(TypeError, match=r"ranges are \(low, high\)"):
        PrivateDecisionTree.from_sklearn(tree, ranges=1.0)
    with pytest.raises(TypeError, match="a TreeInterface, not PrivateDecisionTree"):
        TreeClient.generate(model)
    with pytest.raises(ArgumentError, match="feature 0 goes from"):
        PrivateDecisionTree.from_sklearn(tree, ranges=(RANGES[1], RANGES[0]))
    with pytest.raises(ShapeError, match="a sample of rows of 4 features"):
        PrivateDecisionTree.from_sklearn(tree, IRIS[:, :3])
    with pytest.raises(ArgumentError, match="feature 2 of row 1 is not a finite number"):
        PrivateDecisionTree.from_sklearn(tree, np.array([[0.0] * 4, [0, 0, np.nan, 0]]))
    for both in ({"sample": IRIS, "ranges": RANGES}, {}):
        with pytest.raises(TypeError, match="pass either a sample"):
            PrivateDecisionTree.from_sklearn(tree, **both)
    with pytest.raises(TypeError, match="clamp is True or False, not int"):
        PrivateDecisionTree.from_sklearn(tree, IRIS, clamp=1)
    with pytest.raises(ShapeError, match="shares: rows of 4 features"):
        interface.shares([1.0])
    assert len(repr(interface)) < 200
    for other in (
        AdaBoostClassifier(n_estimators=2),
        BaggingClassifier(n_estimators=2),
        VotingClassifier([("a", RandomForestClassifier(2))]),
        make_pipeline(StandardScaler(), DecisionTreeClassifier()),
    ):
        with pytest.raises(
            TypeError, match="a fitted decision tree, random forest or gradient boosting, not"
        ):
            PrivateDecisionTree.from_sklearn(other.fit(IRIS, SPECIES), IRIS)
    with pytest.raises(TypeError, match="a fitted decision tree"):
        PrivateDecisionTree.from_sklearn(DecisionTreeClassifier(), IRIS)
    with pytest.raises(TypeError, match="takes a TreeQuery and a TreeServer"):
        model.evaluate(IRIS, server)
    with pytest.raises(TypeError, match=r"TreeKeys is made by TreeClient\.evaluation_keys"):
        TreeKeys(b"")
    stranger = TreeClient.generate("lut11")
    with pytest.raises(KeyMismatchError):
        model.evaluate(stranger.encrypt_query(interface, IRIS[:1]), server)
    with pytest.raises(ArgumentError, match="forest"):
        client.decrypt_shares(
            interface, model.evaluate(client.encrypt_query(interface, IRIS[:1]), server)
        )


def test_several_outputs_are_as_precise_as_one(client, server):
    random = np.random.default_rng(1)
    known = np.column_stack([IRIS[:, 3], -100 * IRIS[:, 2]]) + random.normal(
        scale=0.1, size=(150, 2)
    )
    tree = DecisionTreeRegressor(max_depth=5, random_state=0).fit(IRIS[:, :3], known)
    model = PrivateDecisionTree.from_sklearn(tree, IRIS[:, :3], tables="lut11")
    # Without a deviation asked for there is one, of the range of each.
    spans = np.ptp(tree.tree_.value[:, :, 0], axis=0)
    assert spans[1] > 50 * spans[0]
    assert (model.deviation <= spans / 1000).all()
    rows = IRIS[::75, :3]
    reply = model.evaluate(client.encrypt_query(model.interface, rows), server)
    off = abs(client.decrypt(model.interface, reply) - tree.predict(rows))
    assert (off < 10 * model.deviation).all()
    told = model.simulate(rows).result
    assert (abs(told - tree.predict(rows)) < 10 * model.deviation).all()
    wanted = PrivateDecisionTree.from_sklearn(
        tree, IRIS[:, :3], tables="lut11", deviation=[0.05, 0.5]
    )
    assert (wanted.deviation <= [0.05, 0.5]).all()
    with pytest.raises(ShapeError, match="one for each of 2 outputs"):
        PrivateDecisionTree.from_sklearn(
            tree, IRIS[:, :3], tables="lut11", deviation=[1.0, 1.0, 1.0]
        )
    with pytest.raises(ArgumentError, match="positive numbers"):
        PrivateDecisionTree.from_sklearn(tree, IRIS[:, :3], tables="lut11", deviation=[1.0, 0.0])
    with pytest.raises(
        ArgumentError,
        match=r"a deviation of 1e-06 is not possible. The least is \[.*e-05 0\.00.*\]",
    ) as refused:
        PrivateDecisionTree.from_sklearn(tree, IRIS[:, :3], tables="lut11", deviation=1e-6)
    possible = [
        1.01 * float(each) for each in str(refused.value).split("[")[1].split("]")[0].split()
    ]
    assert (
        PrivateDecisionTree.from_sklearn(
            tree, IRIS[:, :3], tables="lut11", deviation=possible
        ).deviation
        <= possible
    ).all()
    with pytest.raises(TypeError, match="one that is not fitted: DecisionTreeRegressor"):
        PrivateDecisionTree.from_sklearn(DecisionTreeRegressor())


def test_trees_and_clustering_are_modules_of_the_package():
    for name in ("trees", "clustering", "gates"):
        module = importlib.import_module(f"hippocrene.{name}")
        assert module is getattr(hippocrene, name)
        assert all(hasattr(module, public) for public in getattr(module, "__all__", ()))
    assert hippocrene.trees.PrivateDecisionTree is PrivateDecisionTree
