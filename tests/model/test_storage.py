"""A model goes to one file and comes back as it was, and what is no such file is refused in one sentence."""

import hashlib
import io
import json
import pickle
import re
import zipfile
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import laconic.core.store as packing
from laconic import SparsePCA, load_model, scores, verify
from laconic.core.store import checksum, json_text
from laconic.datasets import load_pitprops, load_senate109
from laconic.methods import SOLVERS, Exact, Swaps
from laconic.model.storage import Fitted
from laconic.search.problem import Abilities

VOTES = load_senate109().frame
FEW = VOTES.iloc[:, :8]
SMALL = SparsePCA(cardinality=[2, 1]).fit(FEW)
PITPROPS = load_pitprops().covariance, load_pitprops().feature_names
HOLES = FEW.mask(np.arange(len(FEW))[:, None] % 17 == np.arange(8))


def same(one, other):
    """Whether two results are equal in every bit and every type, arrays and dataclasses inside them included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        if one.dtype == object:
            return one.tolist() == other.tolist()
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, np.random.RandomState):
        return same(one.get_state(legacy=False), other.get_state(legacy=False))
    if isinstance(one, float):
        return np.float64(one).tobytes() == np.float64(other).tobytes()
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if is_dataclass(one) and not isinstance(one, Enum):
        return all(same(getattr(one, part.name), getattr(other, part.name)) for part in fields(one))
    return one == other


def public(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("_")}


def check_round_trip(model, folder):
    path = model.save(folder / "m.laconic")
    again = load_model(path)
    assert public(again).keys() == public(model).keys()
    different = [name for name, value in public(model).items() if not same(value, getattr(again, name))]
    assert not different
    assert same(again.get_params(), model.get_params())
    assert again.save(folder / "again.laconic").read_bytes() == path.read_bytes()
    return again


MODELS = {
    "proved": lambda: SparsePCA(cardinality=[5, 2], proof="tight").fit(VOTES),
    "without a proof": lambda: SparsePCA(cardinality=3, proof=None).fit(VOTES),
    "scaled": lambda: SparsePCA(scale=True, cardinality=2, nonnegative=True).fit(VOTES.iloc[:, :12]),
    "together": lambda: SparsePCA(cardinality=[3, 2], joint="span").fit(VOTES.iloc[:, :20]),
    "chosen": lambda: SparsePCA(cardinality="cv", n_components="parallel").fit(FEW),
    "pairwise": lambda: SparsePCA(cardinality=2, missing="pairwise").fit(HOLES),
    "em": lambda: SparsePCA(cardinality=2, missing="em").fit(HOLES),
    "covariance": lambda: SparsePCA(cardinality=[3, 3]).fit_covariance(*PITPROPS),
    "without names": lambda: SparsePCA(cardinality=2).fit(FEW.to_numpy(dtype=np.float32)),
    "names given": lambda: SparsePCA(cardinality=2).fit(FEW.to_numpy(), feature_names=list("abcdefgh")),
    "forced": lambda: SparsePCA(cardinality=3, forced_in=("S. 5", 1)).fit(FEW),
    "stopped": lambda: SparsePCA(cardinality=[4, 3], proof="tight", time_limit=1e-6).fit(VOTES),
    "an id": lambda: SparsePCA(cardinality=2).fit(FEW.assign(id=np.arange(len(FEW)))),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", MODELS)
def test_every_public_attribute_comes_back_bit_for_bit(kind, tmp_path):
    model = MODELS[kind]()
    again = check_round_trip(model, tmp_path)
    rows = np.random.default_rng(0).standard_normal((5, model.n_features_in_))
    assert same(again.transform(rows), model.transform(rows))
    assert same(again.inverse_transform(again.transform(rows)), model.inverse_transform(model.transform(rows)))
    assert again.score(rows) == model.score(rows)
    assert again.loadings().equals(model.loadings())
    assert again.summary().equals(model.summary())


def test_every_fitted_attribute_is_in_the_list_of_the_file():
    assert {*public(SMALL), "_each", "_together"} == {part.name for part in fields(Fitted)}


@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_comes_back_by_name_and_as_an_object(name, tmp_path):
    for method in (name, SOLVERS[name]):
        again = check_round_trip(clone(SMALL).set_params(method="greedy").fit(FEW).set_params(method=method), tmp_path)
        assert again.method == method


@pytest.mark.parametrize(
    "parameters",
    [
        {"method": Swaps(max_iterations=7)},
        {"proof": Exact(gap=0.1, workers=2), "time_limit": 100.0},
        {"cardinality": (2, 1)},
        {"cardinality": np.array([2, 1], dtype=np.int32)},
        {"forced_in": np.array(["S. 5"]), "n_components": 1, "cardinality": 2},
        {"random_state": 3},
        {"random_state": np.random.RandomState(4)},
    ],
    ids=lambda parameters: "-".join(parameters),
)
def test_parameters_come_back_as_they_were(parameters, tmp_path):
    model = SparsePCA(**{"cardinality": [2, 1], **parameters}).fit(FEW)
    again = check_round_trip(model, tmp_path)
    assert same(again.fit(FEW).components_, model.fit(FEW).components_)


def test_another_sequence_comes_back_as_a_list(tmp_path):
    model = SparsePCA(cardinality=range(2, 0, -1), forced_in=pd.Series(["S. 5"])).fit(FEW)
    again = load_model(model.save(tmp_path / "m.laconic"))
    assert (again.cardinality, again.forced_in) == ([2, 1], ["S. 5"])


@dataclass(frozen=True)
class Mine:
    """A solver of a user, which the package does not know."""

    name: ClassVar[str] = "mine"
    abilities: ClassVar[Abilities] = Abilities()

    def solve(self, problem, *, start=None):
        return SOLVERS["greedy"].solve(problem, start=start)

    def estimates(self, *_, **__):
        return ()


@pytest.mark.filterwarnings("ignore:No upper bound")
@pytest.mark.parametrize("parameter", ["method", "proof"])
def test_the_code_of_a_user_is_not_kept_and_a_fit_says_so(parameter, tmp_path):
    model = SparsePCA(cardinality=2, **{parameter: Mine()}).fit(FEW)
    with pytest.warns(UserWarning, match=f"does not hold the code of {parameter}=.*Mine"):
        path = model.save(tmp_path / "m.laconic")
    again = load_model(path)
    assert same(again.transform(FEW), model.transform(FEW))
    with pytest.raises(ValueError, match=rf"^{parameter} was an object of the class .*Mine.* again with set_params"):
        again.fit(FEW)
    # The model is still there.
    with pytest.warns(UserWarning, match="does not hold the code"):
        assert again.save(tmp_path / "again.laconic").read_bytes() == path.read_bytes()
    again.set_params(**{parameter: getattr(model, parameter)}).fit(FEW)


def test_certificates_inside_are_files_of_their_own(tmp_path):
    model = SparsePCA(cardinality=[5, 2], proof="tight").fit(VOTES)
    path = model.save(tmp_path / "m.laconic")
    assert all(verify(certificate, VOTES) for certificate in load_model(path).certificates_)
    with zipfile.ZipFile(path) as file:
        file.extractall(tmp_path / "inside")
    assert verify(tmp_path / "inside" / "component-2.json", VOTES)
    assert not verify(tmp_path / "inside" / "component-2.json", VOTES + 1e-3 * np.eye(*VOTES.shape))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.text(st.characters(), max_size=20), min_size=8, max_size=8, unique=True))
def test_names_of_any_text(tmp_path_factory, names):
    model = clone(SMALL).set_params(proof=None).fit(FEW)
    model.feature_names_in_ = np.array(names, dtype=object)
    again = load_model(model.save(tmp_path_factory.mktemp("names") / "m.laconic"))
    assert again.feature_names_in_.tolist() == names


def test_fifty_thousand_features(tmp_path):
    rows = np.random.default_rng(1).standard_normal((6, 50_000))
    rows[:, 7] *= 100
    names = [f'"{i}", \n\t </script> é {i}' for i in range(50_000)]
    model = SparsePCA(cardinality=2, method="sorting").fit(rows, feature_names=names)
    again = load_model(model.save(tmp_path / "m.laconic"))
    assert again.feature_names_in_.tolist() == names
    assert same(again.components_, model.components_)
    used = pd.DataFrame(rows[:, model.supports_[0]], columns=[names[j] for j in model.supports_[0]])
    assert same(scores(again, used).to_numpy(), model.transform(rows))


def test_columns_with_numbers_for_names_have_none(tmp_path):
    model = SparsePCA(cardinality=2).fit(FEW.set_axis(range(8), axis=1))
    again = load_model(model.save(tmp_path / "m.laconic"))
    assert not hasattr(again, "feature_names_in_")
    assert same(again.transform(FEW.set_axis(range(8), axis=1)), model.transform(FEW.set_axis(range(8), axis=1)))


def test_the_output_of_transform_stays_a_frame(tmp_path):
    model = clone(SMALL).set_output(transform="pandas").fit(FEW)
    again = check_round_trip(model, tmp_path)
    assert again.transform(FEW).equals(model.transform(FEW))


def test_what_cannot_be_kept_is_said(tmp_path):
    model = clone(SMALL).fit(FEW)
    model.remark_ = "mine"
    with pytest.warns(UserWarning, match=r"^The model file does not hold remark_\.$"):
        model.save(tmp_path / "m.laconic")
    with pytest.raises(NotFittedError):
        SparsePCA().save(tmp_path / "n.laconic")

    class Other(SparsePCA):
        pass

    with pytest.raises(TypeError, match="Other may have more parts"):
        Other(cardinality=1).fit(FEW).save(tmp_path / "n.laconic")
    with pytest.raises(FileNotFoundError, match="no folder"):
        SMALL.save(tmp_path / "no" / "m.laconic")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        SMALL.save(tmp_path)
    assert not (tmp_path / "n.laconic").exists()


def test_a_file_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    path = SMALL.save(tmp_path / "m.laconic")
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        clone(SMALL).set_params(cardinality=3).fit(FEW).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


# What follows are files that are no models.


@pytest.fixture
def parts(tmp_path):
    """The parts of a small model file."""
    return packing.unpacked(SMALL.save(tmp_path / "m.laconic").read_bytes(), "m", packing.Budget())


def resealed(parts, **changes):
    """The parts with a changed document and right checksums, as a forger would make them."""
    document = {**json.loads(parts["model.json"]), **changes}
    document["files"] = {name: hashlib.sha256(data).hexdigest() for name, data in parts.items() if name != "model.json"}
    document["checksum"] = checksum(document)
    return {**parts, "model.json": json_text(document)}


def refused(tmp_path, data, words, **options):
    path = tmp_path / "bad.laconic"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=words) as error:
        load_model(path, **options)
    assert type(error.value) is ValueError
    assert "\n" not in str(error.value)
    assert str(error.value).endswith(".")


def zipped(*members, **options):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **options) as file:
        for name, data in members:
            file.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.slow)])
def test_altered_bytes_are_refused_or_change_nothing(step, tmp_path):
    model = SparsePCA(cardinality=1, proof=None).fit(FEW.iloc[:, :2].to_numpy())
    data = model.save(tmp_path / "m.laconic").read_bytes()
    path = tmp_path / "altered.laconic"
    harmless = 0
    for place in range(3, len(data), step):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        message, again = loaded(path)
        if again is None:
            assert re.fullmatch(r"altered\.laconic [^\n]*\.", message)
        else:
            # Dates and rights of the parts, which nothing reads.
            harmless += 1
            assert all(same(value, getattr(again, name)) for name, value in public(model).items())
    assert harmless < 120


def loaded(path):
    try:
        return "", load_model(path)
    except ValueError as error:
        return str(error), None


def test_files_that_are_cut_are_refused(tmp_path):
    data = SMALL.save(tmp_path / "m.laconic").read_bytes()
    for length in [0, 1, 21, *range(22, len(data), 499), len(data) - 1]:
        refused(tmp_path, data[:length], "is no laconic model")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a,b\n1,2\n", "is no laconic model, or was altered"),
        (pickle.dumps({"a": 1}), "is no laconic model, or was altered"),
        (zipped(("a.txt", "a")), r"has no model\.json"),
        (zipped(("model.json", "{")), "is no JSON"),
        (zipped(("model.json", "[" * 100_000)), "is no JSON"),
        (zipped(("model.json", "9" * 10_000)), "is no JSON"),
        (zipped(("model.json", "[]")), "is no laconic model"),
        (zipped(("model.json", '{"format": "laconic certificate"}')), "is no laconic model"),
        (zipped(("model.json", '{"format": "laconic model", "schema": 2}')), "schema 2, and this version .* reads 1"),
        (zipped(("model.json", '{"format": "laconic model", "schema": 1}')), "checksum does not fit"),
        (zipped(("../model.json", "{}")), "has folders in it"),
        (zipped(("/model.json", "{}")), "has folders in it"),
        (zipped(("a\\b", "{}")), "has folders in it"),
        (zipped(("a/", "")), "has folders in it"),
        (zipped(("model.json", "{}"), compression=zipfile.ZIP_LZMA), "compressed in a way that is not allowed"),
    ],
    ids=range(15),
)
def test_foreign_files_are_refused(tmp_path, data, words):
    refused(tmp_path, data, words)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_parts_that_occur_twice_or_do_not_belong_are_refused(tmp_path, parts):
    refused(tmp_path, zipped(*parts.items(), ("model.json", parts["model.json"])), "has a part twice")
    refused(tmp_path, zipped(*parts.items(), ("more.txt", "")), "its parts are not those")
    refused(tmp_path, zipped(*list(parts.items())[:-1]), "its parts are not those")
    swapped = {**parts, "component-1.json": parts["component-2.json"], "component-2.json": parts["component-1.json"]}
    refused(tmp_path, packing.packed(swapped), "its parts are not those")
    refused(tmp_path, packing.packed(resealed(swapped)), "a certificate is about another component")


def test_bombs_are_refused_before_they_are_unpacked(tmp_path, monkeypatch):
    data = SMALL.save(tmp_path / "m.laconic").read_bytes()
    refused(tmp_path, data, r"would take more than 5,000 bytes unpacked, which is the limit\.$", max_bytes=5000)
    bomb = zipped(("model.json", "0" * 30_000_000), compression=zipfile.ZIP_DEFLATED)
    many = zipped(*((str(number), "") for number in range(300)))
    assert len(bomb) < 40_000
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_, **__: pytest.fail("unpacked"))
    refused(tmp_path, bomb, "would take more than 20,000,000 bytes", max_bytes=20_000_000)
    monkeypatch.setattr(packing, "MOST_PARTS", 200)
    refused(tmp_path, many, "more than 200 parts")


def test_a_part_that_is_larger_than_it_declares_is_refused(tmp_path):
    bomb = bytearray(zipped(("model.json", "0" * 3_000_000), compression=zipfile.ZIP_DEFLATED))
    size = (3_000_000).to_bytes(4, "little")
    assert bomb.count(size) == 2
    for place in [found.start() for found in re.finditer(re.escape(size), bytes(bomb))]:
        bomb[place : place + 4] = (10).to_bytes(4, "little")
    refused(tmp_path, bytes(bomb), "altered or cut short")


def test_a_bomb_inside_the_arrays_is_refused(tmp_path, parts):
    inner = packing.packed_arrays({"components_": np.zeros(3_000_000)})
    assert len(inner) < 40_000
    bad = packing.packed(resealed({**parts, "model.npz": inner}))
    refused(tmp_path, bad, r"model\.npz would take more than 5,000,000 bytes", max_bytes=5_000_000)


def npy(header, data=b""):
    text = repr(header).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize(
    "content",
    [
        npy({"descr": "|O", "fortran_order": False, "shape": (1,)}, pickle.dumps([1])),
        npy({"descr": "<f8", "fortran_order": False, "shape": (10**12,)}),
        npy({"descr": "<f8", "fortran_order": False, "shape": (-1,)}),
        npy({"descr": "<f8", "fortran_order": False, "shape": (2,)}, b"\0" * 8),
        npy({"descr": "<U9", "fortran_order": False, "shape": ()}, b"\0" * 36),
        npy({"descr": "<V8", "fortran_order": False, "shape": (1,)}, b"\0" * 8),
        npy({"descr": "<f8"}),
        b"\x93NUMPY\x09\x00",
        b"",
    ],
    ids=range(9),
)
def test_arrays_of_objects_and_arrays_with_wrong_sizes_are_refused(tmp_path, parts, content):
    bad = packing.packed(resealed({**parts, "model.npz": packing.packed({"components_.npy": content})}))
    refused(tmp_path, bad, r"^model\.npz is no NPZ file of plain arrays\.$")


def test_a_sealed_file_with_wrong_content_is_refused(tmp_path, parts):
    document = json.loads(parts["model.json"])

    def fitted(**changes):
        return {"fitted": {**document["fitted"], **changes}}

    def parameters(**changes):
        return {"parameters": {**document["parameters"], **changes}}

    for changes, words in [
        (fitted(n_components_="2"), "'2' is no whole number"),
        (fitted(n_features_in_=9), "number of features or components differs"),
        (fitted(feature_names_in_=["a"] * 8), "feature 'a' more than once"),
        (fitted(mean_=document["fitted"]["components_"]), "number of features or components differs"),
        (fitted(verdicts_=[]), "not every component has its results"),
        (fitted(supports_=document["fitted"]["supports_"][::-1]), "a support is not that of its component"),
        (fitted(certificates_=["model.json", None]), r"the certificate model\.json is missing"),
        (fitted(more=1), "a Fitted does not have the parts"),
        (fitted(choice_={"type": "os.system"}), "a Choice is missing"),
        (parameters(scale="yes"), "'scale' parameter of SparsePCA"),
        (parameters(more=1), "does not know more"),
        (parameters(method={"type": "Popen"}), "'Popen' is no kind of parameter"),
        (parameters(method={"type": "Swaps", "max_iterations": "x"}), "'x' is no whole number"),
        (parameters(cardinality={"type": "array", "dtype": "object", "items": [1]}), "a parameter is not a array"),
        (parameters(random_state={"type": "RandomState", "key": []}), "model file should be"),
        ({"parameters": []}, "does not know parameters"),
        ({"output": {"transform": "cudf"}}, "output of transform must be one of"),
        ({"names_given": 1}, "1 is no flag"),
        ({"more": 1}, "checksum does not fit"),
    ]:
        refused(tmp_path, packing.packed(resealed(parts, **changes)), words)


def test_the_sizes_of_supports_are_checked(tmp_path, parts):
    arrays = packing.unpacked_arrays(parts["model.npz"], "m", packing.Budget())
    for name, value in [("supports_.1", np.array([0, 99])), ("scale_", np.zeros(8)), ("mean_", np.full(8, np.nan))]:
        bad = resealed({**parts, "model.npz": packing.packed_arrays({**arrays, name: value})})
        refused(tmp_path, packing.packed(bad), "bad.laconic is not as a model file should be")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nix\.laconic"):
        load_model(tmp_path / "nix.laconic")
