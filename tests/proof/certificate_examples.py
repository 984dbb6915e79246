"""One small certificate of each kind, with the data that it is about."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from helpers import certified
from laconic import SparsePCA
from laconic.core.store import Decoder
from laconic.covariance import DenseCovariance
from laconic.data.digest import digest_of
from laconic.proof import MatrixDescription, certify
from laconic.proof.gate import WITNESSES
from laconic.proof.witness import Witness
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_plain import ExhaustiveWitness, RowSumWitness, TraceWitness
from laconic.proof.witness_proposition_2 import Proposition2Witness
from laconic.proof.witness_reduction import BlockWitness, EliminationWitness, TwoGroupsWitness

HERE = Path(__file__).parent
NAMES = tuple("abcdefgh")


@dataclass(frozen=True)
class Example:
    """A certificate, and the arguments with which `verify` accepts it."""

    certificate: Any
    data: Any
    options: dict[str, Any] = field(default_factory=dict)


@cache
def rows():
    """Thirty rows of eight features with two decimals."""
    X = np.loadtxt(HERE / "rows.csv", delimiter=",", skiprows=1)
    X.flags.writeable = False
    return X


def with_holes():
    X = rows().copy()
    X[[0, 3, 7, 11], [1, 1, 4, 6]] = np.nan
    return X


@cache
def matrix():
    S = np.cov(rows(), rowvar=False).round(4)
    S.flags.writeable = False
    return S


def best(S, k):
    supports = [np.array(T) for T in combinations(range(len(S)), k)]
    support = max(supports, key=lambda T: np.linalg.eigvalsh(S[np.ix_(T, T)])[-1])
    return support, np.linalg.eigh(S[np.ix_(support, support)])[1][:, -1]


def of_matrix(witness, k=3, **options):
    """The certificate of the best component of the matrix, with a witness."""
    S = matrix()
    support, loadings = best(S, k)
    options = {"digest": digest_of(S), "matrix": MatrixDescription("covariance"), **options}
    return Example(certify(DenseCovariance(S), k, support, loadings, witness, feature_names=NAMES, **options), S)


def cut(limit=0.2, features=8):
    """Levels as a solver finds them: entries of S, cut."""
    L = np.clip(matrix()[:features, :features], -limit, limit)
    np.fill_diagonal(L, 0.1)
    return L


def off_diagonal(limit=0.2):
    U = -np.clip(matrix(), -limit, limit)
    np.fill_diagonal(U, 0.0)
    return U


def l0():
    A = np.linalg.cholesky(matrix() + 0.125 * np.eye(8)).T
    z = np.zeros(8)
    support, loadings = best(matrix(), 3)
    z[support] = loadings
    x = A @ z / np.linalg.norm(A @ z)
    W = np.where((x @ A) ** 2 > 1.0, (x @ A) * A - 1.0 * x[:, None], A - np.outer(x, x @ A))
    return DualWitness("l0", factor=A, directions=W, rho=1.0, shift=0.125)


def proposition_2():
    support, loadings = best(matrix(), 3)
    z = loadings / np.sqrt(loadings @ matrix()[np.ix_(support, support)] @ loadings)
    return Proposition2Witness(support, z, 1.5)


def blocks():
    return BlockWitness(0.3, ((np.array([0, 1, 2, 3, 4, 5]), DualWitness("row levels", levels=cut(features=6))),))


def tree():
    """A tree with several leaves and decisions, which a search with loose bounds found."""
    X = np.random.default_rng(2).standard_normal((60, 18)) * np.linspace(2, 0.5, 18)
    S = np.cov(X, rowvar=False).round(4)
    content = json.loads((HERE / "tree_witness.json").read_text())
    witness = Decoder({}, {Witness: WITNESSES}).decoded(Witness, content)
    description = {"digest": digest_of(S), "matrix": MatrixDescription("covariance")}
    return Example(certify(DenseCovariance(S), 4, *best(S, 4), witness, **description), S)


def fitted(place=0, *, data=None, options=None, **settings):
    data = rows() if data is None else data
    model = SparsePCA(n_components=place + 1, **{"cardinality": 3, **settings}).fit(data, **(options or {}))
    return model.certificates_[place]


def weighted():
    weights = np.arange(1.0, 31.0)
    certificate = fitted(1, options={"sample_weight": weights}, scale=True)
    return Example(certificate, rows(), {"sample_weight": weights})


def chosen():
    """One feature is forced in, and another may not be used."""
    rest = np.setdiff1d(np.arange(8), [0])
    S = DenseCovariance(matrix())
    part = matrix()[np.ix_(rest, rest)]
    supports = [T for T in combinations(range(7), 3) if 4 in T]
    support = np.array(max(supports, key=lambda T: np.linalg.eigvalsh(part[np.ix_(T, T)])[-1]))
    loadings = np.linalg.eigh(part[np.ix_(support, support)])[1][:, -1]
    options = {"digest": digest_of(matrix()), "matrix": MatrixDescription("covariance"), "allowed": rest, "forced": [5]}
    return Example(certify(S, 3, rest[support], loadings, ExhaustiveWitness(), **options), matrix())


def together():
    model = SparsePCA(2, cardinality=[4, 3], joint="span").fit(rows())
    return Example(model.certificates_[0], rows())


EXAMPLES: dict[str, Callable[[], Example]] = {
    "trace": lambda: of_matrix(TraceWitness()),
    "row sums": lambda: of_matrix(RowSumWitness()),
    "exhaustive": lambda: of_matrix(ExhaustiveWitness()),
    "largest eigenvalue": lambda: of_matrix(DualWitness("largest eigenvalue")),
    "l1 dual": lambda: of_matrix(DualWitness("l1 dual", multiplier=off_diagonal())),
    "row levels": lambda: of_matrix(DualWitness("row levels", levels=cut(), norms=0.1 * cut(0.1))),
    "cancelled": lambda: of_matrix(DualWitness("row levels", levels=cut(features=5), kept=np.arange(5), price=0.1)),
    "l0": lambda: of_matrix(l0()),
    "Proposition 2": lambda: of_matrix(proposition_2()),
    "blocks": lambda: of_matrix(blocks()),
    "elimination": lambda: of_matrix(
        EliminationWitness(np.arange(6), DualWitness("row levels", levels=cut()), True, ExhaustiveWitness())
    ),
    "elimination by variance": lambda: of_matrix(
        EliminationWitness(np.arange(5), TraceWitness(), False, RowSumWitness())
    ),
    "two groups": lambda: of_matrix(
        TwoGroupsWitness(np.arange(6), ((3, ExhaustiveWitness()), (2, DualWitness("row levels", levels=cut()[:6, :6]))))
    ),
    "tree": tree,
    "span": together,
    "second component": lambda: Example(fitted(1), rows()),
    "third, Hotelling": lambda: Example(fitted(2, deflation="hotelling", cardinality=2), rows()),
    "second, Schur": lambda: Example(fitted(1, deflation="schur"), rows()),
    "third, orthogonalised": lambda: Example(fitted(2, deflation="orthogonalized-projection", proof="tight"), rows()),
    "scaled, not centred": lambda: Example(fitted(scale=True, center=False), rows()),
    "forced": chosen,
    "weighted": weighted,
    "pairwise": lambda: Example(fitted(data=with_holes(), missing="pairwise"), with_holes()),
    "em": lambda: Example(fitted(data=with_holes(), missing="em"), with_holes()),
    "chosen support": lambda: Example(certified(rows(), [0, 1, 4]), rows()),
}


@cache
def example(name):
    """Return an example by name; it is made once."""
    return EXAMPLES[name]()
