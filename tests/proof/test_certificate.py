"""Certificates go to disk and back, are accepted when true, and are rejected, with the reason, when not."""

import io
import json
import math
import shutil
from contextlib import suppress
from dataclasses import fields, replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from laconic import SparsePCA
from laconic.core import store
from laconic.covariance import (
    Covariance,
    DenseCovariance,
    FactorCovariance,
    Recipe,
    SubsetCovariance,
    covariance_of,
    make,
    make_of_matrix,
)
from laconic.covariance.deflation import DEFLATIONS, Deflation
from laconic.data.digest import digest_of as digest_of_numbers
from laconic.proof import Certificate, certify, verify
from laconic.proof.gate import ProofError, kind_of, kinds_of
from laconic.proof.storage import decoded_certificate
from laconic.proof.witness import NO_BOUND
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import ExhaustiveWitness, RowSumWitness, TraceWitness
from laconic.proof.witness_proposition_2 import Proposition2Witness
from laconic.proof.witness_reduction import BlockWitness, EliminationWitness, TwoGroupsWitness

ROWS = np.random.default_rng(0).standard_normal((30, 8)) @ np.diag([3, 2.5, 2, 2, 1, 1, 0.5, 0.1])


def covariance_matrix():
    S = np.cov(ROWS, rowvar=False)
    return 0.5 * (S + S.T)


def digest_of(data):
    return make_of_matrix(data).digest() if isinstance(data, Covariance) else digest_of_numbers(data)


def component(covariance, k):
    """The best support by exhaustive search, and its loadings."""
    n = covariance.n_features
    supports = [np.array(T) for T in combinations(range(n), k)]
    values = [np.linalg.eigvalsh(covariance.submatrix(T))[-1] for T in supports]
    support = supports[int(np.argmax(values))]
    return support, np.linalg.eigh(covariance.submatrix(support))[1][:, -1], max(values)


def made(witness=None, k=3, **options):
    """A certificate of the best component of the covariance matrix."""
    S = DenseCovariance(covariance_matrix())
    support, loadings, _ = component(S, k)
    options = {"recipe": Recipe("covariance"), "digest": digest_of(S), **options}
    return certify(S, k, support, loadings, witness or ExhaustiveWitness(), **options)


def levels(size=0.02, seed=1):
    rng = np.random.default_rng(seed)
    return DualWitness("row levels", levels=size * rng.standard_normal((8, 8)))


def everything():
    """One witness of each kind, with all the parts that one may have."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((8, 8)) * 0.01
    U = U + U.T
    np.fill_diagonal(U, 0)
    A = np.linalg.cholesky(covariance_matrix()).T
    full = DualWitness(
        "combined",
        multiplier=U,
        levels=levels().levels,
        norms=levels(seed=2).levels,
        factor=A,
        directions=A,
        rho=0.5,
        shift=0.1,
    )
    blocks = BlockWitness(0.05, ((np.array([0, 1, 2]), RowSumWitness()), (np.array([4, 3]), levels_of_two())))
    reduced = EliminationWitness(np.arange(6), TraceWitness(), True, blocks_of_six())
    split = TwoGroupsWitness(np.arange(6), ((2, blocks_of_six()), (1, TraceWitness())))
    component = Proposition2Witness(np.array([0, 3, 6]), np.array([0.5, -0.25, 0.125]), 0.3)
    simple = [TraceWitness(), RowSumWitness(), ExhaustiveWitness(), levels()]
    return [*simple, full, component, blocks, reduced, split]


def levels_of_two():
    return DualWitness("row levels", levels=np.full((2, 2), 0.125))


def blocks_of_six():
    return BlockWitness(0.01, ((np.arange(6), DualWitness("largest eigenvalue")),))


def assert_same(a, b):
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)
    elif hasattr(a, "__dataclass_fields__"):
        assert type(a) is type(b)
        for field in fields(a):
            assert_same(getattr(a, field.name), getattr(b, field.name))
    elif isinstance(a, tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    else:
        assert a == b


@pytest.mark.parametrize("witness", everything(), ids=lambda witness: type(witness).__name__)
@pytest.mark.parametrize("inline", [2000, 5])
def test_round_trip(tmp_path, monkeypatch, witness, inline):
    monkeypatch.setattr(store, "INLINE", inline)
    certificate = made(witness, feature_names=["a", "b", 'c "[\n1\n]"', "d", "e", "f", "g", "é"])
    path = certificate.save(tmp_path / "proof.json")
    assert_same(Certificate.load(path), certificate)
    large = isinstance(witness, DualWitness | EliminationWitness | TwoGroupsWitness)
    assert (tmp_path / "proof.npz").exists() == (inline == 5 and large)
    outcome = verify(path, covariance_matrix())
    assert outcome, outcome.reason
    assert certificate.lower <= outcome.lower <= outcome.upper <= certificate.upper
    assert sorted(p.name for p in tmp_path.iterdir()) in (["proof.json"], ["proof.json", "proof.npz"])


def test_what_a_certificate_says():
    certificate = made()
    assert certificate.proved
    assert certificate.gap <= 1e-11
    assert certificate.verdict.startswith("Optimal")
    assert 0 < certificate.margin < 1e-10
    assert set(certificate.versions) == {"laconic", "numpy", "scipy", "python"}
    loose = made(TraceWitness())
    assert not loose.proved
    assert "at least 44 %" in loose.verdict
    assert replace(loose, lower=-1.0).gap == math.inf
    assert replace(loose, lower=loose.upper).gap == 0
    assert loose.kind == "trace"
    assert made(levels()).kind == "row levels"


# What is restricted, and the words of it, of a proof and of a bound.
NAMED = tuple("abcdefgh")
SCOPES = {
    "left out": ({"allowed": np.arange(7), "feature_names": NAMED}, " without 'h'", ""),
    "two left out": ({"allowed": np.arange(6), "feature_names": NAMED}, " without 'g' and 'h'", ""),
    "many left out": ({"allowed": np.arange(5), "feature_names": NAMED}, " without 3 of the features", ""),
    "without names": ({"allowed": np.arange(6)}, " without features 6 and 7", ""),
    "forced in": ({"forced": np.array([1]), "feature_names": NAMED}, " with 'b'", ""),
    "forced in, without names": ({"forced": np.array([1])}, " with feature 1", ""),
    "many forced in": ({"forced": np.arange(3), "feature_names": NAMED}, " with 3 features forced in", ""),
    "both": (
        {"forced": np.array([1]), "allowed": np.arange(7), "feature_names": NAMED},
        " with 'b' but without 'h'",
        "",
    ),
    "second": ({"earlier": np.eye(8)[:1]}, "", " after component 1"),
    "third": ({"earlier": np.eye(8)[:2]}, "", " after components 1 and 2"),
    "fourth": ({"earlier": np.eye(8)[:3]}, "", " after components 1 to 3"),
    "all allowed": ({"allowed": np.arange(8)}, "", ""),
    "braces in a name": ({"forced": np.array([0]), "feature_names": ("{x}", *NAMED[1:])}, " with '{x}'", ""),
}


@pytest.mark.parametrize("restricted", SCOPES)
def test_a_certificate_says_what_it_is_about(restricted):
    fields, supports, setting = SCOPES[restricted]
    certificate = replace(made(), **fields)
    assert certificate.verdict == (
        f"Optimal: no other support of this size{supports} reaches more variance{setting} (proved)."
    )
    among = f" among supports{supports}" if supports else ""
    far = replace(certificate, lower=1.0, upper=3.5)
    assert far.verdict == (
        f"This support reaches at least 28 % of the best possible variance{setting}{among} (proved)."
    )
    assert certificate.verdict in repr(certificate)


def test_what_is_accepted_is_said_of_the_features_allowed(tmp_path):
    """Without the first feature the best is less; the words of `verify` do not claim more."""
    S = DenseCovariance(covariance_matrix())
    allowed = np.arange(1, 8)
    support, loadings, value = component(SubsetCovariance(S, allowed), 2)
    options = {"recipe": Recipe("covariance"), "digest": digest_of(S), "allowed": allowed}
    certificate = certify(S, 2, allowed[support], loadings, ExhaustiveWitness(), **options)
    assert component(S, 2)[2] > 1.1 * value
    outcome = verify(certificate.save(tmp_path / "proof.json"), covariance_matrix())
    assert outcome.reason.startswith("Accepted. Optimal: no other support of this size without feature 0 reaches")


# What a forger changes, and the words of the reason.
FORGERIES = {
    "lower, a part in a billion": (lambda c: {"lower": c.lower * (1 + 1e-9)}, "lower bound is not proved"),
    "upper, a part in a billion": (lambda c: {"upper": c.upper * (1 - 1e-9)}, "upper bound is not proved"),
    "upper below lower": (lambda c: {"upper": c.lower / 2}, "lower bound above"),
    "upper infinite": ({"upper": math.inf}, "not finite"),
    "lower NaN": ({"lower": math.nan}, "not finite"),
    "margin NaN": ({"margin": math.nan}, "not finite"),
    "margin negative": ({"margin": -1.0}, "negative margin"),
    "cardinality too small": ({"cardinality": 2}, "cardinality 2"),
    "cardinality larger": ({"cardinality": 4}, "upper bound is not proved"),
    "cardinality a float": ({"cardinality": 3.7}, "cardinality 3.7 and 8 features, which must be whole numbers"),
    "cardinality a whole float": ({"cardinality": 3.0}, "whole numbers"),
    "cardinality true": ({"cardinality": True}, "whole numbers"),
    "number of features a float": ({"n_features": 8.0}, "whole numbers"),
    "kind unknown": ({"kind": "anything"}, "named 'anything', and its witness is of another kind: 'row levels'"),
    "kind of another witness": ({"kind": "exhaustive"}, "witness is of another kind"),
    "kind of nothing": ({"kind": None}, "witness is of another kind"),
    "cardinality beyond": ({"cardinality": 9}, "cardinality 9"),
    "features swapped": ({"support": np.array([5, 6, 7])}, "lower bound is not proved"),
    "feature out of range": ({"support": np.array([0, 1, 8])}, "outside"),
    "feature negative": ({"support": np.array([0, 1, -6])}, "outside"),
    "feature twice": ({"support": np.array([0, 1, 1])}, "twice"),
    "feature no number": ({"support": np.array(["a"])}, "whole numbers"),
    "support empty": ({"support": np.array([], dtype=int), "loadings": np.array([])}, "support of 0"),
    "loadings NaN": (lambda c: {"loadings": c.loadings * math.nan}, "finite loading"),
    "loadings too few": (lambda c: {"loadings": c.loadings[:2]}, "one finite loading"),
    "loadings longer": (lambda c: {"loadings": 2 * c.loadings}, "unit length"),
    "loadings turned": (lambda c: {"loadings": c.loadings[::-1].copy()}, "lower bound is not proved"),
    "digest": ({"digest": "0" * 64}, "another matrix"),
    "number of features": ({"n_features": 9}, "another matrix"),
    "witness worse": ({"witness": levels(0.021)}, "upper bound is not proved"),
    "witness of another size": ({"witness": levels_of_two()}, "shape"),
    "witness NaN": ({"witness": DualWitness("", levels=np.full((8, 8), np.nan))}, "NaN"),
    "witness infinite": ({"witness": DualWitness("", levels=np.full((8, 8), np.inf))}, "infinite"),
    "witness missing": ({"witness": None}, "no witness"),
    "witness takes for granted": (
        lambda c: {"witness": replace(c.witness, inside=c.support)},
        "for granted",
    ),
    "rows in place of a matrix": ({"recipe": Recipe("rows")}, "bound is not proved"),
    "matrix scaled": ({"recipe": Recipe("covariance", scale=True)}, "bound is not proved"),
    "source unknown": ({"recipe": Recipe("elsewhere")}, "must be 'rows' or 'covariance'"),
    "recipe missing": ({"recipe": None}, "check"),
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
    certificate = made(levels())
    assert verify(certificate, covariance_matrix())
    change, words = FORGERIES[forgery]
    change = change(certificate) if callable(change) else change
    outcome = verify(replace(certificate, **change), covariance_matrix())
    assert not outcome
    assert words in outcome.reason
    assert "\n" not in outcome.reason


@pytest.mark.parametrize(
    ("witness", "kinds"),
    [
        (TraceWitness(), {"trace"}),
        (levels(), {"row levels"}),
        (DualWitness("l0"), {"l0", "row levels"}),
        (blocks_of_six(), {"blocks"}),
        (EliminationWitness(np.arange(6), TraceWitness(), True, blocks_of_six()), {"blocks"}),
        (TwoGroupsWitness(np.arange(6), ((2, blocks_of_six()), (1, TraceWitness()))), {"two groups", "blocks"}),
        (TwoGroupsWitness(np.arange(6), ()), {"two groups"}),
        (
            EliminationWitness(
                np.arange(6), TraceWitness(), True, TwoGroupsWitness(np.arange(3), ((2, TraceWitness()),))
            ),
            {"two groups", "trace"},
        ),
    ],
)
def test_the_names_of_a_bound(witness, kinds):
    """A search may end with any of them."""
    assert kinds_of(witness) == kinds | {"branch and bound"}
    assert kind_of(witness) in kinds


@pytest.mark.parametrize("change", [{"margin": 0.0}, {"versions": {}}, {"kind": "branch and bound"}])
def test_what_informs_is_no_part_of_the_claim(change):
    assert verify(replace(made(levels()), **change), covariance_matrix())


def test_weakening_a_claim_leaves_it_true():
    certificate = made(levels())
    weaker = replace(certificate, lower=certificate.lower * 0.9, upper=certificate.upper * 1.1)
    assert verify(weaker, covariance_matrix())


def reseal(path, change):
    """Alter a file as a forger would who knows how the claim in words and the checksum are made."""
    document = json.loads(path.read_text())
    change(document)
    sealed(document)
    path.write_text(json.dumps(document))


def sealed(document):
    """Make the claim and the checksum of a document anew, if its content makes a claim."""
    with suppress(TypeError, ValueError, LookupError, OverflowError):
        document["claim"] = list(decoded_certificate(document["content"], {}).claim)
    document["checksum"] = store.checksum(document)


def set_part(document, key, value):
    document["content"][key] = value


# What happens to a file that is resealed, and the words of the reason.
RESEALED = {
    "a part lost": (lambda d: d["content"].pop("lower"), "not have the parts"),
    "a part gained": (lambda d: set_part(d, "proved", True), "not have the parts"),
    "a text for a number": (lambda d: set_part(d, "upper", "10"), "no number"),
    "true for a number": (lambda d: set_part(d, "cardinality", True), "no whole number"),
    "too large a number": (lambda d: set_part(d, "upper", 10**400), "large"),
    "a list for text": (lambda d: set_part(d, "digest", []), "no text"),
    "a number for a flag": (lambda d: d["content"]["recipe"].update(scale=1), "1 is no flag"),
    "an array of the wrong kind": (lambda d: d["content"]["support"].update(dtype="float64"), "int64"),
    "an array of the wrong size": (lambda d: d["content"]["support"].update(shape=[4]), "do not fill"),
    "an array of no size": (lambda d: d["content"]["support"].update(shape=[-1, -3]), "do not fill"),
    "an array without values": (lambda d: d["content"]["support"].update(values=None), "no values"),
    "an array in a file that is not there": (lambda d: d.update(arrays={"file": "x.npz", "sha256": ""}), "missing"),
    "arrays elsewhere": (lambda d: d.update(arrays={"file": "../x.npz", "sha256": ""}), "another folder"),
    "arrays nowhere": (lambda d: d.update(arrays=[]), "where its arrays are"),
    "an unknown witness": (lambda d: d["content"]["witness"].update(type="Oracle"), "'Oracle' is no Witness"),
    "a witness without type": (lambda d: set_part(d, "witness", 1), "no Witness"),
    "versions without names": (lambda d: set_part(d, "versions", []), "dictionary of texts is missing"),
    "names that are none": (lambda d: set_part(d, "feature_names", "abc"), "a list is missing"),
    "another schema": (lambda d: d.update(schema=1), "schema 1"),
    "another format": (lambda d: d.update(format="x"), "is no laconic certificate"),
    "more than there should be": (lambda d: d.update(extra=1), "one too many"),
    "upper, nudged": (lambda d: set_part(d, "upper", d["content"]["upper"] * (1 - 1e-9)), "upper bound is not"),
    "lower, nudged": (lambda d: set_part(d, "lower", d["content"]["lower"] * (1 + 1e-9)), "lower bound is not"),
}


@pytest.mark.parametrize("case", RESEALED)
def test_files_that_are_resealed_are_rejected_all_the_same(tmp_path, case):
    path = made(levels()).save(tmp_path / "proof.json")
    change, words = RESEALED[case]
    reseal(path, change)
    outcome = verify(path, covariance_matrix())
    assert not outcome
    assert words in outcome.reason


def damaged_files(tmp_path, monkeypatch):
    """A certificate of two files, and what may happen to them: name -> (damage, words of the reason)."""
    monkeypatch.setattr(store, "INLINE", 5)
    path = made(levels()).save(tmp_path / "proof.json")
    beside = tmp_path / "proof.npz"
    text, content = path.read_text(), beside.read_bytes()
    return path, {
        "whole": (lambda: None, "Accepted"),
        "cut short": (lambda: path.write_text(text[: len(text) // 2]), "cut short"),
        "empty": (lambda: path.write_text(""), "cut short"),
        "a digit": (lambda: path.write_text(text.replace('"cardinality": 3', '"cardinality": 4')), "checksum"),
        "a NaN": (lambda: path.write_text(text.replace('"shift": 0.0', '"shift": NaN')), "NaN"),
        "a list": (lambda: path.write_text("[]"), "is no laconic certificate"),
        "bytes": (lambda: path.write_bytes(b"\xff\xfe\x00"), "no JSON"),
        "gone": (path.unlink, "no file"),
        "arrays gone": (beside.unlink, "missing"),
        "arrays cut short": (lambda: beside.write_bytes(content[:-20]), "altered"),
        "arrays altered": (lambda: beside.write_bytes(content[:100] + b"x" + content[101:]), "altered"),
    }


DAMAGES = "whole, cut short, empty, a digit, a NaN, a list, bytes, gone, arrays gone, arrays cut short, arrays altered"


@pytest.mark.parametrize("damage", DAMAGES.split(", "))
def test_damaged_files_are_rejected(tmp_path, monkeypatch, damage):
    path, cases = damaged_files(tmp_path, monkeypatch)
    change, words = cases[damage]
    change()
    outcome = verify(path, covariance_matrix())
    assert bool(outcome) == (damage == "whole")
    assert words in outcome.reason


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not a zip file", "no NPZ file"),
        ({}, "no array"),
        ({"array0": np.zeros(2)}, "no array0 of the shape"),
        ({"array0": np.array([{}], dtype=object)}, "no NPZ file"),
    ],
)
def test_foreign_arrays_are_rejected_though_resealed(tmp_path, monkeypatch, content, words):
    monkeypatch.setattr(store, "INLINE", 5)
    path = made(levels()).save(tmp_path / "proof.json")
    if isinstance(content, dict):
        buffer = io.BytesIO()
        np.savez(buffer, **content)
        content = buffer.getvalue()
    (tmp_path / "proof.npz").write_bytes(content)
    reseal(path, lambda d: d["arrays"].update(sha256=store.hashlib.sha256(content).hexdigest()))
    outcome = verify(path, covariance_matrix())
    assert not outcome
    assert words in outcome.reason


def test_too_many_witnesses_in_a_file_are_rejected(tmp_path):
    witness = TraceWitness()
    path = made(witness).save(tmp_path / "proof.json")

    def nest(document):
        inner = document["content"]["witness"]
        for _ in range(60):
            kept = document["content"]["support"]
            inner = {"type": "EliminationWitness", "kept": kept, "before": inner, "rows": False, "inner": inner}
            if _ > 4:
                inner["before"] = {"type": "TraceWitness"}
        set_part(document, "witness", inner)

    reseal(path, nest)
    outcome = verify(path, covariance_matrix())
    assert not outcome
    assert "too many objects within objects" in outcome.reason


def test_what_cannot_be_written_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "INLINE", 0)
    for target in (tmp_path / "nowhere" / "c.json", tmp_path):
        with pytest.raises(OSError, match="directory") as raised:
            made().save(target)
        assert raised.value.filename == str(target)
    assert not list(tmp_path.iterdir())
    assert not tmp_path.with_suffix(".npz").exists()


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    certificate = made()
    path = certificate.save(tmp_path / "proof.json")
    before = path.read_bytes()

    def fail(_):
        raise OSError("full")

    monkeypatch.setattr(store.os, "fsync", fail)
    with pytest.raises(OSError, match="full"):
        replace(certificate, kind="other").save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["proof.json"]


def test_the_name_of_the_arrays_is_taken(tmp_path):
    with pytest.raises(ValueError, match=r"end it in \.json"):
        made().save(tmp_path / "proof.npz")


def test_a_pair_of_files_may_move(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "INLINE", 5)
    made(levels()).save(tmp_path / "proof.json")
    target = tmp_path / "elsewhere"
    target.mkdir()
    for name in ("proof.json", "proof.npz"):
        shutil.move(tmp_path / name, target / name)
    assert verify(str(target / "proof.json"), covariance_matrix())


def test_the_matrix_in_every_form_is_the_same():
    certificate = made()
    S = covariance_matrix()
    names = list("abcdefgh")
    frame = pd.DataFrame(S, columns=names, index=names)
    for data in (S, np.asfortranarray(S), S.tolist(), frame, sp.csr_array(S), DenseCovariance(S)):
        assert verify(certificate, data), type(data)
    named = replace(certificate, feature_names=tuple(names))
    assert verify(named, frame)
    assert verify(named, S)
    assert "other names" in verify(named, frame.rename(columns={"a": "z"})).reason
    reversed_frame = frame.iloc[::-1, ::-1]
    assert "the same names in another order" in verify(named, reversed_frame).reason
    assert verify(named, reversed_frame.loc[list(named.feature_names), list(named.feature_names)])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (lambda: covariance_matrix() * (1 + 1e-15), "another matrix"),
        (lambda: covariance_matrix()[::-1, ::-1], "another matrix"),
        (lambda: covariance_matrix()[:7, :7], "another matrix"),
        (lambda: ROWS, "square"),
        (lambda: covariance_matrix() * math.nan, "NaN"),
        (lambda: FactorCovariance(ROWS), "another matrix"),
    ],
)
def test_other_data_are_rejected(data, words):
    outcome = verify(made(), data())
    assert not outcome
    assert words in outcome.reason


def test_a_covariance_has_no_weights_and_a_certificate_is_needed():
    assert "no sample_weight" in verify(made(), covariance_matrix(), sample_weight=[1.0]).reason
    assert "no certificate" in verify(3, covariance_matrix()).reason


def of_rows(rows, witness=None, k=3, weights=None, center=True, scale=False):
    covariance, _ = covariance_of(rows, center=center, scale=scale, weights=weights)
    few = np.sort(np.argsort(-covariance.diagonal)[:6])
    support, loadings, _ = component(SubsetCovariance(covariance, few), k)
    recipe = Recipe("rows", center=center, scale=scale, weighted=weights is not None)
    witness = witness(covariance) if witness else RowSumWitness()
    digest = make(rows, recipe, weights=weights, quiet=True).digest()
    return certify(covariance, k, few[support], loadings, witness, digest=digest, recipe=recipe)


def own_factor(covariance):
    rho = 0.7 * float(covariance.diagonal.max())
    return Proposition2Witness(np.array([0]), np.zeros(1), rho)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("kind", ["tall", "wide", "wide, trace", "sparse", "tall sparse", "sparse, far from zero"])
def test_rows(tmp_path, center, scale, kind):
    rng = np.random.default_rng(0)
    rows = {
        "tall": lambda: ROWS,
        "wide": lambda: rng.standard_normal((30, 2000)),
        "wide, trace": lambda: rng.standard_normal((30, 2000)),
        "sparse": lambda: sp.random_array((60, 300), density=0.05, rng=rng, format="csr"),
        "tall sparse": lambda: sp.random_array((60, 12), density=0.1, rng=rng, format="csc"),
        "sparse, far from zero": lambda: sp.csr_array(rng.standard_normal((20, 25)) + 1e4),
    }[kind]()
    witness = {"wide": own_factor, "wide, trace": lambda _: TraceWitness()}.get(kind)
    certificate = of_rows(rows, witness, center=center, scale=scale)
    outcome = verify(certificate.save(tmp_path / "proof.json"), rows)
    assert outcome, outcome.reason
    assert not verify(replace(certificate, upper=certificate.upper * (1 - 3e-7)), rows)
    if sp.issparse(rows):
        assert verify(certificate, rows.tocoo()), "the same numbers in another form"
        triples = rows.tocoo()
        places = (np.append(triples.row, [0, 0]), np.append(triples.col, [0, 1]))
        zeros = sp.coo_array((np.append(triples.data, [0.0, 0.0]), places), shape=rows.shape)
        assert digest_of(zeros) == digest_of(rows)
    else:
        assert verify(certificate, pd.DataFrame(rows, columns=[f"x{i}" for i in range(rows.shape[1])]))
    other = rows.toarray() if sp.issparse(rows) else sp.csc_array(rows)
    assert digest_of(other) == certificate.digest
    assert verify(certificate, other), "sparse in place of dense, or dense in place of sparse"
    for changed in (rows * (1 + 1e-15), other * (1 + 1e-15)):
        assert "another matrix" in verify(certificate, changed).reason


def test_single_precision_is_hashed_by_value():
    rows = ROWS.astype(np.float32)
    assert digest_of(rows) == digest_of(rows.astype(np.float64)) != digest_of(ROWS)
    assert verify(of_rows(rows), rows.astype(np.float64))
    sparse = sp.csr_array(np.where(np.abs(rows) > 1, rows, 0))
    assert verify(of_rows(sparse), sparse.astype(np.float64))


def test_weights_are_part_of_the_data():
    weights = np.random.default_rng(0).random(len(ROWS)) + 0.1
    certificate = of_rows(ROWS, weights=weights)
    assert verify(certificate, ROWS, sample_weight=weights)
    assert verify(certificate, ROWS, sample_weight=list(weights))
    assert "same sample_weight" in verify(certificate, ROWS).reason
    assert "another matrix" in verify(certificate, ROWS, sample_weight=2 * weights).reason
    assert "for 30 rows" in verify(certificate, ROWS, sample_weight=weights[1:]).reason
    assert "give no sample_weight" in verify(of_rows(ROWS), ROWS, sample_weight=weights).reason
    assert verify(of_rows(ROWS, weights=np.full(30, 2.0)), ROWS, sample_weight=2.0)


@pytest.mark.parametrize("sparse", [False, True])
def test_weights_of_annotated_data(sparse):
    anndata = pytest.importorskip("anndata")
    weights = np.arange(1.0, 31.0)
    data = anndata.AnnData(sp.csr_array(ROWS) if sparse else ROWS)
    certificate = SparsePCA(2, cardinality=3).fit(data, sample_weight=weights).certificates_[1]
    assert verify(certificate, data, sample_weight=weights)
    assert verify(certificate, ROWS, sample_weight=weights)
    assert "give the same sample_weight" in verify(certificate, data).reason
    assert "another matrix" in verify(certificate, data, sample_weight=2 * weights).reason
    without = SparsePCA(cardinality=3).fit(data).certificates_[0]
    assert "give no sample_weight" in verify(without, data, sample_weight=weights).reason


def test_weights_of_a_file_that_is_read_in_blocks(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    weights = np.arange(1.0, 31.0)
    certificate = of_rows(ROWS, weights=weights)
    assert verify(certificate, tmp_path / "rows.npy", sample_weight=weights)


def test_a_correlation_made_of_a_covariance():
    S = covariance_matrix()
    scales = 1 / np.sqrt(S.diagonal())
    correlation = DenseCovariance(S * scales * scales[:, None])
    support, loadings, _ = component(correlation, 3)
    matrix = Recipe("covariance", scale=True)
    certificate = certify(correlation, 3, support, loadings, RowSumWitness(), digest=digest_of(S), recipe=matrix)
    assert verify(certificate, S)


def test_covariances_as_operators():
    A = np.random.default_rng(0).standard_normal((4, 6))
    S = FactorCovariance(A)
    support, loadings, _ = component(S, 2)
    options = {"digest": digest_of(S), "recipe": Recipe("covariance")}
    certificate = certify(S, 2, support, loadings, own_factor(S), **options)
    assert verify(certificate, S)
    assert not verify(certificate, FactorCovariance(A + 1e-12))
    for claim in (
        {"recipe": Recipe("covariance", scale=True)},
        {"recipe": Recipe("rows")},
        {"n_features": 7},
    ):
        outcome = verify(replace(certificate, **claim), S)
        assert not outcome
        assert "another matrix" in outcome.reason or "used as it is" in outcome.reason
    part = SubsetCovariance(S, np.arange(5))
    kinds = {digest_of(S), digest_of(part), digest_of(Deflation(S, "projection").remove(np.eye(6)[0]))}
    kinds |= {digest_of(covariance_of(sp.csr_array(A))[0]), digest_of(A)}
    assert len(kinds) == 5


@pytest.mark.parametrize("rule", DEFLATIONS)
@pytest.mark.parametrize("wide", [False, True])
def test_deflated_components(tmp_path, rule, wide):
    rows = np.random.default_rng(0).standard_normal((20, 40)) if wide else ROWS
    covariance, _ = covariance_of(rows)
    deflation = Deflation(covariance, rule)
    earlier = []
    for _ in range(3):
        few = SubsetCovariance(deflation.current, np.arange(7))
        support, loadings, value = component(few, 3)
        made = {"deflation": rule, "earlier": np.array(earlier)} if earlier else {}
        matrix = Recipe("rows")
        witness = DualWitness("largest eigenvalue")
        certificate = certify(
            deflation.current, 3, support, loadings, witness, digest=digest_of(rows), recipe=matrix, **made
        )
        outcome = verify(certificate.save(tmp_path / "proof.json"), rows)
        assert outcome, outcome.reason
        assert outcome.lower == pytest.approx(value)
        if earlier and not wide:
            other = replace(certificate, earlier=np.roll(certificate.earlier, 1, axis=1))
            assert "not proved" in verify(other, rows).reason
        earlier.append(np.zeros(rows.shape[1]))
        earlier[-1][support] = loadings
        deflation.remove(earlier[-1])


def test_features_allowed_and_forced():
    S = DenseCovariance(covariance_matrix())
    allowed, forced = np.array([7, 1, 3, 5, 2]), np.array([7])
    supports = [np.array(T) for T in combinations(sorted(allowed.tolist()), 3) if 7 in T]
    values = [np.linalg.eigvalsh(S.submatrix(T))[-1] for T in supports]
    support = supports[int(np.argmax(values))]
    loadings = np.linalg.eigh(S.submatrix(support))[1][:, -1]
    options = {"digest": digest_of(S), "recipe": Recipe("covariance"), "allowed": allowed, "forced": forced}
    certificate = certify(S, 3, support, loadings, ExhaustiveWitness(), **options)
    assert certificate.proved
    assert certificate.upper == pytest.approx(max(values), rel=1e-11)
    assert verify(certificate, S)
    assert "upper bound is not proved" in verify(replace(certificate, allowed=None), S).reason
    assert "upper bound is not proved" in verify(replace(certificate, forced=forced[:0]), S).reason
    inside = DualWitness("row levels", levels=np.eye(5) * 0.01, inside=np.array([0]))
    assert verify(certify(S, 3, support, loadings, inside, **options), S)
    with pytest.raises(ValueError, match="for granted"):
        certify(S, 3, support, loadings, replace(inside, inside=np.array([3])), **options)


def test_a_witness_that_proves_nothing_makes_no_certificate(monkeypatch):
    monkeypatch.setattr(TraceWitness, "bound", lambda *_: NO_BOUND)
    with pytest.raises(ProofError, match="proves nothing"):
        made(TraceWitness())


@pytest.mark.parametrize("scale", [1e-70, 1e70])
def test_a_matrix_out_of_range_makes_no_certificate(scale):
    S = DenseCovariance(scale * covariance_matrix())
    options = {"digest": "", "recipe": Recipe("covariance")}
    with pytest.raises(ProofError, match="Rescale the columns"):
        certify(S, 2, [0, 1], [1.0, 0.0], TraceWitness(), **options)


def test_zero_has_one_sign():
    assert digest_of(np.array([0.0, 1.0])) == digest_of(np.array([-0.0, 1.0])) != digest_of(np.array([[0.0, 1.0]]))


def leaves(node, path=()):
    """The places of everything in a document that is neither a list nor a dict."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, (*path, key))
    elif isinstance(node, list):
        for place, value in enumerate(node):
            yield from leaves(value, (*path, place))
    else:
        yield path


def with_leaf(document, path, value):
    copy = json.loads(json.dumps(document))
    node = copy
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    return copy


VALUES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-10, 10),
    st.integers(-2, 10),
    st.none(),
    st.booleans(),
    st.sampled_from(["", "rows", "covariance", "TraceWitness", "projection"]),
)
DOCUMENTS = {}


def document_of(number, folder):
    if number not in DOCUMENTS:
        path = made(everything()[number]).save(folder / f"{number}.json")
        DOCUMENTS[number] = json.loads(path.read_text())
    return DOCUMENTS[number]


def is_true(certificate):
    """The claim, by exhaustive search, with a little room for the rounding of LAPACK."""
    S = covariance_matrix()
    matrix = certificate.recipe
    assert matrix.given == "covariance"
    assert certificate.deflation is None
    if matrix.scale:
        S = S / np.sqrt(np.outer(S.diagonal(), S.diagonal()))
    supports = combinations(range(8) if certificate.allowed is None else certificate.allowed, certificate.cardinality)
    best = max(np.linalg.eigvalsh(S[np.ix_(T, T)])[-1] for T in supports if set(certificate.forced) <= set(T))
    z = np.zeros(8)
    z[certificate.support] = certificate.loadings
    return best <= certificate.upper * (1 + 1e-13) and z @ S @ z / (z @ z) >= certificate.lower * (1 - 1e-13)


@settings(max_examples=250)
@given(number=st.integers(0, 6), place=st.floats(0, 1, exclude_max=True), value=VALUES, nudge=st.booleans())
def test_tampering_with_one_leaf(tmp_path_factory, number, place, value, nudge):
    """The checksum tells; and if the checksum is made anew, what is accepted is still true."""
    folder = tmp_path_factory.getbasetemp()
    document = document_of(number, folder)
    places = list(leaves(document))
    path = places[int(place * len(places))]
    if path == ("checksum",):
        return
    node = document
    for step in path:
        node = node[step]
    if nudge and isinstance(node, float):
        value = node * (1 + 1e-9)
    tampered = with_leaf(document, path, value)
    file = folder / "tampered.json"
    file.write_text(json.dumps(tampered))
    same = type(node) is type(value) and node == value
    assert bool(verify(file, covariance_matrix())) == same
    if path[0] != "claim":
        sealed(tampered)
    file.write_text(json.dumps(tampered))
    outcome = verify(file, covariance_matrix())
    assert outcome.reason
    if outcome:
        assert is_true(Certificate.load(file))


@pytest.mark.parametrize("kind", DEFLATIONS)
def test_a_certificate_of_the_matrix_holds_for_the_factor_after_deflation(kind):
    """Rows read in blocks give the matrix, and the same rows in memory its factor if they are few."""
    for seed in range(40):
        A = np.random.default_rng(seed).standard_normal((4, 6))
        z = np.eye(6)[seed % 6]
        made = []
        for covariance in (DenseCovariance(A.T @ A), FactorCovariance(A)):
            deflation = Deflation(covariance, kind)
            deflation.remove(z)
            deflation.remove(np.full(6, 6**-0.5))
            made.append(deflation.current.largest.value)
        assert made[1] <= made[0] * (1 + 1e-12)
