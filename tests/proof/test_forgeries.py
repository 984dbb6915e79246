"""Every field of a certificate is altered, by a forger who makes the checksum and the words anew.

An altered certificate is rejected, unless the field is no part of the claim, or the altered claim is true as well. The
stand-alone checker, which shares no code with the package, gives the same answer.
"""

import numpy as np
import pytest
from certificate_examples import EXAMPLES, example
from forging import answers, checker, document_of, is_true, numbers_of, sealed, with_value

from laconic.core import store

# Fields that may be altered without another claim; docs/certificate-format.md lists them.
NO_PART = {"margin", "versions", "feature_names", "kind"}
# Fields of the recipe that say nothing unless another field has a certain value.
IDLE = {"center", "iterations", "ridge"}
# Examples for the fast tests.
SOME = ["steps", "second component", "Proposition 2", "joint", "disjoint"]
# How many entries of each array are altered in the examples with long ones.
FEW = {"tree": 8} | dict.fromkeys(["cover, one component", "common", "disjoint", "orthogonal"], 20)
# Kinds that the stand-alone checker says it cannot check.
NOT_COVERED = {"pairwise", "em"}


def other_values(value):
    """Yield values that a forger may put in the place of one."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, float):
        size = abs(value) or 1e-3
        yield from (value + 1e-6 * size, value - 1e-6 * size, -value if value else 1.0, value + 10 * size)
    elif isinstance(value, str):
        yield from (value + "x", "rows" if value == "covariance" else "covariance")
    else:
        yield from (0, "x", True)


def is_no_part(path, document):
    """Say whether a field, or an entry of an array, is documented as no part of the claim."""
    if path[0] == "recipe":
        recipe = document["content"]["recipe"]
        read = {"iterations", "ridge"} if recipe["missing"] == "em" else set()
        read |= {"center"} if recipe["given"] == "rows" else set()
        return path[1] in IDLE - read
    return path[0] in NO_PART or path[0] == "witness"


def places(content, most):
    """Yield the places to alter: all fields, and up to `most` entries of each array, first and last ones."""
    arrays = {}
    for path, value in numbers_of(content):
        if "values" in path:
            arrays.setdefault(path[: path.index("values")], []).append((path, value))
        else:
            yield path, value
    for entries in arrays.values():
        entries.sort()
        half = most // 2
        yield from entries if len(entries) <= most else [*entries[:half], *entries[half - most :]]


def check_forgery(name, path, forged, folder):
    """Demand that a forged certificate is rejected by both programs, or is true, or was altered where it may be."""
    outcome, other = answers(name, forged, folder)
    accepted = bool(outcome)
    if accepted and not is_no_part(path, forged):
        assert name in NOT_COVERED or is_true(name, forged), (path, outcome.reason)
    assert other == "not covered" or (other == "accepted") == accepted, (path, outcome.reason, other)
    return accepted


def alter_fields(name, folder, most, at_once):
    """Alter all fields, and `most` entries of each array, in one way or in all; return how many are rejected."""
    document = document_of(name, folder)
    outcome, other = answers(name, document, folder)
    assert outcome
    assert other == ("not covered" if name in NOT_COVERED else "accepted")
    rejected = 0
    for number, (path, value) in enumerate(places(document["content"], most)):
        ways = list(other_values(value))
        # Each field is altered in another way, if not in all.
        chosen = ways if at_once >= len(ways) else [ways[number % len(ways)]]
        for altered in chosen:
            rejected += not check_forgery(name, path, with_value(document, path, altered), folder)
    return rejected


@pytest.mark.parametrize("name", SOME)
def test_every_field_is_altered(name, tmp_path):
    assert alter_fields(name, tmp_path, 1, 1) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_number_is_altered_in_many_ways(name, tmp_path):
    assert alter_fields(name, tmp_path, FEW.get(name, 10**6), 9) > 40


def values(content, field):
    return content[field]["values"]


def raise_lower(c):
    c.update(lower=c["lower"] * (1 + 1e-8), upper=c["upper"] * 2)


def lower_upper(c):
    """Claim less than the component has; the lower bound follows, or the claim would contradict itself."""
    c.update(upper=c["lower"] * (1 - 1e-8), lower=c["lower"] / 2)


def swap_support(c):
    support = values(c, "support")
    allowed = range(c["n_features"]) if c["allowed"] is None else values(c, "allowed")
    support[-1] = next(i for i in allowed if i not in support)


def turn_loading(c):
    loadings = values(c, "loadings")
    loadings[next(i for i, x in enumerate(loadings) if x)] *= -1


def other_digest(c):
    c["digest"] = c["digest"][::-1]


def other_matrix(c):
    c["recipe"]["given"] = "rows" if c["recipe"]["given"] == "covariance" else "covariance"


def other_center(c):
    c["recipe"].update(center=not c["recipe"]["center"], given="rows")


def other_earlier(c):
    """Turn a component that was taken out, or take the component itself out."""
    if c.get("earlier"):
        earlier = values(c, "earlier")
        earlier[next(i for i, x in enumerate(earlier) if x)] *= -1
        return
    z = np.zeros(c["n_features"])
    z[values(c, "support")] = values(c, "loadings")[: len(values(c, "support"))]
    c["earlier"] = {"dtype": "float64", "shape": [1, len(z)], "values": (z / np.linalg.norm(z)).tolist()}
    c["deflation"] = "projection"


LIES = [raise_lower, lower_upper, swap_support, turn_loading, other_digest, other_matrix, other_center, other_earlier]


def some_fast(*more):
    """Return all examples; those that are not in `SOME` are left to the slow tests."""
    return [pytest.param(name, marks=[] if name in SOME + list(more) else pytest.mark.slow) for name in EXAMPLES]


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("name", some_fast("l0", "threshold", "steps by variances", "cancelled"))
def test_lies_are_rejected_by_both(name, lie, tmp_path):
    document = document_of(name, tmp_path)
    lie(document["content"])
    outcome, other = answers(name, sealed(document), tmp_path)
    assert other == "not covered" or (other == "accepted") == bool(outcome)
    # A feature swapped may be a better one, and a matrix may be taken for rows: then another claim is true.
    assert not outcome or (lie in (swap_support, other_matrix) and is_true(name, document))
    assert name in NOT_COVERED or other != "not covered"


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_no_numbers_in_a_witness_prove_what_is_false(name, tmp_path):
    """The upper bound is below the variance of the component. A forger tries witnesses."""
    document = document_of(name, tmp_path)
    lower_upper(document["content"])
    tried = [(path, value) for path, value in places(document["content"], 4) if path[0] == "witness"]
    rng = np.random.default_rng(0)
    for place in rng.permutation(len(tried))[:12]:
        path, value = tried[place]
        for altered in other_values(value):
            outcome, other = answers(name, with_value(document, path, altered), tmp_path)
            assert not outcome
            assert other != "accepted"


def test_names_are_compared_with_those_of_the_data(tmp_path):
    found = example("trace")
    path = found.certificate.save(tmp_path / "proof.json")
    tool = checker()
    assert tool.check(path, found.data, names=list("abcdefgh"))
    assert tool.check(path, found.data[::-1, ::-1], names=list("hgfedcba"))
    with pytest.raises(tool.RejectedError, match="its digest is another"):
        tool.check(path, found.data, names=list("bacdefgh"))
    with pytest.raises(tool.RejectedError, match="no column 'a'"):
        tool.check(path, found.data, names=list("xbcdefgh"))


def test_words_and_checksum_are_checked_by_both(tmp_path):
    for part, change in (("claim", lambda c: [*c, "It is significant."]), ("checksum", lambda c: c[::-1])):
        document = document_of("exhaustive", tmp_path)
        document[part] = change(document[part])
        if part == "claim":
            document["checksum"] = store.checksum(document)
        outcome, other = answers("exhaustive", document, tmp_path)
        assert "altered" in outcome.reason
        assert "altered" in other
