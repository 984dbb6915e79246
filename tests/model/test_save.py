"""A model goes to one file and comes back as it was, and what is no such file is refused in one sentence."""

import io
import json
import pickle
import re
import zipfile
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from laconic import SparsePCA, load_model, verify
from laconic.core import store
from laconic.datasets import load_pitprops, load_senate109
from laconic.methods import Exact, Swaps

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
    assert not [name for name, value in public(model).items() if not same(value, getattr(again, name))]
    assert again.save(folder / "again.laconic").read_bytes() == path.read_bytes()
    return again


MODELS = {
    "proved": lambda: SparsePCA(cardinality=[5, 2], proof="tight").fit(VOTES),
    "without a proof": lambda: SparsePCA(cardinality=3, proof=None).fit(VOTES),
    "scaled": lambda: SparsePCA(scale=True, cardinality=2, nonnegative=True).fit(VOTES.iloc[:, :12]),
    "together": lambda: SparsePCA(cardinality=[3, 2], joint="span").fit(VOTES.iloc[:, :20]),
    "chosen": lambda: SparsePCA().fit(FEW),
    "pairwise": lambda: SparsePCA(cardinality=2, missing="pairwise").fit(HOLES),
    "em": lambda: SparsePCA(cardinality=2, missing="em").fit(HOLES),
    "covariance": lambda: SparsePCA(cardinality=[3, 3]).fit_covariance(*PITPROPS),
    "without names": lambda: SparsePCA(cardinality=2).fit(FEW.to_numpy(dtype=np.float32)),
    "names given": lambda: SparsePCA(cardinality=2).fit(FEW.to_numpy(), feature_names=["nan", "inf", *"cdefgh"]),
    "forced": lambda: SparsePCA(cardinality=3, forced_in=["S. 5"]).fit(FEW),
    "solvers": lambda: SparsePCA(cardinality=2, method=Swaps(max_iterations=7), proof=Exact(gap=0.1)).fit(FEW),
    "stopped": lambda: SparsePCA(cardinality=[4, 3], proof="tight", time_limit=1e-6).fit(VOTES),
    "frames": lambda: clone(SMALL).set_output(transform="pandas").fit(FEW),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", MODELS)
def test_every_public_attribute_comes_back_bit_for_bit(kind, tmp_path):
    model = MODELS[kind]()
    again = check_round_trip(model, tmp_path)
    assert same(again.get_params(), model.get_params())
    rows = np.random.default_rng(0).standard_normal((5, model.n_features_in_))
    assert np.array_equal(again.transform(rows), model.transform(rows))
    assert again.loadings().equals(model.loadings())
    assert again.summary().equals(model.summary())


def test_certificates_come_along(tmp_path):
    model = SparsePCA(cardinality=[5, 2], proof="tight").fit(VOTES)
    again = load_model(model.save(tmp_path / "m.laconic"))
    assert all(verify(again.certificates_, VOTES))
    path = again.certificates_[1].save(tmp_path / "component-2.json")
    assert path.read_bytes() == model.certificates_[1].files(path.name)[path.name]


def test_another_sequence_comes_back_as_a_list(tmp_path):
    model = SparsePCA(cardinality=range(2, 0, -1), forced_in=np.array(["S. 5"])).fit(FEW)
    again = load_model(model.save(tmp_path / "m.laconic"))
    assert (again.cardinality, again.forced_in) == ([2, 1], ["S. 5"])


@dataclass(frozen=True)
class Mine:
    """A solver of a user, which the package does not know."""


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"method": Mine()}, "^method is a Mine, which a file cannot hold; give a number"),
        ({"proof": Mine()}, "^proof is a Mine"),
        ({"random_state": np.random.RandomState(4)}, "^random_state is a RandomState"),
    ],
)
def test_what_json_does_not_have_is_refused_in_a_sentence(parameters, words, tmp_path):
    model = clone(SMALL).fit(FEW).set_params(**parameters)
    with pytest.raises(TypeError, match=words):
        model.save(tmp_path / "m.laconic")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_saved_is_said(tmp_path):
    with pytest.raises(NotFittedError):
        SparsePCA().save(tmp_path / "n.laconic")

    class Other(SparsePCA):
        pass

    with pytest.raises(TypeError, match="Other may have parts that would be lost"):
        Other(cardinality=1).fit(FEW).save(tmp_path / "n.laconic")
    with pytest.raises(FileNotFoundError, match="no folder"):
        SMALL.save(tmp_path / "no" / "m.laconic")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        SMALL.save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nix\.laconic"):
        load_model(tmp_path / "nix.laconic")
    assert not list(tmp_path.iterdir())


def test_fifty_thousand_features(tmp_path):
    rows = np.random.default_rng(1).standard_normal((6, 50_000))
    rows[:, 7] *= 100
    names = [f'"{i}", \n\t </script> é {i}' for i in range(50_000)]
    model = SparsePCA(cardinality=2, method="sorting").fit(rows, feature_names=names)
    again = load_model(model.save(tmp_path / "m.laconic"))
    assert again.feature_names_in_.tolist() == names
    assert same(again.components_, model.components_)


# What follows are files that are no models.


@pytest.fixture
def parts(tmp_path):
    """The parts of a small model file, with its arrays in a part of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "INLINE", 5)
        data = SMALL.save(tmp_path / "m.laconic").read_bytes()
    return store.unpacked(data, "m", store.Budget(), "zip file")


def resealed(parts, change=lambda _: None):
    """The parts with a changed document and right checksums, as a forger would make them."""
    document = json.loads(parts["model.json"])
    change(document)
    if "model.npz" in parts:
        document["arrays"] = {"file": "model.npz", "sha256": store.hashlib.sha256(parts["model.npz"]).hexdigest()}
    document["checksum"] = store.checksum(document)
    return store.packed({**parts, "model.json": json.dumps(document).encode()})


def refused(tmp_path, data, words, **options):
    path = tmp_path / "bad.laconic"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=words) as error:
        load_model(path, **options)
    assert type(error.value) is ValueError
    assert "\n" not in str(error.value)


def zipped(*members, **options):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **options) as file:
        for name, data in members:
            file.writestr(name, data)
    return buffer.getvalue()


def loaded(path):
    try:
        return "", load_model(path)
    except ValueError as error:
        return str(error), None


@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.slow)])
def test_altered_or_cut_bytes_are_refused_or_change_nothing(step, tmp_path):
    model = SparsePCA(cardinality=1, proof=None).fit(FEW.iloc[:, :2].to_numpy())
    data = model.save(tmp_path / "m.laconic").read_bytes()
    path = tmp_path / "altered.laconic"
    harmless = 0
    for place in range(3, len(data), step):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        message, again = loaded(path)
        if again is None:
            assert re.fullmatch(r"altered\.laconic[^\n]*\.", message)
        else:
            # Dates and rights of the parts, which nothing reads.
            harmless += 1
            assert all(same(value, getattr(again, name)) for name, value in public(model).items())
    assert harmless < 120
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
        (zipped(("model.json", "[]")), "is no laconic model"),
        (zipped(("model.json", '{"format": "laconic certificate"}')), "is no laconic model"),
        (zipped(("model.json", '{"format": "laconic model", "schema": 2}')), "schema 2; this version of laconic reads"),
        (zipped(("model.json", '{"format": "laconic model", "schema": 1}')), "a part is missing"),
        (zipped(("../model.json", "{}")), "does not have"),
        (zipped(("a\\b", "{}")), "does not have"),
        (zipped(("model.json", "{}"), compression=zipfile.ZIP_LZMA), "does not have"),
    ],
    ids=range(12),
)
def test_foreign_files_are_refused(tmp_path, data, words):
    refused(tmp_path, data, words)


def test_bombs_are_refused_before_they_are_unpacked(tmp_path, monkeypatch, parts):
    data = SMALL.save(tmp_path / "m.laconic").read_bytes()
    refused(tmp_path, data, r"would take more than 5,000 bytes unpacked, which is the limit\.$", max_bytes=5000)
    bomb = zipped(("model.json", "0" * 30_000_000), compression=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 40_000
    lying = bytearray(zipped(("model.json", "0" * 3_000_000), compression=zipfile.ZIP_DEFLATED))
    for place in [found.start() for found in re.finditer(re.escape((3_000_000).to_bytes(4, "little")), bytes(lying))]:
        lying[place : place + 4] = (10).to_bytes(4, "little")
    refused(tmp_path, bytes(lying), "altered or cut short")
    inner = store.packed({"array0.npy": store._npy(np.zeros(3_000_000))})
    bad = resealed({**parts, "model.npz": inner})
    refused(tmp_path, bad, r"model\.npz would take more than 5,000,000 bytes", max_bytes=5_000_000)
    many = zipped(*((str(number), "") for number in range(300)))
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_, **__: pytest.fail("unpacked"))
    refused(tmp_path, bomb, "would take more than 20,000,000 bytes", max_bytes=20_000_000)
    monkeypatch.setattr(store, "MOST_PARTS", 200)
    refused(tmp_path, many, "more than 200 parts")


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
        npy({"descr": "<f8"}),
        b"",
    ],
    ids=range(7),
)
def test_arrays_of_objects_and_arrays_with_wrong_sizes_are_refused(tmp_path, parts, content):
    bad = resealed({**parts, "model.npz": store.packed({"array0.npy": content})})
    refused(tmp_path, bad, r"model\.npz is no NPZ file of plain arrays\.$")


def test_a_sealed_file_with_wrong_content_is_refused(tmp_path):
    parts = store.unpacked(SMALL.save(tmp_path / "m.laconic").read_bytes(), "m", store.Budget(), "zip file")

    def attribute(name, value):
        return lambda document: document["content"]["attributes"].__setitem__(name, value)

    def parameter(name, value):
        return lambda document: document["content"]["parameters"].__setitem__(name, value)

    zeros = {"dtype": "float64", "shape": [8], "values": [0.0] * 8}
    for change, words in [
        (attribute("n_components_", "2"), "model file should be"),
        (attribute("n_features_in_", 9), "number of features or components differs"),
        (attribute("mean_", {**zeros, "shape": [4, 2]}), "number of features or components differs"),
        (attribute("mean_", {**zeros, "values": ["nan"] * 8}), "not all finite"),
        (attribute("scale_", zeros), "a scale is not positive"),
        (attribute("verdicts_", []), "not every component has its results"),
        (attribute("supports_", [{"dtype": "int64", "shape": [1], "values": [99]}] * 2), "a support is not that"),
        (attribute("certificates_", [{"type": "Popen"}]), "model file should be"),
        (attribute("fit", 1), "fit is no attribute of a fitted model"),
        (attribute("__class__", 1), "__class__ is no attribute"),
        (parameter("more", 1), "model file should be"),
        (parameter("method", {"type": "Swaps", "max_iterations": "x"}), "'x' is no whole number"),
        (lambda document: document.update(content=[]), "model file should be"),
    ]:
        refused(tmp_path, resealed(parts, change), words)
