"""Forged certificates, and the truth about a claim, computed apart from the package."""

import importlib.util
import json
from contextlib import suppress
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
from certificate_examples import example

from laconic import verify
from laconic.core import store
from laconic.proof.storage import decoded_certificate

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
        document["claim"] = list(decoded_certificate(json.loads(json.dumps(document["content"])), {}).claim)
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
    if c["type"] == "SpanCertificate":
        values = np.sort(np.linalg.eigvalsh(S.S))[::-1]
        Q = np.linalg.qr(c["loadings"].T)[0]
        held = np.trace(Q.T @ S.S[np.ix_(c["support"], c["support"])] @ Q)
        return held >= c["lower"] * (1 - 1e-13) and values[: len(c["cardinalities"])].sum() <= c["upper"] * (1 + 1e-13)
    if c["deflation"] is not None:
        S = tool.deflated(S, c["deflation"], c["earlier"])
    S, z, T = S.S, c["loadings"], c["support"]
    value = z @ S[np.ix_(T, T)] @ z / (z @ z)
    return value >= c["lower"] * (1 - 1e-13) and largest(S, c) <= c["upper"] * (1 + 1e-13)


def largest(S, c):
    """Return the largest variance of a support that the claim is about."""
    allowed = range(len(S)) if c["allowed"] is None else sorted(c["allowed"].tolist())
    forced = set(c["forced"].tolist())
    supports = [T for T in combinations(allowed, c["cardinality"]) if forced <= set(T)]
    return max(np.linalg.eigvalsh(S[np.array(supports)[:, :, None], np.array(supports)[:, None, :]])[:, -1])
