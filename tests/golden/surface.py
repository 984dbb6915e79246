"""The only place where the golden problems meet the public surface of the package.

`solve` returns records: one a component, a size, a penalty or a test. Every record is made of numbers, lists and words.
"""

import math
import tempfile
import warnings
from pathlib import Path

import numpy as np
from tests.golden.problems import MATRICES, data_of

import laconic
from laconic.datasets import load_pitprops, load_senate109
from laconic.methods import Dspca, Penalized

_EMBEDDED = {
    "senate": lambda: load_senate109().frame,
    "pitprops": lambda: load_pitprops().covariance,
}
# Settings of the problems that have the same names in the package.
_SAME = ("joint", "deflation", "nonnegative", "forced_in", "center", "scale", "missing")


def solve(problem):
    """Return the records of a problem, and those of its certificates if it is to be verified."""
    # Hints about the data, and the warning that a matrix is indefinite, are not the subject here.
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = problem["data"]
        data = _EMBEDDED[name]() if name in _EMBEDDED else data_of(name, Path(folder))
        weights = np.random.default_rng(9).uniform(0.2, 3, len(data)) if problem.get("weighted") else None
        records, certificates = _TASKS[problem.get("task", "fit")](problem, data, weights)
        found = {"records": records}
        if problem.get("verified"):
            found["certificates"] = [_verified(certificate, data, weights) for certificate in certificates]
    return found


def _fit(problem, data, weights):
    model = laconic.SparsePCA(problem.get("components"), **_settings(problem))
    if problem["data"] in MATRICES:
        model.fit_covariance(data)
    else:
        model.fit(data, sample_weight=weights)
    bounds = zip(model.supports_, model.lower_bound_, model.upper_bound_, model.verdicts_, strict=True)
    records = [_bounds(*bound) for bound in bounds]
    for record, variance in zip(records, model.explained_variance_, strict=True):
        record["variance"] = float(variance)
    if "joint" not in problem:
        return records, model.certificates_
    together = model.summary().loc["all"]
    return [*records, _bounds([], together["lower"], together["upper"], together["verdict"])], model.certificates_


def _path(problem, data, _weights):
    model = laconic.SparsePCA(method=problem.get("method", "auto"), proof=problem.get("proof", "fast"))
    path = laconic.path(model, **_given(problem, data), sizes=problem.get("sizes"))
    return [_bounds(s.support, s.value, s.upper, s.verdict) for s in path.solutions], []


def _choose(problem, data, _weights):
    model = laconic.SparsePCA(problem.get("components"))
    choice = laconic.choose(model, data)
    return [{"cardinality": k} for k in choice.cardinality], []


def _stability(problem, data, _weights):
    found = laconic.stability(laconic.SparsePCA(cardinality=problem["k"]), data, resamples=problem["draws"])
    rows = zip(found.frequencies, found.indices, strict=True)
    return [{"frequencies": row.tolist(), "index": float(index)} for row, index in rows], []


def _noise(problem, data, _weights):
    found = laconic.noise(laconic.SparsePCA(cardinality=problem["k"]), data, permutations=problem["draws"])
    return [
        {"value": float(one.value), "mean": float(one.noise.mean()), "p_value": one.p_value} for one in found.components
    ], []


def _certify(problem, data, _weights):
    model = laconic.SparsePCA(proof=problem.get("proof", "fast"))
    found = laconic.certify(model, features=problem["features"], **_given(problem, data))
    return [_bounds(found.support, found.lower, found.upper, found.verdict)], [found.certificate]


def _eigenvalues(problem, data, _weights):
    found = laconic.sparse_eigenvalues(data, problem["k"], proof=problem.get("proof", "fast"))
    largest = _bounds(found.largest_support, found.largest.lower, found.largest.upper)
    # The smallest eigenvalue is proved from below. With the signs changed it is a largest one.
    smallest = _bounds(found.smallest_support, -found.smallest.upper, -found.smallest.lower)
    return [largest, smallest], []


_TASKS = {"fit": _fit, "path": _path, "choose": _choose, "stability": _stability}
_TASKS |= {"noise": _noise, "certify": _certify, "eigenvalues": _eigenvalues}


def _settings(problem):
    settings = {name: problem[name] for name in _SAME if name in problem}
    method, penalty = problem.get("method", "auto"), problem.get("penalty")
    if penalty is not None:
        method = Dspca(penalty=penalty) if method == "dspca" else Penalized(penalty=penalty)
    proof = problem.get("proof", "fast") if penalty is None else "fast"
    return settings | {"cardinality": problem.get("share", problem.get("k")), "method": method, "proof": proof}


def _given(problem, data):
    return {"covariance" if problem["data"] in MATRICES else "X": data}


def _bounds(support, lower, upper, verdict=None):
    """Return a record. A bound that is not there is None."""
    upper = float(upper) if math.isfinite(upper) else None
    return {"support": [int(i) for i in support], "lower": float(lower), "upper": upper, "verdict": verdict}


def _verified(certificate, data, weights):
    bounds = {"lower": float(certificate.lower), "upper": float(certificate.upper)}
    accepted = bool(laconic.verify(certificate, data, sample_weight=weights))
    return bounds | {"kind": getattr(certificate, "kind", "span"), "accepted": accepted}
