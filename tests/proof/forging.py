"""Forged certificates, and the truth about a claim, computed apart from the package."""

import importlib.util
import json
from contextlib import suppress
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
from certificate_examples import example
from cover_problems import Question

from laconic import verify
from laconic.core import store
from laconic.proof.certificate import Certificate, stored_types

CHECKER = Path(__file__).parents[2] / "tools" / "check_certificate.py"


@cache
def checker():
    """Return the stand-alone checker as a module."""
    spec = importlib.util.spec_from_file_location("check_certificate", CHECKER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def document_of(name, folder):
    """Return the document of an example."""
    return json.loads(example(name).certificate.save(folder / "true.json").read_text())


def numbers_of(content):
    """Yield the places of all fields, and of all entries of arrays: the steps to each, and its value."""
    pending = [((), content)]
    while pending:
        path, node = pending.pop()
        if isinstance(node, dict | list):
            pending += [((*path, step), node[step]) for step in (node if isinstance(node, dict) else range(len(node)))]
        else:
            yield path, node


def with_value(document, path, value):
    """Return a copy of a document with one value of its content changed, and sealed as a forger would seal it."""
    forged = json.loads(json.dumps(document))
    node = forged["content"]
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    return sealed(forged)


def sealed(document):
    """Make the claim in words and the checksum anew, if the content makes a claim."""
    with suppress(TypeError, ValueError, LookupError, OverflowError):
        decoder = store.Decoder({}, stored_types())
        document["claim"] = list(decoder.decoded(Certificate, document["content"]).claim)
    document["checksum"] = store.checksum(document)
    return document


def answers(name, document, folder):
    """Return whether the package accepts a file, and what the stand-alone checker says: "accepted" or an error."""
    path = folder / "forged.json"
    path.write_text(json.dumps(document))
    found = example(name)
    outcome = verify(path, found.data, **found.options)
    assert outcome.reason
    tool = checker()
    try:
        tool.check(path, found.data, weights=found.options.get("sample_weight"))
        other = "accepted"
    except (tool.RejectedError, tool.UnreadableError) as error:
        other = f"rejected: {error}"
    except tool.NotCoveredError:
        other = "not covered"
    return outcome, other


def is_true(name, document):
    """Say whether a claim is true of the data of an example, by looking at every support."""
    tool, found = checker(), example(name)
    c = tool.decoded(document["content"], {})
    S = tool.matrix_of(c, found.data, found.options.get("sample_weight"))
    if c["deflation"] is not None:
        S = tool.deflated(S, c["deflation"], c["earlier"])
    S, T, sizes, Z = S.S, c["support"], c["cardinalities"].tolist(), c["loadings"]
    apart = c["joint"] in ("disjoint", "orthogonal")
    Q = Z.T / np.linalg.norm(Z, axis=1) if apart else np.linalg.qr(Z.T)[0]
    held = np.trace(Q.T @ S[np.ix_(T, T)] @ Q)
    if len(sizes) == 1:
        most = largest(S, c, sizes[0])
    else:
        allowed, forced = allowed_of(S, c)
        most = Question(S[np.ix_(allowed, allowed)], c["joint"], tuple(sizes), c["total"], forced).truth()
    return held >= c["lower"] * (1 - 1e-13) and most <= c["upper"] * (1 + 1e-13)


def largest(S, c, k):
    """Return the largest variance of a support that the claim is about."""
    allowed, forced = allowed_of(S, c)
    return best_value(S[np.ix_(allowed, allowed)], k, forced.tolist())


def allowed_of(S, c):
    """Return the features allowed, and the places among them of those forced in."""
    allowed = np.arange(len(S)) if c["allowed"] is None else np.sort(c["allowed"])
    return allowed, np.searchsorted(allowed, c["forced"])


def best_value(S, k, inside=()):
    """Return the largest variance of a support of k features that holds those inside, by looking at all of them."""
    supports = np.array([T for T in combinations(range(len(S)), k) if set(inside) <= set(T)])
    return max(np.linalg.eigvalsh(S[supports[:, :, None], supports[:, None, :]])[:, -1])
