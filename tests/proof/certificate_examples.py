"""One small certificate of each kind, with the data that it is about."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from laconic.bounds.cover_tree import CoverTree
from laconic.core.monitor import Monitor
from laconic.core.store import Decoder
from laconic.covariance import DenseCovariance
from laconic.covariance.deflation import Deflation
from laconic.covariance.make import Recipe, make
from laconic.data.passes import digest_of
from laconic.proof import certify
from laconic.proof.certificate import stored_types
from laconic.proof.witness import Witness
from laconic.proof.witness_dual import DualWitness
from laconic.proof.witness_joint import JointWitness, cover_case
from laconic.proof.witness_plain import ExhaustiveWitness, RowSumWitness, ThresholdWitness, TraceWitness
from laconic.proof.witness_proposition_2 import Proposition2Witness
from laconic.proof.witness_steps import Again, ByRows, ByVariances, Step, StepsWitness
from laconic.search.several import JointProblem, solve_jointly

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


def best(S, k, inside=()):
    """The best support of k features that contains those inside, by looking at all, and its loadings."""
    supports = [np.array(T) for T in combinations(range(len(S)), k) if set(inside) <= set(T)]
    support = max(supports, key=lambda T: np.linalg.eigvalsh(S[np.ix_(T, T)])[-1])
    return support, np.linalg.eigh(S[np.ix_(support, support)])[1][:, -1]


def of_matrix(witness, k=3, **options):
    """The certificate of the best component of the matrix, with a witness."""
    S = matrix()
    options = {"digest": digest_of(S), "recipe": Recipe("covariance"), "feature_names": NAMES, **options}
    return Example(certify(DenseCovariance(S), k, *best(S, k), witness, **options), S)


def of_rows(number=1, k=3, *, data=None, weights=None, rule="projection", witness=None, **recipe):
    """The certificate of a component of rows, after earlier ones were taken out."""
    data = rows() if data is None else data
    made = make(data, Recipe(**recipe), weights=weights, quiet=True)
    deflation, earlier = Deflation(made.covariance, rule), []
    for _ in range(number - 1):
        earlier.append(np.zeros(8))
        T, z = best(deflation.current.submatrix(np.arange(8)), k)
        earlier[-1][T] = z
        deflation.remove(earlier[-1])
    S = deflation.current
    taken = {"deflation": rule, "earlier": np.array(earlier)} if earlier else {}
    found = best(S.submatrix(np.arange(8)), k)
    witness = witness or ExhaustiveWitness()
    certificate = certify(S, k, *found, witness, digest=made.digest(), recipe=made.recipe, **taken)
    return Example(certificate, data, {} if weights is None else {"sample_weight": weights})


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


def all_steps():
    """Steps of every kind: two features are left out by their rows, and one more by its variance."""
    few, fewer = np.arange(6), np.arange(5)
    levels = DualWitness("row levels", levels=cut(features=5))
    return StepsWitness(
        (
            Step(3, fewer, levels),
            Step(2, fewer, Again(0)),
            Step(3, few, ByVariances((0, 1))),
            Step(2, None, DualWitness("row levels", levels=cut())),
            Step(3, None, ByRows(2, 3, np.array([0, 3]))),
        )
    )


def steps_by_variances():
    """The first six features are bounded at two numbers of features, the others by their variances."""
    kept = np.arange(6)
    smaller = DualWitness("row levels", levels=cut()[:6, :6])
    return StepsWitness(
        (Step(3, kept, ExhaustiveWitness()), Step(2, kept, smaller), Step(3, None, ByVariances((0, 1))))
    )


def tree():
    """A tree with several leaves and decisions, which a search with loose bounds found."""
    X = np.random.default_rng(2).standard_normal((60, 18)) * np.linspace(2, 0.5, 18)
    S = np.cov(X, rowvar=False).round(4)
    content = json.loads((HERE / "tree_witness.json").read_text())
    witness = Decoder({}, stored_types()).decoded(Witness, content)
    options = {"digest": digest_of(S), "recipe": Recipe("covariance")}
    return Example(certify(DenseCovariance(S), 4, *best(S, 4), witness, **options), S)


def forced():
    """Feature 5 is forced in, and feature 0 is not allowed."""
    made = make(rows(), Recipe())
    allowed = np.arange(1, 8)
    support, loadings = best(made.covariance.submatrix(allowed), 3, [4])
    options = {"digest": made.digest(), "recipe": made.recipe, "allowed": allowed, "forced": [5]}
    return Example(certify(made.covariance, 3, allowed[support], loadings, ExhaustiveWitness(), **options), rows())


def joint():
    """Two components, one on four features and one on three, bounded by the two largest eigenvalues."""
    made = make(rows(), Recipe())
    S = made.covariance.submatrix(np.arange(8))
    values, vectors = np.linalg.eigh(S)
    Z = np.zeros((2, 8))
    for z, support in zip(Z, ([0, 1, 3, 4], [2, 3, 6]), strict=True):
        z[support] = np.linalg.eigh(S[np.ix_(support, support)])[1][:, -1]
    used = np.flatnonzero(Z.any(axis=0))
    witness = JointWitness(factor=vectors[:, -2:] * np.sqrt(values[-2:] - values[-3]))
    options = {"digest": made.digest(), "recipe": made.recipe, "joint": "span"}
    return Example(certify(made.covariance, (4, 3), used, Z[:, used], witness, **options), rows())


@cache
def correlations():
    R = np.corrcoef(rows(), rowvar=False).round(4)
    R.flags.writeable = False
    return R


def grown(S, sizes, joint="common", *, total=None, inside=(), nodes=3):
    """Components of a matrix, one in each row, and a small tree of cases that bounds their value."""
    inside = np.array(inside, dtype=np.intp)
    Z = solve_jointly(JointProblem(DenseCovariance(S), joint, sizes, total, inside)).T
    value = float(np.einsum("ti,ij,tj->", Z, S, Z))
    case, ways = cover_case(DenseCovariance(S), sizes, joint, total, inside)
    return Z, CoverTree(case, value, Monitor(), lambda _: value, ways=ways, node_limit=nodes).run().witness


def together(S, sizes, joint, *, total=None, inside=(), nodes=3, witness=None):
    """The certificate of several components, by default with a tree of cases."""
    Z, tree = grown(S, sizes, joint, total=total, inside=inside, nodes=nodes)
    used = np.flatnonzero(Z.any(axis=0))
    options = {"digest": digest_of(S), "recipe": Recipe("covariance"), "feature_names": NAMES}
    options |= {"joint": joint, "total": total, "forced": inside}
    return Example(certify(DenseCovariance(S), sizes, used, Z[:, used], witness or tree, **options), S)


def joint_threshold():
    witness = JointWitness(factor=np.eye(8)[:, :2], threshold=1.0)
    return together(matrix(), (2, 2), "disjoint", witness=witness)


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
    "threshold": lambda: of_matrix(ThresholdWitness(2.0)),
    "steps": lambda: of_matrix(all_steps()),
    "steps by variances": lambda: of_matrix(steps_by_variances()),
    "tree": tree,
    "joint": joint,
    "joint threshold": joint_threshold,
    "cover, one component": lambda: of_matrix(grown(matrix(), (5,))[1], 5),
    "common": lambda: together(correlations(), (3, 3), "common", inside=[5]),
    "disjoint": lambda: together(matrix(), (3, 2), "disjoint"),
    "orthogonal": lambda: together(matrix(), (4, 4), "orthogonal", total=5, nodes=6),
    "second component": lambda: of_rows(2),
    "third, Hotelling": lambda: of_rows(3, 2, rule="hotelling"),
    "second, Schur": lambda: of_rows(2, rule="schur"),
    "third, orthogonalised": lambda: of_rows(3, rule="orthogonalized-projection", witness=RowSumWitness()),
    "scaled, not centred": lambda: of_rows(scale=True, center=False),
    "forced": forced,
    "weighted": lambda: of_rows(2, scale=True, weights=np.arange(1.0, 31.0)),
    "weights not whole": lambda: of_rows(weights=np.arange(1.0, 31.0) / 4),
    "pairwise": lambda: of_rows(data=with_holes(), missing="pairwise"),
    "em": lambda: of_rows(data=with_holes(), missing="em"),
    "drop": lambda: of_rows(2, data=with_holes(), missing="drop"),
    "drop, weights": lambda: of_rows(data=with_holes(), missing="drop", weights=np.arange(1.0, 31.0) / 4),
}


@cache
def example(name):
    """Return an example by name; it is made once."""
    return EXAMPLES[name]()
