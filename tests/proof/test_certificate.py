"""Certificates go to disk and back, are accepted when true, and are rejected, with the reason, when not."""

import io
import json
import math
import shutil
from dataclasses import fields, is_dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from certificate_examples import EXAMPLES, NAMES, best, example, matrix, rows
from forging import sealed

from laconic import Certificate, verify
from laconic.core import store
from laconic.covariance import DenseCovariance, FactorCovariance
from laconic.covariance.deflation import Deflation
from laconic.covariance.make import Recipe, make, make_of_matrix
from laconic.data.passes import digest_of
from laconic.proof import ProofError, certify
from laconic.proof.gate import kinds_of
from laconic.proof.witness import NO_BOUND
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import ExhaustiveWitness, RowSumWitness, TraceWitness
from laconic.proof.witness_proposition_2 import Proposition2Witness
from laconic.proof.witness_steps import Again, ByRows, ByVariances, Step, StepsWitness


def made(name="row levels"):
    return example(name).certificate


def same(a, b):
    """Whether two parts of a certificate are equal in every bit and type."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if is_dataclass(a):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("inline", [2000, 5])
@pytest.mark.parametrize("name", EXAMPLES)
def test_round_trip(tmp_path, monkeypatch, name, inline):
    monkeypatch.setattr(store, "INLINE", inline)
    found = example(name)
    names = tuple(f'{i} "[\n1\n]"é' for i in range(found.certificate.n_features))
    certificate = replace(found.certificate, feature_names=names)
    path = certificate.save(tmp_path / "proof.json")
    again = Certificate.load(path)
    assert same(again, certificate)
    assert again.files("proof.json")["proof.json"] == path.read_bytes()
    if inline == 2000:
        assert [file.name for file in tmp_path.iterdir()] == ["proof.json"]
    outcome = verify(path, found.data, **found.options)
    assert outcome, outcome.reason
    assert certificate.lower <= outcome.lower <= outcome.upper <= certificate.upper


def test_what_a_certificate_says():
    certificate, loose = made("exhaustive"), made("trace")
    assert certificate.proved
    assert certificate.gap <= 1e-11
    assert certificate.verdict.startswith("Optimal")
    assert 0 < certificate.margin < 1e-10
    assert set(certificate.versions) == {"laconic", "numpy", "scipy", "python"}
    assert not loose.proved
    assert "at least 55 %" in loose.verdict
    assert replace(loose, lower=-1.0).gap == math.inf
    assert replace(loose, lower=loose.upper).gap == 0
    assert loose.verdict in repr(loose)


# What is restricted, and the words of it in a verdict.
SCOPES = {
    "left out": ({"allowed": np.arange(7)}, " without 'h'", ""),
    "two left out": ({"allowed": np.arange(6)}, " without 'g' and 'h'", ""),
    "many left out": ({"allowed": np.arange(5)}, " without 3 of the features", ""),
    "without names": ({"allowed": np.arange(6), "feature_names": None}, " without features 6 and 7", ""),
    "forced in": ({"forced": np.array([1])}, " with 'b'", ""),
    "many forced in": ({"forced": np.arange(3)}, " with 3 features forced in", ""),
    "both": ({"forced": np.array([1]), "allowed": np.arange(7)}, " with 'b' but without 'h'", ""),
    "second": ({"earlier": np.eye(8)[:1]}, "", " after component 1"),
    "third": ({"earlier": np.eye(8)[:2]}, "", " after components 1 and 2"),
    "fourth": ({"earlier": np.eye(8)[:3]}, "", " after components 1 to 3"),
    "braces in a name": ({"forced": np.array([0]), "feature_names": ("{x}", *NAMES[1:])}, " with '{x}'", ""),
}


@pytest.mark.parametrize("restricted", SCOPES)
def test_a_certificate_says_what_it_is_about(restricted):
    changed, supports, setting = SCOPES[restricted]
    certificate = replace(made("exhaustive"), **changed)
    assert certificate.verdict == (
        f"Optimal: no other support of this size{supports} reaches more variance{setting} (proved)."
    )
    among = f" among supports{supports}" if supports else ""
    far = replace(certificate, lower=1.0, upper=3.5)
    assert far.verdict == f"This support reaches at least 28 % of the best possible variance{setting}{among} (proved)."


CLAIMS = {
    "exhaustive": (
        "The component with these loadings on 'a', 'b', 'd' has a variance of at least",
        "No component with at most 3 nonzero loadings, of either sign, has a variance of more than",
        "Variances are those in the matrix with the digest ",
    ),
    "third, Hotelling": (
        "has a variance after components 1 and 2 of at least ",
        "No component with at most 2 nonzero loadings, of either sign, has a variance after components 1 and 2 of more",
        "the earlier components were taken out by hotelling deflation.",
    ),
    "forced": (
        "has a variance of at least",
        ", of either sign, with feature 5 but without feature 0, has a variance of more than",
        "Variances are those in the covariance matrix of the rows with the digest ",
    ),
    "scaled, not centred": (
        "on features 2, 4, 6 has",
        "No component",
        "the matrix of second moments about zero, scaled to a unit diagonal, of the rows with",
    ),
    "weighted": ("after component 1", "after component 1", "the correlation matrix of the rows and weights with the"),
    "pairwise": ("by pairwise deletion of at least", "deletion of more than", ", made by pairwise deletion, of"),
    "joint": (
        "The 2 components with these loadings on features",
        "No 2 components of at most 4 and 3 features together hold a variance of more than",
        "the covariance matrix of the rows",
    ),
    "common": (
        "these loadings on 'c', 'e', 'f'",
        "No 2 orthogonal components of 3 common features with 'f' together",
        "the matrix",
    ),
    "disjoint": ("together hold", "No 2 components with disjoint supports of at most 3 and 2 features together", "the"),
    "orthogonal": ("together hold", "No 2 orthogonal components of at most 5 features in all together hold", "the"),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_what_the_claim_says(name):
    certificate = made(name)
    for sentence, words in zip(certificate.claim, CLAIMS[name], strict=True):
        assert words in sentence
    assert certificate.digest in certificate.claim[2]
    # Numbers are rounded to the safe side.
    assert float(certificate.claim[0].split(" at least ")[1].rstrip(".")) <= certificate.lower
    assert float(certificate.claim[1].split(" more than ")[1].rstrip(".")) >= certificate.upper


# What a forger changes, and the words of the reason.
FORGERIES = {
    "lower, a part in a billion": (lambda c: {"lower": c.lower * (1 + 1e-9)}, "lower bound is not proved"),
    "upper, a part in a billion": (lambda c: {"upper": c.upper * (1 - 1e-9)}, "upper bound is not proved"),
    "upper below lower": (lambda c: {"upper": c.lower / 2}, "lower bound above"),
    "upper infinite": ({"upper": math.inf}, "not finite"),
    "margin NaN": ({"margin": math.nan}, "not finite"),
    "margin negative": ({"margin": -1.0}, "negative margin"),
    "cardinality too small": ({"cardinalities": np.array([2])}, "components of [3] features for the cardinalities [2]"),
    "cardinality larger": ({"cardinalities": np.array([4])}, "upper bound is not proved"),
    "cardinality beyond": ({"cardinalities": np.array([9])}, "cardinalities [9], of 8"),
    "cardinality a float": ({"cardinalities": np.array([3.7])}, "a cardinality for each component"),
    "cardinality a number": ({"cardinalities": 3}, "a cardinality for each component"),
    "number of features a float": ({"n_features": 8.0}, "whole number"),
    "kind unknown": ({"kind": "anything"}, "named 'anything', and its witness is of another kind: 'row levels'"),
    "kind of nothing": ({"kind": None}, "witness is of another kind"),
    "features swapped": ({"support": np.array([5, 6, 7])}, "lower bound is not proved"),
    "feature out of range": ({"support": np.array([0, 1, 8])}, "outside"),
    "feature negative": ({"support": np.array([0, 1, -6])}, "outside"),
    "feature twice": ({"support": np.array([0, 1, 1])}, "twice"),
    "feature no number": ({"support": np.array(["a"])}, "whole numbers"),
    "support empty": ({"support": np.array([], dtype=int), "loadings": np.empty((1, 0))}, "components of [0]"),
    "loadings NaN": (lambda c: {"loadings": c.loadings * math.nan}, "finite loading"),
    "loadings too few": (lambda c: {"loadings": c.loadings[:, :2]}, "one finite loading"),
    "loadings longer": (lambda c: {"loadings": 2 * c.loadings}, "unit length"),
    "loadings turned": (lambda c: {"loadings": c.loadings[:, ::-1].copy()}, "lower bound is not proved"),
    "digest": ({"digest": "0" * 64}, "other data"),
    "number of features": ({"n_features": 9, "feature_names": None}, "other data"),
    "witness worse": (lambda c: {"witness": replace(c.witness, levels=1.01 * c.witness.levels)}, "not proved"),
    "witness of another size": ({"witness": DualWitness("row levels", levels=np.eye(2))}, "shape"),
    "witness NaN": ({"witness": DualWitness("", levels=np.full((8, 8), np.nan))}, "NaN"),
    "witness missing": ({"witness": None}, "no witness"),
    "witness takes for granted": (lambda c: {"witness": replace(c.witness, inside=c.support)}, "for granted"),
    "rows in place of a matrix": ({"recipe": Recipe("rows")}, "bound is not proved"),
    "matrix scaled": ({"recipe": Recipe("covariance", scale=True)}, "bound is not proved"),
    "source unknown": ({"recipe": Recipe("elsewhere")}, "must be 'rows' or 'covariance'"),
    "recipe missing": ({"recipe": None}, "how its matrix is made"),
    "a matrix with weights": ({"recipe": Recipe("covariance", weighted=True)}, "no rows with missing values or"),
    "deflation alone": ({"deflation": "projection"}, "or neither"),
    "deflation unknown": ({"deflation": "magic", "earlier": np.eye(8)[:1]}, "not known"),
    "deflated": ({"deflation": "projection", "earlier": np.eye(8)[:1]}, "bound is not proved"),
    "deflated by nothing": ({"deflation": "projection", "earlier": np.zeros((1, 8))}, "unit length"),
    "deflated by another shape": ({"deflation": "projection", "earlier": np.eye(7)[:1]}, "all features"),
    "features not allowed": ({"allowed": np.arange(4, 8)}, "not allowed"),
    "allowed twice": ({"allowed": np.array([0, 1, 2, 3, 3])}, "twice"),
    "forced but absent": ({"forced": np.array([7])}, "forced in"),
    "names too few": ({"feature_names": ("a",)}, "1 names for 8"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forgeries_are_rejected_by_the_mathematics(forgery):
    """The object is altered, so that no checksum can help."""
    change, words = FORGERIES[forgery]
    change = change(made()) if callable(change) else change
    outcome = verify(replace(made(), **change), matrix())
    assert not outcome
    assert words in outcome.reason
    assert "\n" not in outcome.reason


@pytest.mark.parametrize(
    "change",
    [
        lambda _: {"margin": 0.0},
        lambda _: {"versions": {}},
        lambda _: {"kind": "branch and bound"},
        lambda c: {"lower": c.lower * 0.9, "upper": c.upper * 1.1},
    ],
)
def test_what_informs_or_weakens_is_accepted(change):
    assert verify(replace(made(), **change(made())), matrix())


def set_part(key, value):
    return lambda document: document["content"].__setitem__(key, value)


# What happens to a file that is resealed, and the words of the reason.
RESEALED = {
    "a part lost": (lambda d: d["content"].pop("lower"), "not have the parts"),
    "a part gained": (set_part("proved", True), "not have the parts"),
    "a text for a number": (set_part("upper", "10"), "no number"),
    "too large a number": (set_part("upper", 10**400), "large"),
    "a list for text": (set_part("digest", []), "no text"),
    "a number for a flag": (lambda d: d["content"]["recipe"].update(scale=1), "1 is no flag"),
    "an array of the wrong kind": (lambda d: d["content"]["support"].update(dtype="float64"), "int64"),
    "an array of the wrong size": (lambda d: d["content"]["support"].update(shape=[4]), "do not fill"),
    "an array of no size": (lambda d: d["content"]["support"].update(shape=[-1, -3]), "do not fill"),
    "an array without values": (lambda d: d["content"]["support"].update(values=None), "no values"),
    "an array in a file that is not there": (lambda d: d.update(arrays={"file": "x.npz", "sha256": ""}), "missing"),
    "arrays elsewhere": (lambda d: d.update(arrays={"file": "../x.npz", "sha256": ""}), "where its arrays are"),
    "arrays nowhere": (lambda d: d.update(arrays=[]), "where its arrays are"),
    "an unknown witness": (lambda d: d["content"]["witness"].update(type="Oracle"), "is missing"),
    "a recipe for a witness": (lambda d: d["content"].update(witness=d["content"]["recipe"]), "is missing"),
    "names that are none": (set_part("feature_names", "abc"), "a list is missing"),
    "another schema": (lambda d: d.update(schema=4), "schema 4"),
    "another format": (lambda d: d.update(format="x"), "is no laconic certificate"),
    "more than there should be": (lambda d: d.update(extra=1), "one too many"),
    "no claim": (lambda d: d.pop("claim"), "a part is missing"),
    "a claim of its own": (lambda d: d["claim"].append("It is significant."), "altered"),
    "features that are not there": (lambda d: d["content"]["support"].update(values=[0, 1, 99]), "certificate should"),
    "upper, nudged": (lambda d: d["content"].update(upper=d["content"]["upper"] * (1 - 1e-9)), "upper bound is not"),
}


@pytest.mark.parametrize("case", RESEALED)
def test_files_that_are_resealed_are_rejected_all_the_same(tmp_path, case):
    path = made().save(tmp_path / "proof.json")
    document = json.loads(path.read_text())
    change, words = RESEALED[case]
    change(document)
    if "claim" in case:
        document["checksum"] = store.checksum(document)
    path.write_text(json.dumps(document if "claim" in case else sealed(document)))
    outcome = verify(path, matrix())
    assert not outcome
    assert words in outcome.reason


DAMAGES = {
    "cut short": (lambda path: path.write_text(path.read_text()[:900]), "cut short"),
    "empty": (lambda path: path.write_text(""), "cut short"),
    "a digit": (lambda path: path.write_text(path.read_text().replace('"rho": 0.0', '"rho": 1.0')), "checksum"),
    "a NaN": (lambda path: path.write_text(path.read_text().replace('"shift": 0.0', '"shift": NaN')), "no JSON"),
    "a list": (lambda path: path.write_text("[]"), "is no laconic certificate"),
    "bytes": (lambda path: path.write_bytes(b"\xff\xfe\x00"), "no JSON"),
    "gone": (lambda path: path.unlink(), "no file"),
    "arrays gone": (lambda path: path.with_suffix(".npz").unlink(), "missing"),
    "arrays altered": (lambda path: path.with_suffix(".npz").write_bytes(b"x"), "altered"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_rejected(tmp_path, monkeypatch, damage):
    monkeypatch.setattr(store, "INLINE", 5)
    path = made().save(tmp_path / "proof.json")
    assert verify(path, matrix())
    change, words = DAMAGES[damage]
    change(path)
    outcome = verify(path, matrix())
    assert not outcome
    assert words in outcome.reason


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not a zip file", "no NPZ file"),
        ({}, "has no array"),
        ({"array0": np.zeros(2)}, "of the shape"),
        ({"array0": np.array([{}], dtype=object)}, "no NPZ file"),
    ],
)
def test_foreign_arrays_are_rejected_though_resealed(tmp_path, monkeypatch, content, words):
    monkeypatch.setattr(store, "INLINE", 5)
    path = made().save(tmp_path / "proof.json")
    if isinstance(content, dict):
        buffer = io.BytesIO()
        np.savez(buffer, **content)
        content = buffer.getvalue()
    (tmp_path / "proof.npz").write_bytes(content)
    document = json.loads(path.read_text())
    document["arrays"]["sha256"] = store.hashlib.sha256(content).hexdigest()
    document["checksum"] = store.checksum(document)
    path.write_text(json.dumps(document))
    outcome = verify(path, matrix())
    assert not outcome
    assert words in outcome.reason


def test_writing(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="no folder"):
        made().save(tmp_path / "nowhere" / "c.json")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        made().save(tmp_path)
    with pytest.raises(ValueError, match=r"end it in \.json"):
        made().save(tmp_path / "proof.npz")
    assert not list(tmp_path.iterdir())
    path = made().save(tmp_path / "proof.json")
    before = path.read_bytes()

    def full(_):
        raise OSError("full")

    other = replace(made(), kind="other")
    with monkeypatch.context() as patch:
        patch.setattr(store.os, "fsync", full)
        with pytest.raises(OSError, match="full"):
            other.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["proof.json"]
    monkeypatch.setattr(store, "INLINE", 5)
    made().save(path)
    (tmp_path / "elsewhere").mkdir()
    for name in ("proof.json", "proof.npz"):
        shutil.move(tmp_path / name, tmp_path / "elsewhere" / name)
    assert verify(str(tmp_path / "elsewhere" / "proof.json"), matrix())


def test_the_matrix_in_every_form_is_the_same():
    certificate, S = made("exhaustive"), matrix()
    frame = pd.DataFrame(S, columns=list(NAMES), index=list(NAMES))
    for data in (S, np.asfortranarray(S), S.tolist(), frame, sp.csr_array(S), DenseCovariance(S)):
        assert verify(certificate, data), type(data)
    assert verify(certificate, frame.iloc[::-1, ::-1]), "columns in another order are found by name"
    assert (
        "lacks 1 of the 8 columns that the certificate is about: 'a'"
        in verify(certificate, frame.rename(columns={"a": "z"})).reason
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (lambda: matrix() * (1 + 1e-15), "other data"),
        (lambda: matrix()[::-1, ::-1], "other data"),
        (lambda: matrix()[:7, :7], "other data"),
        (lambda: rows(), "square"),
        (lambda: matrix() * math.nan, "NaN"),
        (lambda: FactorCovariance(rows()), "other data"),
    ],
)
def test_other_data_are_rejected(data, words):
    outcome = verify(made(), data())
    assert not outcome
    assert words in outcome.reason
    assert "no sample_weight" in verify(made(), matrix(), sample_weight=[1.0]).reason
    assert "no certificate" in verify(3, matrix()).reason


def of_rows(data, witness=None, *, weights=None, k=3, **recipe):
    made = make(data, Recipe(**recipe), weights=weights, quiet=True)
    few = np.sort(np.argsort(-made.covariance.diagonal)[:6])
    support, loadings = best(made.covariance.submatrix(few), k)
    options = {"digest": made.digest(), "recipe": made.recipe, "feature_names": made.names}
    return certify(made.covariance, k, few[support], loadings, witness or RowSumWitness(), **options)


def second_of(data, rule, witness, **recipe):
    """The certificate of a second component, on the features with the largest variances."""
    made = make(data, Recipe(**recipe), quiet=True)
    few = np.sort(np.argsort(-made.covariance.diagonal)[:6])
    first = np.zeros(made.covariance.n_features)
    support, first_loadings = best(made.covariance.submatrix(few), 2)
    first[few[support]] = first_loadings
    deflation = Deflation(made.covariance, rule)
    deflation.remove(first)
    support, loadings = best(deflation.current.submatrix(few), 3)
    options = {"digest": made.digest(), "recipe": made.recipe, "deflation": rule, "earlier": first[None]}
    return certify(deflation.current, 3, few[support], loadings, witness, **options)


KINDS = {
    "tall": lambda rng: rng.standard_normal((30, 8)) @ np.diag([3, 2.5, 2, 2, 1, 1, 0.5, 0.1]),
    "wide": lambda rng: rng.standard_normal((30, 2000)),
    "sparse": lambda rng: sp.random_array((60, 300), density=0.05, rng=rng, format="csr"),
    "tall sparse": lambda rng: sp.random_array((60, 12), density=0.1, rng=rng, format="csc"),
    "sparse, far from zero": lambda rng: sp.csr_array(rng.standard_normal((20, 25)) + 1e4),
}


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_in_every_container(tmp_path, center, scale, kind):
    """A certificate that is made from one container is accepted on every other, and on no other numbers."""
    data = KINDS[kind](np.random.default_rng(0))
    dense = data.toarray() if sp.issparse(data) else data
    names = [f"x{i}" for i in range(dense.shape[1])]
    np.save(tmp_path / "rows.npy", dense)
    containers = {
        "array": dense,
        "single blocks": [dense[:10], dense[10:]],
        "frame": pd.DataFrame(dense, columns=names),
        "csr": sp.csr_array(dense),
        "coo": sp.coo_array(dense),
        "file": tmp_path / "rows.npy",
    }
    witnesses = [RowSumWitness(), TraceWitness(), DualWitness("largest eigenvalue")]
    certificates = [of_rows(data, witness, center=center, scale=scale) for witness in witnesses]
    for rule in ("projection", "schur"):
        certificates += [second_of(data, rule, witness, center=center, scale=scale) for witness in witnesses]
    for name, container in containers.items():
        for outcome in verify(certificates, container):
            assert outcome, (name, outcome.reason)
    for certificate in certificates[:3]:
        assert not verify(replace(certificate, upper=certificate.upper * (1 - 1e-6)), data)
        assert "other data" in verify(certificate, dense * (1 + 1e-15)).reason


def test_weights_are_part_of_the_data():
    weights = np.random.default_rng(0).random(30) + 0.1
    certificate = of_rows(rows(), weights=weights)
    assert verify(certificate, rows(), sample_weight=list(weights))
    assert verify(certificate, rows().tolist(), sample_weight=list(weights)), "a plain list of lists"
    assert "same sample_weight" in verify(certificate, rows()).reason
    assert "other data" in verify(certificate, rows(), sample_weight=2 * weights).reason
    assert "29 numbers for 30" in verify(certificate, rows(), sample_weight=weights[1:]).reason
    assert "give no sample_weight" in verify(of_rows(rows()), rows(), sample_weight=weights).reason


def test_columns_are_found_by_name(tmp_path):
    frame = pd.DataFrame(rows(), columns=list(NAMES))
    certificate = of_rows(frame)
    more = frame.assign(color="red", age=50.0)[["age", *NAMES[::-1], "color"]]
    more.to_csv(tmp_path / "more.csv", index=False)
    for data in (more, tmp_path / "more.csv", frame[list(NAMES[::-1])]):
        outcome = verify(certificate, data)
        assert outcome, outcome.reason
    assert verify(certificate, more.drop(columns=["a", "c"])).reason == (
        "X lacks 2 of the 8 columns that the certificate is about: 'a', 'c'."
    )
    renamed = replace(certificate, feature_names=(*NAMES[:7], "zebra"))
    assert verify(renamed, tmp_path / "more.csv").reason.startswith("more.csv lacks 1 of the 8 columns that")


def test_several_certificates_make_the_matrix_once(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr("laconic.proof.verify.make", lambda *a, **k: calls.append(1) or make(*a, **k))
    one, two = of_rows(rows()), of_rows(rows(), k=2)
    path = two.save(tmp_path / "two.json")
    outcomes = verify(
        [one, path, replace(one, digest="0"), tmp_path / "none.json", of_rows(rows(), scale=True)], rows()
    )
    assert [bool(outcome) for outcome in outcomes] == [True, True, False, False, True]
    assert len(calls) == 2, "once for each recipe"


def test_covariances_as_operators():
    A = np.random.default_rng(0).standard_normal((4, 6))
    S = FactorCovariance(A)
    options = {"digest": make_of_matrix(S).digest(), "recipe": Recipe("covariance")}
    witness = Proposition2Witness(np.array([0]), np.zeros(1), 0.7 * float(S.diagonal.max()))
    certificate = certify(S, 2, *best(S.submatrix(np.arange(6)), 2), witness, **options)
    assert verify(certificate, S)
    assert "other data" in verify(certificate, FactorCovariance(A + 1e-12)).reason
    for changed in ({"recipe": Recipe("covariance", scale=True)}, {"recipe": Recipe("rows")}, {"n_features": 7}):
        assert not verify(replace(certificate, **changed), S)


def test_features_allowed_and_forced():
    S = DenseCovariance(matrix())
    allowed, forced = np.array([7, 1, 3, 5, 2]), np.array([7])
    supports = [np.array(T) for T in combinations(sorted(allowed.tolist()), 3) if 7 in T]
    values = [np.linalg.eigvalsh(S.submatrix(T))[-1] for T in supports]
    support = supports[int(np.argmax(values))]
    loadings = np.linalg.eigh(S.submatrix(support))[1][:, -1]
    options = {"digest": digest_of(matrix()), "recipe": Recipe("covariance"), "allowed": allowed, "forced": forced}
    certificate = certify(S, 3, support, loadings, ExhaustiveWitness(), **options)
    assert certificate.proved
    assert certificate.upper == pytest.approx(max(values), rel=1e-11)
    assert verify(certificate, S).reason.startswith(
        "Accepted. Optimal: no other support of this size with feature 7 but"
    )
    assert "upper bound is not proved" in verify(replace(certificate, allowed=None), S).reason
    assert "upper bound is not proved" in verify(replace(certificate, forced=forced[:0]), S).reason
    inside = DualWitness("row levels", levels=np.eye(5) * 0.01, inside=np.array([0]))
    assert verify(certify(S, 3, support, loadings, inside, **options), S)
    with pytest.raises(ValueError, match="for granted"):
        certify(S, 3, support, loadings, replace(inside, inside=np.array([3])), **options)


def test_what_proves_nothing_makes_no_certificate(monkeypatch):
    options = {"digest": "", "recipe": Recipe("covariance")}
    for scale in (1e-70, 1e70):
        with pytest.raises(ProofError, match="Rescale the columns"):
            certify(DenseCovariance(scale * matrix()), 2, [0, 1], [1.0, 0.0], TraceWitness(), **options)
    monkeypatch.setattr(TraceWitness, "bound", lambda *_: NO_BOUND)
    with pytest.raises(ProofError, match="proves nothing"):
        certify(DenseCovariance(matrix()), 2, [0, 1], [1.0, 0.0], TraceWitness(), **options)


FEW = np.arange(6)
LARGEST = Step(3, FEW, DualWitness("largest eigenvalue"))


@pytest.mark.parametrize(
    ("witness", "kinds"),
    [
        (TraceWitness(), {"trace"}),
        (DualWitness("l0"), {"l0", "row levels"}),
        (StepsWitness((LARGEST, Step(3, None, ByVariances((0,))))), {"largest eigenvalue", "row levels"}),
        (
            StepsWitness(
                (Step(2, None, TraceWitness()), LARGEST, Step(2, FEW, Again(1)), Step(3, None, ByRows(1, 0, FEW)))
            ),
            {"largest eigenvalue", "row levels", "trace"},
        ),
    ],
)
def test_the_names_of_a_bound(witness, kinds):
    """A search may end with any of them."""
    assert kinds_of(witness) == kinds | {"branch and bound"}
    assert witness.kinds()[0] in kinds - {"trace"} or kinds == {"trace"}
