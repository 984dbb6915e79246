"""The claim in a certificate file: what it says, and that it cannot say anything else."""

import json

import numpy as np
import pytest
from certificate_examples import example

from laconic import SparsePCA, verify
from laconic.core import store
from laconic.proof.storage import SCHEMA, read_certificate

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
        "Variances are those in the matrix with the digest ",
    ),
    "scaled, not centred": (
        "on features 2, 4, 6 has",
        "No component",
        "the matrix of second moments about zero, scaled to a unit diagonal, of the rows with",
    ),
    "weighted": ("after component 1", "after component 1", "the correlation matrix of the rows and weights with the digest"),
    "pairwise": (
        "in the matrix made by pairwise deletion of at least",
        "deletion of more than",
        ", made by pairwise deletion, of",
    ),
    "span": (
        "The 2 components with these loadings on features",
        "No 2 components with at most 4, 3 nonzero loadings together hold a variance of more than",
        "the covariance matrix of the rows",
    ),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_what_the_claim_says(name):
    certificate = example(name).certificate
    assert len(certificate.claim) == 3
    for sentence, words in zip(certificate.claim, CLAIMS[name], strict=True):
        assert words in sentence
    assert certificate.digest in certificate.claim[2]


def test_bounds_in_the_claim_are_rounded_to_the_safe_side():
    certificate = example("row levels").certificate
    words = certificate.claim
    assert float(words[0].split(" at least ")[1].rstrip(".")) <= certificate.lower
    assert float(words[1].split(" more than ")[1].rstrip(".")) >= certificate.upper
    assert float(words[1].split(" more than ")[1].rstrip(".")) == pytest.approx(certificate.upper, rel=1e-11)


def test_many_features_and_strange_names(tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 20))
    names = [f"'{i}\n\"é" for i in range(20)]
    certificate = (
        SparsePCA(cardinality=15, proof="fast").fit_covariance(np.cov(X, rowvar=False), names).certificates_[0]
    )
    assert " and 3 more has a variance" in certificate.claim[0]
    assert read_certificate(certificate.save(tmp_path / "proof.json")).claim == certificate.claim


def saved(name, folder):
    path = example(name).certificate.save(folder / "proof.json")
    return path, json.loads(path.read_text())


def test_the_claim_stands_at_the_top_of_the_file(tmp_path):
    path, document = saved("tree", tmp_path)
    assert list(document) == ["format", "schema", "claim", "content", "arrays", "checksum"]
    assert document["schema"] == SCHEMA == 4
    assert document["claim"] == list(example("tree").certificate.claim)
    assert path.read_text().index("has a variance of at least") < 200


ALTERED = {
    "a number": lambda d: d["claim"].__setitem__(1, d["claim"][1].replace("more than 1", "more than 0")),
    "a sentence less": lambda d: d["claim"].pop(),
    "a sentence more": lambda d: d["claim"].append("It is significant."),
    "no list": lambda d: d.update(claim=" ".join(d["claim"])),
    "nothing": lambda d: d.update(claim=None),
    "numbers below it": lambda d: d["content"].update(lower=d["content"]["lower"] / 2),
    "features below it": lambda d: d["content"]["support"].update(values=[0, 1, 99]),
}


@pytest.mark.parametrize("case", ALTERED)
def test_a_claim_that_the_numbers_do_not_make_is_refused(tmp_path, case):
    path, document = saved("exhaustive", tmp_path)
    before = json.dumps(document)
    ALTERED[case](document)
    assert json.dumps(document) != before
    document["checksum"] = store.checksum(document)
    path.write_text(json.dumps(document))
    outcome = verify(path, example("exhaustive").data)
    assert not outcome
    assert "altered" in outcome.reason or "not as a certificate should be" in outcome.reason


def test_the_claim_is_part_of_its_version(tmp_path):
    path, document = saved("exhaustive", tmp_path)
    del document["claim"]
    document["checksum"] = store.checksum(document)
    path.write_text(json.dumps(document))
    assert "a part is missing" in verify(path, example("exhaustive").data).reason
