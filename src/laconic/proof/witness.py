"""Witnesses: the few numbers from which an upper bound can be computed again, by anybody, with no solver.

Every bound is on z'Sz over unit z with at most k nonzeros, and holds for *any* value of the arrays of its witness: a
solver may be sloppy, the bound stays true. `laconic.proof` turns a witness into a number with a rigorous
margin.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from laconic.core.arrays import Floats, Indices


def _nobody() -> Indices:
    return np.empty(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class TraceWitness:
    """The k largest variances add up to the bound."""


@dataclass(frozen=True, eq=False)
class RowSumWitness:
    """The largest, over i, of S_ii and the k - 1 largest |S_ij| of its row."""


@dataclass(frozen=True, eq=False)
class ExhaustiveWitness:
    """Nothing: every support is looked at again."""


@dataclass(frozen=True, eq=False)
class DualWitness:
    """A matrix M that S is bent to, what the bending costs, and how the largest value of x'Mx is bounded.

    M = S + U + T - (L + L')/2 - (N + N')/2, each part optional. For unit x with k nonzeros x'Sx <= x'Mx + the sum of

        U   any symmetric matrix with zero diagonal              (k - 1) max |U_ij|
        T   -S_ij cut to [-t, t] off the diagonal (soft threshold)   (k - 1) t
        L   any matrix; c_i = L_ii, m_i = max_j |L_ij| (j != i),
            g_i = c_i if m_i <= 2 c_i, else m_i^2 / (4 (m_i - c_i)), cut at zero from below      k^2 max_i g_i
        N   any matrix; c_i = N_ii, q_i the rest of the row,
            g_i = (c_i + sqrt(c_i^2 + |q_i|^2)) / 2                                              k max_i g_i

    With I = `inside` (s features known to be in the support) L costs k (sum_{i in I} g_i + (k - s) max_{i not in I}
    g_i), and N costs sum_{i in I} g_i + (k - s) max_{i not in I} g_i. x'Mx is then bounded by lmax(M), or, given a
    factor, by the l0 relaxation of M + shift I = A'A (up to rounding, which is paid for), less the shift: for any rho
    and any w_i with d_i = (w_i'a_i)^2 - (|a_i|^2 - rho) |w_i|^2 > 0

        x'A'Ax <= lmax(sum_i c_i w_i w_i') + rho k,    c_i = rho (|a_i|^2 - rho) / d_i

    with c_i = 0, and w_i of no account, where |a_i|^2 <= rho.

    Attributes
    ----------
    kind
        The name of the bound: "largest eigenvalue", "soft threshold", "l1 dual", "row levels", "l0", "Proposition 2",
        "combined".
    multiplier, threshold, levels, norms
        U, t, L and N.
    inside
        I.
    kept
        If given, L and N are on these features only. The row of any other feature j is cancelled: with m_i the largest
        |L_ij| of a row kept, L_ij = 2 S_ij cut to [-m_i, m_i] and L_ji = 2 S_ij - L_ij; L_jl = S_jl for two that are
        not kept; and c_j is the largest that costs no more than the features kept and not inside do. N is zero there.
    price
        What a feature not inside pays for its row of L at the least: max_i g_i above is the larger of the two.
    factor, directions
        A and W, one column for each feature; a factor of None with directions is the one the covariance is known by.
    rho, shift
        As above.
    """

    kind: str
    multiplier: Floats | None = None
    threshold: float = 0.0
    levels: Floats | None = None
    norms: Floats | None = None
    inside: Indices = field(default_factory=_nobody)
    kept: Indices | None = None
    price: float = 0.0
    factor: Floats | None = None
    directions: Floats | None = None
    rho: float = 0.0
    shift: float = 0.0


@dataclass(frozen=True, eq=False)
class ComponentWitness:
    """A component z and a penalty rho: the directions of Proposition 2, with no factor of S.

    With S + d I = A'A for some A and d >= 0, x = Az and p_i = a_i'x the bound is the l0 relaxation of `DualWitness` for

        w_i = p_i a_i - rho x  where p_i^2 > rho,    w_i = a_i - p_i x  elsewhere,

    less d. All it needs of A and x are inner products, which are entries of S + d I and of its product with z.

    Attributes
    ----------
    features, weights
        z, which is zero elsewhere. The bound is best for z'Sz near one.
    rho
        The penalty.
    """

    features: Indices
    weights: Floats
    rho: float


@dataclass(frozen=True, eq=False)
class BlockWitness:
    """S_ij with |S_ij| <= t, and all S_ij between blocks, are set to zero.

    x'Sx <= (k - 1) times the largest of these + the largest bound of a block, each for min(k, its size) features; a
    feature in no block stands alone, with its variance as bound.

    Attributes
    ----------
    threshold
        t.
    blocks
        The features of each block and the witness of its bound, on the block of S with small entries set to zero.
    """

    threshold: float
    blocks: tuple[tuple[Indices, "Witness"], ...]


@dataclass(frozen=True, eq=False)
class ReducedWitness:
    """A bound on fewer features, the others being eliminated by a known value v.

    With b a bound at cardinality k - 1, a support that holds i has a value of at most b + S_ii, and of at most the
    larger eigenvalue of [[b, c], [c, S_ii]], c^2 the sum of the k - 1 largest S_ij^2, j != i. Every feature not kept
    has the better of the two below v; so no support is above max(v, bound on those kept).

    Attributes
    ----------
    kept
        The features that stay.
    before
        The witness of b, on all features.
    rows
        Whether the second test is used, which needs rows of S.
    inner
        The witness of the bound on the features kept.
    """

    kept: Indices
    before: "Witness"
    rows: bool
    inner: "Witness"


@dataclass(frozen=True, eq=False)
class SplitWitness:
    """Bounds on some features, at several cardinalities, and the variances of the others.

    Let a_q bound the supports of q features kept, a_0 = 0, v_1 >= v_2 >= ... be the variances of the others, and S +
    d I semidefinite. The largest eigenvalue of a semidefinite matrix is at most the sum of those of two blocks of its
    diagonal; so a support of k features, of which j are not kept, is worth at most

        a_{k-j} + v_1 + ... + v_j + j d.

    a_q is the least bound given for q features or more, or the sum of the q largest variances kept and (q - 1) d.

    Attributes
    ----------
    kept
        The features that the bounds are on.
    bounds
        Cardinalities, and the witness of the bound at each; k comes first.
    """

    kept: Indices
    bounds: tuple[tuple[int, "Witness"], ...]


@dataclass(frozen=True, eq=False)
class Decision:
    """Features decided at a node of a tree by one dual point.

    With M, the price C and the prices g_i of the point, G the largest of a feature not inside, t = lmax(M) and k the
    cardinality: a support of the node that holds i is worth at most t + C - k (G - g_i), a support that does not hold
    i at most lmax(M without i) + C. For a feature not kept M_jj may be as large as t, which gives c_j and g_j.

    Attributes
    ----------
    witness
        The point, with `kept`.
    out, into
        The features decided by the first bound, and by the second.
    """

    witness: DualWitness
    out: Indices
    into: Indices


@dataclass(frozen=True, eq=False)
class TreeNode:
    """Supports of size k that hold some features, and nothing but some others: those of the parent and its decisions.

    Attributes
    ----------
    decisions
        What was decided, in order.
    bound
        How the supports that are left are bounded: a witness on the features left, or every support is looked at;
        None if the node is branched on.
    feature, without, within
        The feature branched on, and the places of the children that do not and that do hold it.
    """

    decisions: tuple[Decision, ...]
    bound: DualWitness | ExhaustiveWitness | None
    feature: int = -1
    without: int = -1
    within: int = -1


@dataclass(frozen=True, eq=False)
class TreeWitness:
    """A tree of cases: the bound is the largest that a decision or a node without children leaves.

    Attributes
    ----------
    nodes
        The nodes; the first is the root, which holds every support. All features are numbered as in S.
    """

    nodes: tuple[TreeNode, ...]


Witness: TypeAlias = (
    TraceWitness
    | RowSumWitness
    | ExhaustiveWitness
    | DualWitness
    | ComponentWitness
    | BlockWitness
    | ReducedWitness
    | SplitWitness
    | TreeWitness
)


def kind_of(witness: Witness) -> str:
    """Return the name of the bound that a witness is of.

    Parameters
    ----------
    witness
        The witness.
    """
    match witness:
        case DualWitness():
            return witness.kind
        case ReducedWitness():
            return kind_of(witness.inner)
        case SplitWitness() if witness.bounds:
            return kind_of(witness.bounds[0][1])
    names = {
        TraceWitness: "trace",
        RowSumWitness: "row sums",
        ExhaustiveWitness: "exhaustive",
        ComponentWitness: "Proposition 2",
        BlockWitness: "blocks",
        SplitWitness: "split",
        TreeWitness: "branch and bound",
    }
    return names[type(witness)]


def kinds_of(witness: Witness) -> set[str]:
    """Return the names that a bound with a witness may go by, that of `kind_of` among them.

    A search may end with a witness of any kind, and a tree that is its root only is known by the relaxation of the
    root. A bound on all features from some may be named by how it was extended, or by the bound on those kept.

    Parameters
    ----------
    witness
        The witness.
    """
    names = {kind_of(witness), "branch and bound"}
    match witness:
        case DualWitness():
            names.add("row levels")
        case ReducedWitness():
            names |= kinds_of(witness.inner)
        case SplitWitness():
            names.add("split")
            if witness.bounds:
                names |= kinds_of(witness.bounds[0][1])
    return names
