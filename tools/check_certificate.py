#!/usr/bin/env python3
"""Check a certificate of sparse PCA with NumPy alone.

    python check_certificate.py CERTIFICATE.json DATA.csv

This program was written from docs/certificate-format.md and imports nothing of laconic. It reads the data, computes
their digest, the matrix S, the variance of the components and the upper bound of the witness, and compares them with
the claim.

Rounding. S is what NumPy computes from the data. Where it is too large to be written out, S is A'A for the standardised
rows A that NumPy computes. From there on every bound holds in exact arithmetic: a largest eigenvalue is proved by a
Cholesky factorisation whose residual is computed and added, sums are rounded up, and the rounding of products is
bounded by gamma(m) = m u / (1 - m u), u = 2^-53, times the product of absolute values.

Exit status: 0 accepted, 1 rejected, 2 a file cannot be read or is damaged, 3 this program cannot check this kind.
"""

import argparse
import csv
import functools
import hashlib
import io
import itertools
import json
import math
import sys
import zipfile
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from pathlib import Path

import numpy as np

U = 2.0**-53
ORTHONORMAL = 1e-12  # how far inner products of orthonormal components may be from zero, and squared lengths from one
MOST_WAYS = 2000  # ways to divide a total number of nonzeros among components
LARGEST_MATRIX = 6000  # features for which S is written out
MOST_PRODUCTS = 10**13  # multiplications for a look at all pairs of features
MOST_ABOVE = 40_000_000  # entries above a threshold
BLOCK = 2**23  # entries of S at once
POWER_STEPS = 60  # for the vector d of a threshold
MOST_SUPPORTS = 2_000_000
BATCH = 20_000  # supports whose eigenvalues are computed at once
FIELDS = {
    "Certificate": "cardinalities n_features support loadings lower upper kind witness digest margin recipe deflation "
    "earlier allowed forced feature_names versions joint total",
    "Recipe": "given center scale missing weighted iterations ridge",
    "TraceWitness": "",
    "RowSumWitness": "",
    "ExhaustiveWitness": "",
    "DualWitness": "kind multiplier levels norms inside kept price factor directions rho shift",
    "Proposition2Witness": "features weights rho",
    "ThresholdWitness": "threshold",
    "StepsWitness": "steps",
    "Step": "cardinality features how",
    "Again": "step",
    "ByVariances": "steps",
    "ByRows": "kept smaller strong",
    "TreeWitness": "cases numbers codes",
    "JointWitness": "kept factor by_rows threshold",
    "CoverWitness": "cases numbers",
}
DEFLATIONS = ("projection", "hotelling", "schur", "orthogonalized-projection", "orthogonalized-hotelling")


class UnreadableError(Exception):
    """A file that is damaged, or not what it should be."""


class RejectedError(Exception):
    """A claim that is not proved for these data."""


class NotCoveredError(Exception):
    """A kind of certificate that this program does not check."""


def refuse(wrong, why, kind=RejectedError):
    if wrong:
        raise kind(why)


def damaged(wrong, why):
    refuse(wrong, why, UnreadableError)


def read_certificate(path):
    """Return the content of a certificate, its arrays as arrays."""
    path = Path(path)
    try:
        document = json.loads(path.read_bytes(), parse_constant=lambda _: 1 / 0)
    except (OSError, ValueError, RecursionError, ZeroDivisionError) as error:
        raise UnreadableError(f"{path.name} is no JSON file, or was cut short ({error}).") from None
    damaged(not isinstance(document, dict), f"{path.name} is no certificate.")
    damaged(document.get("format") != "laconic certificate", f"{path.name} is no certificate.")
    damaged(document.get("schema") != 1, f"{path.name} has another schema than 1, which this program reads.")
    parts = {"format", "schema", "claim", "content", "arrays", "checksum"}
    damaged(set(document) != parts, f"{path.name} has a part too many or too few.")
    whole = {part: value for part, value in document.items() if part != "checksum"}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()
    damaged(hashlib.sha256(text).hexdigest() != document["checksum"], f"{path.name} was altered: its checksum differs.")
    try:
        content = decoded(document["content"], read_arrays(document["arrays"], path.parent))
        damaged(content["type"] != "Certificate", "the content is no certificate")
        told = list(sentences(content))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, UnreadableError) as error:
        raise UnreadableError(f"{path.name} is not as a certificate should be: {error}") from None
    damaged(document["claim"] != told, f"{path.name} was altered: its words are not what its numbers say.")
    return content


def read_arrays(beside, folder):
    """Return the arrays of the NPZ file beside the certificate."""
    if beside is None:
        return {}
    damaged(not isinstance(beside, dict) or set(beside) != {"file", "sha256"}, "it does not say where its arrays are.")
    damaged(Path(beside["file"]).name != beside["file"], "its arrays are in another folder.")
    try:
        stored = (folder / beside["file"]).read_bytes()
        damaged(hashlib.sha256(stored).hexdigest() != beside["sha256"], f"{beside['file']} was altered.")
        with np.load(io.BytesIO(stored), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise UnreadableError(f"{beside['file']} cannot be read: {error}") from None


def decoded(node, arrays):
    """Return a part of the content with arrays in place of their descriptions, and the fields of each type checked."""
    if isinstance(node, list):
        return [decoded(item, arrays) for item in node]
    if not isinstance(node, dict):
        return node
    if "dtype" in node:
        kind = {"float64": float, "float32": float, "int64": int, "int8": int}[node["dtype"]]
        if set(node) == {"dtype", "shape", "npz"}:
            array = arrays[node["npz"]]
            same = array.dtype == node["dtype"] and list(array.shape) == node["shape"]
            damaged(not same, "an array of the NPZ file has another shape or type.")
            return array
        damaged(set(node) != {"dtype", "shape", "values"}, "an array does not have the parts that it should.")
        damaged(not all(type(x) in (int, kind) for x in node["values"]), "an array has entries of another type.")
        return np.array(node["values"], dtype=node["dtype"]).reshape([whole(size, 0) for size in node["shape"]])
    if "type" not in node:
        return node
    damaged(set(node) != {"type", *FIELDS[node["type"]].split()}, f"a {node['type']} has other fields than it should.")
    return {name: value if name == "versions" else decoded(value, arrays) for name, value in node.items()}


def whole(x, least):
    damaged(type(x) is not int or x < least, f"{x!r} is no whole number of at least {least}.")
    return x


def number(x):
    """Return a number of a witness or a claim."""
    refuse(type(x) not in (int, float) or not abs(x) < 2.0**450, f"{x!r} is no number of a reasonable size.")
    return float(x)


def flag(x):
    damaged(type(x) is not bool, f"{x!r} is neither true nor false.")
    return x


def floats(x, shape):
    """Return an array of floats; None in `shape` stands for any length."""
    fits = isinstance(x, np.ndarray) and x.dtype == float and x.ndim == len(shape) and x.size
    fits = fits and all(want in (None, have) for want, have in zip(shape, x.shape, strict=True))
    refuse(not fits, f"An array does not have the shape {shape}.")
    refuse(not (np.abs(x) < 2.0**450).all(), "An array has entries that are too large.")
    return x


def features(x, n):
    """Return a list of features, each once."""
    refuse(not isinstance(x, np.ndarray) or x.ndim != 1 or x.dtype != int, "A list of features is missing.")
    refuse(x.size and (x.min() < 0 or x.max() >= n), f"A list has a feature outside 0 to {n - 1}.")
    refuse(len(set(x.tolist())) < len(x), "A list has a feature twice.")
    return x.astype(np.intp)


def rounded(x, rounding):
    return f"{float(Context(12, rounding).create_decimal(Decimal(x))):.12g}"


def named(places, names, most, noun):
    shown = [str(i) if names is None else repr(names[i]) for i in places[:most]]
    return shown if names is not None or not shown else [f"{noun}{'s' * (len(places) > 1)} {shown[0]}", *shown[1:]]


def sentences(c):
    """Yield the sentences that a certificate of these fields must have."""
    names, m, n = c["feature_names"], c["recipe"], whole(c["n_features"], 1)
    low, high = rounded(float(c["lower"]), ROUND_FLOOR), rounded(float(c["upper"]), ROUND_CEILING)
    support, forced, sizes = c["support"].tolist(), c["forced"].tolist(), c["cardinalities"].tolist()
    out = [] if c["allowed"] is None else sorted(set(range(n)) - set(c["allowed"].tolist()))
    choices = ("with", forced, f"{len(forced)} features forced in"), ("without", out, f"{len(out):,} of the features")
    some = [
        f"{word} {' and '.join(named(places, names, 2, 'feature')) if len(places) <= 2 else many}"
        for word, places, many in choices
        if places
    ]
    among = f" {' but '.join(some)}" if some else ""
    earlier = 0 if c["earlier"] is None else len(c["earlier"])
    after = "", " after component 1", " after components 1 and 2", f" after components 1 to {earlier}"
    about = after[min(earlier, 3)]
    ways = {"em": " in the matrix estimated by EM", "pairwise": " in the matrix made by pairwise deletion"}
    ways |= {None: "", "drop": " in the complete rows"}
    about += ways[m["missing"]]
    on = ", ".join(named(support, names, 12, "feature")) + f" and {len(support) - 12} more" * (len(support) > 12)
    if len(sizes) == 1:
        k = sizes[0]
        yield f"The component with these loadings on {on} has a variance{about} of at least {low}."
        of = f"with at most {k:,} nonzero loading{'s' * (k != 1)}, of either sign{',' * bool(some)}{among}"
        yield f"No component {of}, has a variance{about} of more than {high}."
    else:
        components = f"The {len(sizes)} components with these loadings on {on}"
        yield f"{components} together hold a variance{about} of at least {low}."
        yield f"No {several(c['joint'], sizes, c['total'])}{among} together hold a variance{about} of more than {high}."
    if m["given"] == "covariance":
        made = "the matrix" + ", scaled to a unit diagonal," * m["scale"] + " with"
    else:
        made = "the covariance matrix" if m["center"] else "the matrix of second moments about zero"
        if m["scale"]:
            made = "the correlation matrix" if m["center"] else f"{made}, scaled to a unit diagonal,"
        made += {"em": ", estimated by EM,", "pairwise": ", made by pairwise deletion,"}.get(m["missing"], "")
        among = "complete rows among the " * (m["missing"] == "drop")
        made += f" of the {among}rows{' and weights' * m['weighted']} with"
    rule = c["deflation"]
    taken = "" if rule is None else f", after the earlier components were taken out by {rule} deflation"
    yield f"Variances are those in {made} the digest {c['digest']}{taken}."


def several(joint, sizes, total):
    """Return components of a question in words."""
    r, k, s = len(sizes), sizes[0], "s" * (sizes[0] != 1)
    kinds = {"common": "orthogonal components", "orthogonal": "orthogonal components"}
    kinds["disjoint"] = "components with disjoint supports"
    words = f"{r} {kinds.get(joint, 'components')} of"
    if joint == "common":
        return f"{words} {k:,} common feature{s}"
    equal = set(sizes) == {k}
    each = f"{k:,} feature{s}" if equal else f"{', '.join(map(str, sizes[:-1]))} and {sizes[-1]} features"
    if total is None:
        return f"{words} at most {each}"
    # A component has at most what is left if each of the others has one feature.
    if min(sizes) > total - r:
        return f"{words} at most {total:,} feature{'s' * (total != 1)} in all"
    return f"{words} at most {each}{' each' * equal}, {total:,} in all"


def read_table(path, wanted=None):
    """Return the numbers of a .npy file, or of a CSV file with a header, and the names of its columns.

    Of a CSV file only the columns with the names `wanted` are read, if these are given.
    """
    path = Path(path)
    try:
        if path.suffix == ".npy":
            return np.array(np.load(path, allow_pickle=False), dtype=float), None
        with path.open(newline="", encoding="utf-8-sig") as file:
            header, *lines = [line for line in csv.reader(file) if line]
        if wanted is None:
            columns = [j for j, cells in enumerate(zip(*lines, strict=False)) if any(map(is_number, cells))]
            if len(columns) < len(header):
                left = [name for j, name in enumerate(header) if j not in columns]
                print(f"Left out because they hold no numbers: {', '.join(map(repr, left))}.")
        else:
            columns = [header.index(name) for name in wanted if name in header]
        numbers = [[float(line[j]) if line[j].strip() else math.nan for j in columns] for line in lines]
        return np.array(numbers), [header[j] for j in columns]
    except (OSError, ValueError, IndexError) as error:
        raise UnreadableError(f"{path.name} is no table of numbers: {error}") from None


def is_number(text):
    try:
        return bool(text.strip()) and math.isfinite(float(text))
    except ValueError:
        return False


def by_name(table, names, wanted, square):
    """Return a table with the columns of these names, in this order, if both have names."""
    if names is None or wanted is None or list(names) == list(wanted):
        return table
    missing = [name for name in wanted if name not in names]
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    refuse(missing, f"The data have no column {', '.join(map(repr, missing[:3]))}{more}.")
    places = [list(names).index(name) for name in wanted]
    return table[np.ix_(places, places)] if square else table[:, places]


def digest(table, weights=None):
    """Return the digest of a table, and of weights if there are any, as text."""
    numbers = np.array(table, dtype=np.float64).reshape(len(table), -1) + 0.0
    numbers[np.isnan(numbers)] = np.frombuffer(bytes.fromhex("000000000000f87f"), dtype="<f8")[0]
    words, factors = numbers.view(np.uint64).copy(), (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)
    for factor in factors:
        words ^= words >> np.uint64(33)
        words *= np.uint64(factor)
    words ^= words >> np.uint64(33)
    powers, power = np.empty(len(words), dtype=np.uint64), 1
    for i in range(len(words)):
        powers[i] = power
        power = power * 0x9E3779B97F4A7C15 % 2**64
    columns = (words * powers[:, None]).sum(axis=0, dtype=np.uint64)
    head = f"table {len(words)} x {words.shape[1]}".encode()
    own = hashlib.sha256(head + columns.astype("<u8").tobytes()).hexdigest()
    return own if weights is None else hashlib.sha256(f"{own} {digest(weights)}".encode()).hexdigest()


class Matrix:
    """A symmetric matrix S. If it is A'A up to rounding, less `taken` matrices v zz', the rows A are kept, too.

    If S is None, it is too large to be written out. It is then A'A in exact arithmetic, and an entry that is computed
    has an error of at most `loose` times |a_i||a_j|. Parts of it are written out, and as loose.
    """

    def __init__(self, S, rows=None, taken=(), loose=0.0):
        self.rows, self.taken = rows, taken
        self.factor = None if taken else rows  # A with S = A'A up to rounding, or None
        self.whole, self.n = (None, rows.shape[1]) if S is None else (0.5 * (S + S.T), len(S))
        self.loose, self._largest = gamma(len(rows) + 4) if S is None else loose, np.empty((self.n, 0))
        self.variances = (rows**2).sum(axis=0) * (1 + self.loose) if S is None else self.whole.diagonal()

    @property
    def S(self):
        refuse(self.whole is None, f"A matrix of {self.n} features is needed.", NotCoveredError)
        return self.whole

    def part(self, keep):
        rows = None if self.rows is None else self.rows[:, keep]
        if self.whole is None:
            return Matrix(rows.T @ rows if len(keep) <= LARGEST_MATRIX else None, rows, (), self.loose)
        return Matrix(self.whole[np.ix_(keep, keep)], rows, [(v, z[keep]) for v, z in self.taken], self.loose)

    def entries(self, features):
        """Return upper bounds on the |S_ij| of some rows, with zeros on the diagonal."""
        found = np.abs(self.rows[:, features].T @ self.rows if self.whole is None else self.whole[features])
        if self.loose:
            lengths = np.sqrt(self.variances)
            found += (2 * self.loose * lengths.max() * lengths[features])[:, None]
        found[np.arange(len(found)), features] = 0.0
        return found

    def in_blocks(self):
        """Yield some features and the entries of their rows, for all features."""
        long = self.whole is None and self.n**2 * len(self.rows) > MOST_PRODUCTS
        refuse(long, f"All pairs of {self.n} features take too long.", NotCoveredError)
        for features in np.array_split(np.arange(self.n), -(-(self.n**2) // BLOCK)):
            yield features, self.entries(features)

    def largest(self, count):
        """Return the `count` largest entries of each row, falling."""
        cut = self.n - min(count, self.n - 1)
        if self._largest.shape[1] < self.n - cut:
            tops = [np.partition(block, cut, axis=1)[:, cut:] for _, block in self.in_blocks()]
            self._largest = -np.sort(-np.concatenate(tops), axis=1)
        return self._largest[:, : self.n - cut]

    @functools.cached_property
    def shift(self):
        """A number d >= 0 such that S + d I is semidefinite."""
        return max(largest_eigenvalue(-self.S), 0.0)

    def rounding(self, size):
        """Return the most that errors of entries change on `size` features; inner products have gamma |a_i||a_j|."""
        sizes = most((self.rows**2).sum(axis=0), size) + sum(v for v, _ in self.taken)
        return gamma(2 * len(self.rows) + 16) * 1.01 * sizes

    def lack(self, size, count):
        """Return what a bound on `size` features adds because S need not be semidefinite: `count` shifts, or less."""
        if count == 0 or self.rows is None or (len(self.rows) >= self.n and not self.loose):
            return count * self.shift * (1 + 4 * U) if count else 0.0
        # Each matrix of rank one that was taken out makes at most one eigenvalue negative.
        return count * self.rounding(size) + (min(count, len(self.taken)) * self.shift if self.taken else 0.0)


def of_rows(X, center, scale, w):
    """Return the covariance of rows with weights: centred, scaled to unit variances, divided by D."""
    W, means = w.sum(), np.zeros(X.shape[1])
    if center:
        means = w @ X / W
        means = means + w @ (X - means) / W
    A = X - means
    squares = w @ A**2
    constant = squares == 0
    if center:
        # A spread of the size of rounding; whole numbers have none unless they differ.
        limit = 0.0 if np.array_equal(np.rint(X), X) else len(X) * 2.0**-52
        constant = (X[0] == X).all(axis=0) | (squares <= W * (limit * means) ** 2)
    D = W
    if center:  # weights that are all whole numbers count rows
        D -= 1 if np.array_equal(np.rint(w), w) else (w @ w) / W
    A[:, constant] = 0.0
    if scale:
        A /= np.where(constant, 1.0, np.sqrt(squares / D))
    A *= np.sqrt(w / D)[:, None]
    return Matrix(A.T @ A if A.shape[1] <= LARGEST_MATRIX else None, A)


def matrix_of(c, table, weights):
    """Return S before deflation, if the data have the digest of the certificate."""
    m = c["recipe"]
    known = m["given"] in ("rows", "covariance") and m["missing"] in (None, "pairwise", "em", "drop")
    refuse(not known, "The certificate does not say how its matrix was made.")
    for flagged in ("center", "scale", "weighted"):
        flag(m[flagged])
    fits = type(m["iterations"]) is int and type(m["ridge"]) in (int, float)
    damaged(not fits, "the recipe has numbers that are none.")
    square, n = m["given"] == "covariance", c["n_features"]
    refuse(square and (m["missing"] is not None or m["weighted"]), "A matrix has no missing values and no weights.")
    estimated = m["missing"] in ("pairwise", "em")
    refuse(estimated, "S is estimated from rows with missing values.", NotCoveredError)
    refuse(square and n > LARGEST_MATRIX, f"The matrix has more than {LARGEST_MATRIX} features.", NotCoveredError)
    refuse(m["weighted"] != (weights is not None), "The certificate needs --weights, or they are one too many.")
    table = np.asarray(table, dtype=float)
    refuse(table.ndim != 2 or table.shape[1] != n, "The data have another number of columns.")
    complete = np.isfinite(table).all(axis=1)
    drops = m["missing"] == "drop"
    refuse((not complete.all() and not drops) or np.isinf(table).any(), "The data have missing or infinite values.")
    refuse(drops and (complete.all() or complete.sum() < 2), "The rows do not have the missing values dropped.")
    if square:
        refuse(len(table) != table.shape[1], "The certificate is about a matrix, and the data are none.")
        S = 0.5 * (table + table.T)
        refuse(digest(S) != c["digest"], "The matrix is not the one of the certificate: its digest is another.")
        if m["scale"]:
            deviations = np.sqrt(np.where(S.diagonal() > 0, S.diagonal(), 1.0))
            S = S / deviations / deviations[:, None]
        return Matrix(S)
    refuse(digest(table, weights) != c["digest"], "The rows are not those of the certificate: their digest is another.")
    w = np.ones(len(table)) if weights is None else np.asarray(weights, dtype=float)
    return of_rows(table[complete], m["center"], m["scale"], w[complete])


def deflated(S, rule, earlier):
    """Return S after components were taken out."""
    refuse(rule not in DEFLATIONS, f"There is no deflation named {rule!r}.")
    orthogonalized, rule = rule.startswith("orth"), rule.rpartition("-")[2]
    refuse(S.loose and rule == "hotelling", "Hotelling's deflation of rows that are too long.", NotCoveredError)
    A = S.rows if S.loose or (S.rows is not None and len(S.rows) < S.n) else None
    by_rows = A is not None and rule != "hotelling"  # both other rules leave a factor
    M, directions, taken = S.whole, [], []
    for z in earlier:
        if orthogonalized:
            for q in directions + directions:
                z = z - (q @ z) * q
            if np.linalg.norm(z) < 1e-10:
                continue
            z = z / np.linalg.norm(z)
            directions.append(z)
        y = A.T @ (A @ z) if by_rows else M @ z
        v = z @ y
        if v <= 0:
            continue
        if by_rows:
            A = A - np.outer(A @ z, z if rule == "projection" else y / v)
        elif rule == "hotelling":
            M, taken = M - v * np.outer(z, z), [*taken, (float(v), z)]
        elif rule == "projection":
            M = M - np.outer(z, y) - np.outer(y, z) + v * np.outer(z, z)
        else:
            M = M - np.outer(y, y) / v
    if by_rows:
        M = None if S.loose else A.T @ A
    return Matrix(M, A, taken)


def gamma(m):
    return 1.02 * m * U


def above(*terms):
    """Return an upper bound on a sum."""
    total = math.fsum(terms)
    return total if total == -math.inf else math.nextafter(total, math.inf)


def most(values, count):
    """Return an upper bound on the sum of the `count` largest values."""
    return above(*np.sort(values)[::-1][: max(count, 0)]) if count > 0 else 0.0


def largest_eigenvalue(M):
    """Return an upper bound on the eigenvalues of a symmetric matrix, or of all matrices of a stack.

    With LL' a Cholesky factorisation of t I - M, lmax(M) <= t + |t I - M - LL'|. An entry of LL' is a sum of at most
    min(i, j) products, so that the rounding of LL' has a norm of at most the sum of gamma(j) |l_j|^2 over the rows l_j.
    """
    n, size = M.shape[-1], float(np.abs(M).max())
    if n == 1 or size == 0.0:
        return float(M.max())
    estimate = float(np.linalg.eigvalsh(M)[..., -1].max())
    pad = 4 * n * U * max(abs(estimate), size)
    for _ in range(60):
        top = estimate + pad
        shifted = top * np.eye(n) - M
        try:
            L = np.linalg.cholesky(shifted)
        except np.linalg.LinAlgError:
            pad *= 2
            continue
        left = shifted - L @ np.swapaxes(L, -1, -2)
        residual = np.sqrt((left**2).sum(axis=(-1, -2))) * (1 + gamma(n * n + 8))
        product = ((L**2).sum(axis=-1) @ np.arange(2, n + 2)) * gamma(1) * (1 + gamma(2 * n + 8))
        return above(top, float((residual + product).max()), 2 * U * (abs(top) + size))
    raise RejectedError("An eigenvalue could not be bounded.")


def names_of(w):
    """Return the names that the bound of a witness may have."""
    if w["type"] == "StepsWitness":
        return [name for step in w["steps"] if step["how"]["type"] in BOUNDS for name in names_of(step["how"])]
    names = {"TraceWitness": "trace", "RowSumWitness": "row sums", "ThresholdWitness": "threshold"}
    names |= {"ExhaustiveWitness": "exhaustive", "Proposition2Witness": "Proposition 2", "CoverWitness": "cover"}
    if w["type"] == "JointWitness":
        return ["threshold" if w["threshold"] else "span"]
    if w["type"] == "TreeWitness":
        return ["branch and bound", "row levels"]
    return [w["kind"], "row levels"] if w["type"] == "DualWitness" else [names[w["type"]]]


def bound(w, S, k, inside, depth=0):
    """Return the upper bound of a witness over supports of k features of S that contain those inside."""
    kind = w["type"] if isinstance(w, dict) else None
    refuse(kind not in BOUNDS or (depth and kind == "StepsWitness"), "There is no witness where one is needed.")
    value = BOUNDS[kind](w, S, k, inside, depth)
    value = above(value, S.rounding(k)) if S.loose and kind != "StepsWitness" else value
    return math.inf if math.isnan(value) else value


def circles(S, count):
    """Return upper bounds on S_ii plus the `count` largest |S_ij| of each row."""
    return np.nextafter(S.variances + S.largest(count).sum(axis=1) * (1 + gamma(count + 4)), np.inf)


def by_threshold(w, S, k, inside, depth):
    """Shrink the entries by t. A matrix C >= 0 off its diagonal has lmax(C) <= max_i (Cd)_i / d_i for any d > 0."""
    t, found, total = number(w["threshold"]), [], 0
    refuse(t < 0, "A threshold is negative.")
    for features, block in S.in_blocks():
        i, j = np.nonzero(block > t)
        found.append((features[i], j, block[i, j] - t))
        total += len(i)
        refuse(total > MOST_ABOVE, f"More than {MOST_ABOVE} entries are above the threshold.", NotCoveredError)
    i, j, x = (np.concatenate(part) for part in zip(*found, strict=True))
    count = np.bincount(i, minlength=S.n)
    growth, d, best = 1 + gamma(int(count.max()) + 8), np.ones(S.n), math.inf
    for _ in range(POWER_STEPS):
        image = np.bincount(i, x * d[j], S.n)
        quotients = np.nextafter(S.variances + image / d * growth, np.inf)
        best = min(best, float(np.where(count > 0, quotients, S.variances).max()))
        power = image + (S.variances - min(S.variances.min(), 0.0)) * d
        if not power.max() > 0:
            break
        d = np.maximum(power / power.max(), 1e-3)
    return above(best, (k - 1) * t * (1 + 4 * U))


def by_steps(w, S, k, inside, depth):
    """Bound the supports of at most q of some features W in each step, by a witness or by steps before it.

    If features are known to be inside, steps for k features are about the supports that contain these, and no others.
    """
    done, parts, W = [], {}, NONE

    def earlier(place):
        refuse(type(place) is not int or not 0 <= place < len(done), "A step follows from one that is not before it.")
        return done[place]

    def part(W):
        if len(W) == S.n:
            return S
        if W.tobytes() not in parts:
            parts[W.tobytes()] = S.part(W)
        return parts[W.tobytes()]

    for step in w["steps"]:
        q, how, witness = step["cardinality"], step["how"], None
        refuse(type(q) is not int or not 1 <= q <= k, "A step is about more features than the bound.")
        W = np.arange(S.n) if step["features"] is None else features(step["features"], S.n)
        refuse(not len(W) or (np.diff(W) <= 0).any(), "The features of a step are not in increasing order.")
        known = inside if q == k else NONE
        if how["type"] == "ByVariances":
            value = by_variances(S, q, W, known, [earlier(place) for place in how["steps"]])
        elif how["type"] == "ByRows":
            value = by_rows(part, q, W, known, earlier, how)
        else:
            witness = how if how["type"] != "Again" else earlier(how["step"])[4]
            same = witness is how or np.array_equal(earlier(how["step"])[1], W)
            refuse(witness is None or not same, "A step uses a witness again that is about other features.")
            value = -math.inf  # without a known feature there is no support
            if np.isin(known, W).all():
                value = bound(witness, part(W), min(q, len(W)), np.searchsorted(W, known), 1)
        done.append((q, W, value, len(known) > 0, witness if witness is how else None))
    refuse(not done or q < k or step["features"] is not None, "The last step is not the bound that is claimed.")
    return value


def larger(b, s, square):
    """Return upper bounds on the larger eigenvalues of [[b, c], [c, s]], where c^2 <= `square`."""
    root = np.sqrt((b - s) ** 2 / 4 + square) * (1 + 16 * U)
    return (b + s) / 2 + root + 4 * U * (abs(b) + np.abs(s))


def by_variances(S, q, W, known, given):
    """Bound supports of which j features are hidden: in W, but not among the features K of the steps given.

    Two diagonal blocks of a semidefinite matrix have the largest eigenvalues a and b, so that the whole has at most
    a + b. If S is semidefinite less a matrix on K of norm e, the entries between the blocks have c^2 <= (a + e) b.
    """
    K, q, best = given[0][1], min(q, len(W)), -math.inf
    same = all(np.array_equal(K, of) and (len(known) or not some) for _, of, _, some, _ in given)
    refuse(not same or not np.isin(K, W).all(), "The steps behind a step by variances are about other features.")
    hidden, far = np.setdiff1d(W, K), None
    if S.taken and S.rows is not None and not any(z[hidden].any() for _, z in S.taken):
        far = sum(v * float(z @ z) for v, z in S.taken) * (1 + gamma(S.n + 8))
    for j in range(max(0, q - len(K)), min(q, len(hidden)) + 1):
        if not j and not np.isin(known, K).all():
            continue
        # What is known of some supports only holds for a support of these, and not for a part of it.
        a = [value for size, _, value, some, _ in given if size >= q - j and not (some and j)]
        a = min([*a, above(most(S.variances[K], q - j), S.lack(q, q - j - 1))]) if j < q else 0.0
        b = most(S.variances[hidden], j)
        both = above(a, b, S.lack(q, j)) if j else a
        if j and far is not None:
            a = max(a, 0.0)
            both = min(both, above(float(larger(a, b, (a + far) * b * (1 + 8 * U))), q * S.rounding(q)))
        best = max(best, both)
    return best


def by_rows(part, q, W, known, earlier, how):
    """Bound the supports with a feature i that is not among the features K of the step `kept`.

    By the row i, the value is at most the larger eigenvalue of [[b, c], [c, S_ii]], where b bounds q - 1 features, and
    c is the length of the q - 1 largest |S_ij|. By the row r in which the eigenvector is largest, it is at most S_rr
    plus the q - 1 largest |S_rj|. If r is not i, |S_ri| is among those that are added.
    """
    size, K, inner, some, _ = earlier(how["kept"])
    refuse(not np.isin(K, W).all() or size < q or (some and not len(known)), "A step keeps features of another kind.")
    out = np.flatnonzero(~np.isin(W, K))
    S = part(W)
    if q == 1:
        return max([inner, *S.variances[out].tolist()])
    size, of, b, some, _ = earlier(how["smaller"])
    refuse(not np.isin(W, of).all() or size < q - 1 or some, "A step by rows needs a bound on all smaller supports.")
    if not len(out):
        return inner
    squares = (S.largest(q - 1)[out] ** 2).sum(axis=1) * (1 + gamma(q + 4))
    strong, long, short = features(how["strong"], S.n), circles(S, q - 1), circles(S, q - 2)
    anchored = np.maximum(long[out], np.delete(long, strong).max(initial=-math.inf))
    for r in strong:
        reached = np.minimum(long[r], np.nextafter(short[r] + S.entries(strong[strong == r])[0][out], np.inf))
        anchored = np.maximum(anchored, np.where(out == r, -math.inf, reached))
    return max(inner, float(np.fmin(larger(b, S.variances[out], squares), anchored).max()))


def by_listing(w, S, k, inside, depth):
    free = np.setdiff1d(np.arange(S.n), inside).tolist()
    refuse(math.comb(len(free), k - len(inside)) > MOST_SUPPORTS, "There are too many supports to list.")
    choices, best = itertools.combinations(free, k - len(inside)), -math.inf
    while batch := list(itertools.islice(choices, BATCH)):
        T = np.array([[*inside.tolist(), *choice] for choice in batch], dtype=np.intp)
        best = max(best, largest_eigenvalue(S.S[T[:, :, None], T[:, None, :]]))
    return best


class Point:
    """A matrix M that differs from S by known parts: M on `places`, a diagonal `rest` elsewhere, and the prices."""

    def __init__(self, w, S, known, levels=None, norms=None, kept=None, limits=None):
        n, self.known, self.rounding, self.fixed = S.n, known, 0.0, 0.0
        self.places, L, N = np.arange(n) if kept is None else kept, levels, norms
        self.M, sizes = S.S[np.ix_(self.places, self.places)], 0.0
        self.g, self.h = np.zeros(n), np.zeros(n)
        if w["multiplier"] is not None:
            U_ = floats(w["multiplier"], (n, n))
            if not np.array_equal(U_, U_.T) or U_.diagonal().any():
                raise RejectedError("The multiplier is not symmetric with a zero diagonal.")
            sizes = sizes + np.abs(self.M) + np.abs(U_)
            self.M, self.fixed = self.M + U_, float(np.abs(U_).max())
        for part in (L, N):
            if part is not None:
                sizes = sizes + np.abs(self.M) + np.abs(part) + np.abs(part.T)
                self.M = self.M - 0.5 * (part + part.T)
        if np.ndim(sizes):
            self.rounding = gamma(4) * float(sizes.sum(axis=1).max()) * (1 + gamma(n + 8))
        self.aside = np.setdiff1d(np.arange(n), self.places)
        self.rest = self.diagonal = S.variances[self.aside]
        own = np.zeros(len(self.places))
        if L is not None:
            own = np.abs(L - np.diag(L.diagonal())).max(axis=1, initial=0.0)
        limits = own if limits is None else limits
        if len(self.aside):
            cross = 2 * np.abs(S.S[np.ix_(self.places, self.aside)])
            among = np.abs(S.S[np.ix_(self.aside, self.aside)])
            np.fill_diagonal(among, 0.0)
            beyond = (cross - limits[:, None]).max(axis=0, initial=0.0) * (1 + 4 * U)
            self.level = np.maximum(beyond, among.max(axis=1))
            own = np.maximum(own, np.minimum(limits, cross.max(axis=1)))
            self.free_diagonal(own_levels(number(w["price"]), self.level))
        if L is not None:
            self.g[self.places] = level_prices(L.diagonal(), own)
        if N is not None:
            self.h[self.places] = norm_prices(N)

    def free_diagonal(self, c):
        """Choose the diagonal of L for the features that are not kept."""
        self.c, self.rest = c, np.nextafter(self.diagonal - c, np.inf)
        self.g[self.aside] = level_prices(c, self.level)

    def lower_price(self, out):
        """Let the diagonal of M for features put out grow to the largest eigenvalue of the rest."""
        chosen = np.isin(self.aside, out)
        if chosen.any():
            top = max([*self.rest[~chosen], *np.linalg.eigvalsh(self.M)[-1:]], default=-math.inf)
            self.free_diagonal(np.where(chosen, np.minimum(self.c, self.diagonal - top), self.c))

    def top(self, without=None):
        """Return an upper bound on the largest eigenvalue of M, perhaps without one feature."""
        stay, alone = self.places != without, self.rest[self.aside != without].tolist()
        tops = [largest_eigenvalue(self.M[np.ix_(stay, stay)])] if stay.any() else []
        return above(max([*tops, *alone]), self.rounding)

    def paid(self, k, out=None):
        """Return the most that k features pay, those known among them, and one of `out` if given."""
        total = [(k - 1) * self.fixed * (1 + 4 * U)]
        for times, price in ((k, self.g), (1, self.h)):
            free, count, first = np.setdiff1d(np.arange(len(price)), self.known), k - len(self.known), 0.0
            if out is not None:
                dearest = out[np.argmax(price[out])]
                free, count, first = free[free != dearest], count - 1, price[dearest]
            total.append(above(times * above(*price[self.known], first, most(price[free], count))))
        return above(*total)


def level_prices(c, m):
    """Return the prices g of rows with the diagonal c and the largest other entry m."""
    steep = m > 2 * c
    return np.where(steep, m * m / (4 * np.where(steep, m - c, 1.0)) * (1 + 16 * U), c)


def norm_prices(N):
    """Return the prices h of the rows of N; for negative c without cancellation."""
    c = N.diagonal()
    off = N - np.diag(c)
    q = (off**2).sum(axis=1) * (1 + gamma(len(N) + 4))
    root = np.sqrt(c * c + q)
    return np.where(c < 0, q / (2 * np.where(c < 0, root - c, 1.0)), (c + root) / 2) * (1 + 16 * U)


def point_of(w, S, inside, alive=None, n=None):
    """Return the point of a dual witness; within a tree only features alive, of n, count, and S is their part."""
    number_of, n = (np.arange(S.n), S.n) if alive is None else (alive, n)
    known = features(w["inside"], n)
    if not np.isin(known, number_of).all() or not np.isin(np.searchsorted(number_of, known), inside).all():
        raise RejectedError("A witness takes features for granted that need not be in a support.")
    known = np.searchsorted(number_of, known)
    kept = None if w["kept"] is None else features(w["kept"], n)
    side = S.n if kept is None else len(kept)
    L, N = (None if w[part] is None else floats(w[part], (side, side)) for part in ("levels", "norms"))
    if kept is None:
        refuse(alive is not None, "A point of a tree must say which features it keeps.")
        return Point(w, S, known, L, N)
    if L is None or any(w[part] is not None for part in ("multiplier", "factor", "directions")) or w["shift"] != 0:
        raise RejectedError("A witness with features kept has levels, perhaps norms, and nothing else.")
    stays = np.flatnonzero(np.isin(kept, number_of))
    cut = np.ix_(stays, stays)
    places = np.searchsorted(number_of, kept[stays])
    most = np.abs(w["most"]) if "most" in w else np.abs(L - np.diag(L.diagonal())).max(axis=1)
    return Point(w, S, known, L[cut], None if N is None else N[cut], places, most[stays])


def by_dual(w, S, k, inside, depth):
    p = point_of(w, S, inside)
    if w["factor"] is None:
        if w["directions"] is not None:
            raise RejectedError("A witness has directions but no factor.")
        return above(p.top(), p.paid(k))
    A, shift = floats(w["factor"], (None, S.n)), number(w["shift"])
    W = floats(w["directions"], A.shape)
    away = distance(p.M + shift * np.eye(S.n), A) + 2 * U * abs(shift)
    return above(l0(A, W, number(w["rho"]), k), -shift, away, p.paid(k), p.rounding)


def distance(M, A):
    """Return an upper bound on the norm of M - A'A."""
    left = M - A.T @ A
    rounding = gamma(len(A) + 4) * float((A**2).sum()) + gamma(4) * float(np.abs(M).max()) * len(M)
    norm = min(float(np.sqrt((left**2).sum())), float(np.abs(left).sum(axis=1).max()))
    return (norm + rounding) * (1 + gamma(left.size + 16))


def l0(A, W, rho, k):
    """Return the l0 bound of a factor, directions and a penalty."""
    refuse(rho < 0, "A penalty is negative.")
    q = len(A)
    squares = (A**2).sum(axis=0) * (1 + gamma(q + 4))
    active = (squares > rho) & A.any(axis=0)
    A, W, squares = A[:, active], W[:, active], squares[active]
    if not active.any():
        return rho * k * (1 + 4 * U)
    W = W / np.maximum(np.abs(W).max(axis=0), 2.0**-400)
    product, lengths = (W * A).sum(axis=0), (W**2).sum(axis=0)
    sure = np.maximum(np.abs(product) - gamma(q + 4) * (np.abs(W) * np.abs(A)).sum(axis=0), 0.0)
    first = sure**2 * (1 - 8 * U) - (squares - rho) * lengths * (1 + gamma(q + 12))
    # The same number, without squares that nearly cancel: rho |w|^2 - |a|^2 |w - ta|^2 for any t is not above it.
    t = product / squares
    rest = np.sqrt(((W - t * A) ** 2).sum(axis=0)) * (1 + gamma(q + 8)) + 4 * U * np.abs(t) * np.sqrt(squares)
    second = rho * lengths * (1 - gamma(q + 12)) - squares * rest**2 * (1 + 16 * U)
    d = np.maximum(first, second)
    c = rho * (squares - rho) / np.where(d > 0, d, 1.0) * (1 + 16 * U)
    # With a penalty near zero, d is only rounding.
    plain = ~((d > 0) & (c * lengths < 1e6 * squares) & (rho > 1e-15 * squares))
    W, c = np.where(plain, A, W), np.where(plain, 1.0 - rho / squares + 4 * U, c)
    B = W * np.sqrt(c)
    Y = B @ B.T if len(B) <= B.shape[1] else B.T @ B
    rounding = gamma(max(B.shape) + 16) * float((B**2).sum()) * 1.01
    return above(max(largest_eigenvalue(0.5 * (Y + Y.T)), 0.0), rounding, rho * k * (1 + 4 * U))


def by_proposition_2(w, S, k, inside, depth):
    chosen, rho = features(w["features"], S.n), number(w["rho"])
    z = floats(w["weights"], (len(chosen),))
    A, away, d = S.factor, 0.0, 0.0
    if A is None or len(A) >= S.n:
        values, vectors = np.linalg.eigh(S.S)
        d = max(-float(values[0]), 0.0)
        A = np.sqrt(np.maximum(values + d, 0.0))[:, None] * vectors.T
        away = distance(S.S + d * np.eye(S.n), A) + 2 * U * d
    u = A[:, chosen] @ z
    p = u @ A
    W = np.where(p * p > rho, p * A - rho * u[:, None], A - np.outer(u, p))
    return above(l0(A, W, rho, k), -d, away)


def by_tree(w, S, k, inside, depth):
    nodes, pending, best = nodes_of(w), [(np.arange(S.n), inside)], -math.inf
    while pending:
        (alive, members), (rounds, end) = pending.pop(), next(nodes, (None, None))
        if rounds is None:
            raise RejectedError("The tree ends before all cases are bounded.")
        for point, decisions in rounds:
            for out, into, price in decisions:
                if empty(alive, members, k):
                    break
                out, into = features(out, S.n), features(into, S.n)
                best = max(best, decided(point, out, into, price, S, k, alive, members))
                alive, members = np.setdiff1d(alive, out), np.union1d(members, np.intersect1d(into, alive))
        if end >= 0:
            if end not in alive or end in members:
                raise RejectedError("A node of the tree is not divided by an open feature.")
            pending += [(alive, np.union1d(members, [end])), (alive[alive != end], members)]
        elif end not in (-1, -2) or (end == -1 and not rounds):
            raise RejectedError("A node of the tree has no end.")
        elif empty(alive, members, k):
            continue
        elif end == -1:
            p = point_of(rounds[-1][0], S.part(alive), np.searchsorted(alive, members), alive, S.n)
            best = max(best, above(p.top(), p.paid(k)))
        else:
            best = max(best, by_listing(None, S.part(alive), k, np.searchsorted(alive, members), depth))
    if next(nodes, None) is not None:
        raise RejectedError("The tree has a node that belongs to no case.")
    return best


def nodes_of(w):
    """Yield the nodes of a tree: its rounds, which are a point and decisions, and its end."""
    lists, places = [w["cases"], w["numbers"], w["codes"]], [0, 0, 0]
    if [(x.ndim, str(x.dtype)) for x in lists] != [(1, "int64"), (1, "float64"), (1, "int8")]:
        raise RejectedError("A tree does not have its three lists.")

    def take(which, count):
        begin, places[which] = places[which], places[which] + count
        if not 0 <= count <= len(lists[which]) - begin:
            raise RejectedError("A tree is cut short.")
        return lists[which][begin : begin + count]

    def one():
        return int(take(0, 1)[0])

    def unpacked():
        kept, inside, width, count = take(0, one()), take(0, one()), one(), one()
        n, known, pairs = len(kept), np.isin(kept, inside), len(kept) * (len(kept) - 1) // 2
        price, norm_price, steps, floor = take(1, 4).tolist()
        own, m, v = take(1, 2 * known.sum()), take(1, n), take(1, n)
        codes = take(2, (1 + (width == 2)) * pairs).astype(float)
        D, h = np.zeros((n, n)), (m[:, None] + m) / 2
        D[np.triu_indices(n, 1)] = codes if width == 1 else 256 * codes[:pairs] + codes[pairs:]
        D = (D + D.T) / steps * np.maximum(h, floor)
        P = np.clip(D, -h, h)
        g, c = np.full(n, price), np.full(n, norm_price)
        g[known], c[known] = np.split(own, 2)
        L, N = P * m[:, None] / np.where(h > 0, h, 1.0), 2 * (D - P) * v[:, None]
        N /= np.where(v[:, None] + v > 0, v[:, None] + v, 1.0)
        q = (N**2).sum(axis=1)
        L[np.diag_indices(n)] = own_levels(g, m)
        N[np.diag_indices(n)] = own_norms(c, q)
        w = {"inside": inside, "kept": kept, "levels": L, "norms": N if (D != P).any() else None, "price": price}
        w |= {"multiplier": None, "factor": None, "directions": None, "shift": 0, "most": m, "squares": q}
        return w, [(take(0, one()), take(0, one()), take(1, 2)) for _ in range(count)]

    with np.errstate(all="ignore"):
        while places[0] < len(lists[0]):
            yield [unpacked() for _ in range(one())], one()
    if places != [len(x) for x in lists]:
        raise RejectedError("A tree has numbers that belong to no node.")


def own_levels(g, m):
    """Return the diagonal of rows of L that cost about g."""
    return np.where(g > 0, np.where(m <= 2 * g, g, m - m * m / (4 * np.where(g > 0, g, 1.0))), -m)


def own_norms(h, q):
    """Return the diagonal of rows of N that cost about h, given the squares of the rest of each row."""
    return np.where(h > 0, h - q / (4 * np.where(h > 0, h, 1.0)), -np.sqrt(q))


def empty(alive, members, k):
    return len(alive) < k or len(members) > k or not np.isin(members, alive).all()


def decided(w, out, into, price, S, k, alive, members):
    """Return an upper bound on the supports that a decision excludes."""
    known = np.searchsorted(alive, members)
    if len(np.intersect1d(out, into)):
        raise RejectedError("A decision puts a feature both out and in.")
    raised, levels = np.flatnonzero(np.isin(w["kept"], out)), w["levels"].copy()
    levels[raised, raised] = own_levels(price[0], w["most"][raised])
    norms = None if w["norms"] is None else w["norms"].copy()
    if norms is not None:
        norms[raised, raised] = own_norms(price[1], w["squares"][raised])
    p = point_of(w | {"levels": levels, "norms": norms}, S.part(alive), known, alive, S.n)
    p.known = known
    out, into = (np.flatnonzero(np.isin(alive, some)) for some in (out, into))
    p.lower_price(out)
    if np.isin(out, known).any():
        return above(p.top(), p.paid(k))
    best = -math.inf
    if len(out) and len(known) < k:
        best = above(p.top(), p.paid(k, out))
    for i in into if len(alive) > k else ():
        best = max(best, above(p.top(without=i), p.paid(k)))
    return best


class Group:
    """Components of a cover about which the same is known.

    There are `count`. Each has at most `size` nonzeros, on the features `alive`, and uses all features `inside`. A
    feature is paid at most `often` times, and all of them together at most `pairs` times.
    """

    def __init__(self, count, size, pairs, often, alive, inside):
        self.count, self.size, self.pairs, self.often = count, size, pairs, often
        self.alive, self.inside = frozenset(alive), frozenset(inside)

    def but(self, **changes):
        return Group(**{**vars(self), **changes})

    def holding(self, features):
        """Return the group of which every component uses some features too."""
        inside = self.inside | (features & self.alive)
        return self.but(inside=inside, alive=self.alive & inside if len(inside) >= self.size else self.alive)

    def room(self):
        return max(self.pairs - self.often * len(self.inside), 0)

    def pays(self, cost, fewer=0):
        """Return the most that the features of the group cost, given the cost of each."""
        inside = [cost[i] for i in self.inside for _ in range(self.often)]
        free = sorted((max(cost[i], 0.0) for i in self.alive - self.inside for _ in range(self.often)), reverse=True)
        return above(*inside, *free[: max(self.room() - fewer, 0)])


class Cover:
    """Components in groups. `question` is "common", "disjoint" or "orthogonal".

    `spanning` says that components with a common support may span less than r dimensions.
    """

    def __init__(self, S, question, groups, spanning=False):
        self.S, self.question, self.groups, self.spanning = S, question, tuple(groups), spanning

    def changed(self, changes):
        groups = [changes.get(g, group) for g, group in enumerate(self.groups)]
        return Cover(self.S, self.question, groups, self.spanning)

    def empty(self):
        """Say whether there are no such components: too few features, or too many that must be used."""
        for one in self.groups:
            least = one.count if one.often == 1 else 1
            if max(len(one.inside), 1) > one.size or not one.inside <= one.alive or len(one.alive) < least:
                return True
        return len(frozenset().union(*(one.alive for one in self.groups))) < sum(one.count for one in self.groups)

    def apart(self, g):
        """Take the features that the component of group g uses from all other groups, if supports are disjoint."""
        if self.question != "disjoint":
            return self
        used = self.groups[g].inside
        return self.changed({h: one.but(alive=one.alive - used) for h, one in enumerate(self.groups) if h != g})

    def divided(self, i, g):
        """Return the components of which none in group g uses feature i, and those of which one does."""
        refuse(not 0 <= g < len(self.groups), "A node is divided by a group that there is not.")
        one = self.groups[g]
        refuse(i not in one.alive or i in one.inside, "A node is divided by a feature that is not open.")
        without, within = self.changed({g: one.but(alive=one.alive - {i})}), {g: one.holding({i})}
        if one.count == 1 or self.question == "common":
            return without, self.changed(within).apart(g)
        left, k = one.count - 1, one.size
        # The single component takes a nonzero of the total, and each of the others has one at least.
        pairs = min(left * k, one.pairs - 1)
        single = one.but(count=1, pairs=k, often=1).holding({i})
        others = one.but(count=left, size=min(k, pairs - left + 1), pairs=pairs)
        others = others.but(often=left if self.question == "orthogonal" else 1)
        groups = [single if h == g else other for h, other in enumerate(self.groups)]
        return without, Cover(self.S, self.question, [*groups, others]).apart(g)

    def norm(self):
        """Return the norm of the sum of all uu': one, and slightly more if components are orthogonal up to rounding."""
        count = sum(one.count for one in self.groups)
        return (1.0 + count * ORTHONORMAL) * (1 + 4 * U) if self.question == "orthogonal" else 1.0

    def parts(self, p, share):
        """Return the terms of the bound by a point that are no costs of features, and these costs in each group."""
        F = p["F"] if self.question == "orthogonal" else p["F"][:, :0]
        e = np.maximum(p["e"], 0.0) if self.question == "disjoint" else np.zeros(self.S.n)
        alive = sorted(frozenset().union(*(one.alive for one in self.groups)))
        terms = [self.norm() * sum_of_squares(F[alive]), *e[alive].tolist()]
        costs = []
        for one, part in zip(self.groups, p["groups"], strict=True):
            A = np.array(sorted(one.alive))
            T, G, K = part["T"][np.ix_(A, A)], part["G"][A], part["K"][A]
            m, w, a, b, d = part["vectors"][:, A]
            d = np.maximum(d, 0.0) * share
            P = np.clip(T, -(m[:, None] + m) / 2, (m[:, None] + m) / 2)
            L, N = P * parted(m), (T - P) * parted(w)
            L[np.diag_indices(len(A))], N[np.diag_indices(len(A))] = a, b
            H = np.hstack([G, F[A], K])
            M = self.S.S[np.ix_(A, A)]
            sizes = sum(np.abs(part) for part in (M, L, L.T, N, N.T, np.diag(d))) + np.abs(H) @ np.abs(H.T)
            M = M - (L + L.T) / 2 - (N + N.T) / 2 - np.diag(d) - H @ H.T
            rounding = gamma(H.shape[1] + 12) * float(sizes.sum(axis=1).max()) * (1 + gamma(len(A) + H.shape[1] + 8))
            top = above(largest_eigenvalue(0.5 * (M + M.T)), rounding)
            top = max(top, 0.0) if self.spanning else top
            terms += [*[top] * one.count, self.norm() * sum_of_squares(K)]
            largest = np.abs(L - np.diag(a)).max(axis=1)
            squares = (G**2).sum(axis=1) * (1 + gamma(G.shape[1] + 4))
            cost = one.size * level_prices(a, largest) + norm_prices(N) + squares + d
            costs.append(dict(zip(A.tolist(), np.nextafter(cost * (1 + 16 * U) - e[A], np.inf).tolist(), strict=True)))
        return terms, costs

    def bound(self, p):
        """Return an upper bound on the value of the components by a point."""
        if self.empty():
            return -math.inf
        terms, costs = self.parts(p, 1.0)
        return above(*terms, *(one.pays(cost) for one, cost in zip(self.groups, costs, strict=True)))

    def excluded(self, p, g, share, out, into):
        """Bound the components that a decision excludes: group g uses one of `out`, or not all of `into`."""
        refuse(not (0 <= g < len(self.groups) and 0 <= share <= 1), "A decision is about no group, or has no share.")
        terms, costs = self.parts(p, share)
        one, best = self.groups[g], -math.inf
        paid = [group.pays(cost) for group, cost in zip(self.groups, costs, strict=True)]
        if out & one.inside:
            return above(*terms, *paid)
        if out & one.alive and one.room():
            paid[g] = above(max(costs[g][i] for i in out & one.alive), one.pays(costs[g], fewer=1))
            best = above(*terms, *paid)
        into = (into & one.alive) - one.inside
        refuse(into and one.count > 1 and self.question != "common", "A decision puts a feature into one of several.")
        return max([best, *(self.changed({g: one.but(alive=one.alive - {i})}).bound(p) for i in into)])

    def after(self, g, out, into):
        """Return the components that a decision leaves."""
        one = self.groups[g]
        return self.changed({g: one.but(alive=one.alive - out).holding(into)}).apart(g)


def sum_of_squares(F):
    return float((F**2).sum()) * (1 + gamma(F.size + 4))


def parted(m):
    """Return 2 m_i / (m_i + m_j), which divides an entry of a symmetric matrix between two rows."""
    both = m[:, None] + m
    return np.where(both > 0, 2 * m[:, None] / np.where(both > 0, both, 1.0), 1.0)


def ways(total, limits):
    """Yield the falling numbers of nonzeros, each within its limit, that add up to a total; the largest ones first."""

    def divide(left, limits, largest):
        if not limits:
            yield ()
        for k in range(min(largest, limits[0], left - len(limits) + 1) if limits else 0, 0, -1):
            if left - k > sum(min(k, limit) for limit in limits[1:]):
                break
            for others in divide(left - k, limits[1:], k):
                yield (k, *others)

    limits = sorted(limits, reverse=True)
    yield from divide(min(total, sum(limits)), limits, limits[0])


def groups_of(sizes, total, question, alive, inside):
    """Return the groups of components of these sizes. Those of one size are alike."""
    r, n = len(sizes), len(alive)
    if question == "common":
        k = min(max(sizes), n)
        return [Group(r, k, k, 1, alive, inside)]
    often = r if question == "orthogonal" else 1
    if total is not None and len(set(sizes)) == 1:
        k = min(sizes[0], total - r + 1, n)
        return [Group(r, k, min(total, r * k), often, alive, inside)]
    cut = [min(k, n) for k in sizes]
    groups = [(k, cut.count(k)) for k in sorted(set(cut), reverse=True)]
    return [Group(r, k, r * k, r if question == "orthogonal" else 1, alive, inside) for k, r in groups]


def by_cover(w, S, sizes, inside, question, total=None, spanning=False):
    """Return an upper bound on the value of components of these sizes, by a tree of cases."""
    everything, inside = range(S.n), frozenset(inside.tolist())
    first = Cover(S, question, groups_of(sizes, total, question, everything, inside), spanning)
    places, lists = [0, 0], [w["cases"], w["numbers"]]
    fits = [(x.ndim, str(x.dtype)) for x in lists] == [(1, "int64"), (1, "float32")] and np.isfinite(lists[1]).all()
    refuse(not fits, "A cover does not have its two lists.")

    def take(which, count):
        begin, places[which] = places[which], places[which] + count
        refuse(not 0 <= count <= len(lists[which]) - begin, "A cover is cut short.")
        return lists[which][begin : begin + count]

    def one():
        return int(take(0, 1)[0])

    def length():
        count = one()
        refuse(not 0 <= count <= sum(map(len, lists)), "A length in a cover is wrong.")
        return count

    def some():
        return frozenset(features(take(0, length()), S.n).tolist())

    def table(rows, columns):
        """Return an array of all features, of which only some rows are there."""
        array = np.zeros((S.n, columns))
        array[rows] = take(1, len(rows) * columns).astype(float).reshape(len(rows), columns)
        return array

    def point(case):
        groups = []
        for group in case.groups:
            A, columns, full = sorted(group.alive), length(), length()
            T, vectors = np.zeros((S.n, S.n)), np.zeros((5, S.n))
            refuse(full > 1, "A point of a cover is there or not.")
            if full:
                i, j = np.triu_indices(len(A), 1)
                i, j = np.array(A, dtype=np.intp)[i], np.array(A, dtype=np.intp)[j]
                T[i, j] = T[j, i] = take(1, len(i))
                vectors[:, A] = take(1, 5 * len(A)).reshape(5, len(A))
                refuse((vectors[:2] < 0).any(), "A level or a weight of a cover is negative.")
            G = table(A, columns)
            groups.append({"T": T, "vectors": vectors, "G": G, "K": table(A, group.count if group.count > 1 else 0)})
        A = sorted(frozenset().union(*(group.alive for group in case.groups)))
        F = table(A, length())
        e = table(A, 1)[:, 0] if question == "disjoint" else np.zeros(S.n)
        return {"groups": groups, "F": F, "e": e}

    best, pending = -math.inf, [first]
    while pending:
        case, p = pending.pop(), None
        for _ in range(length()):
            p = point(case)
            # In the file, the group stands before both lists of features.
            for g, share, out, into in [(one(), float(take(1, 1)[0]), some(), some()) for _ in range(length())]:
                if not case.empty():
                    best = max(best, case.excluded(p, g, share, out, into))
                    case = case.after(g, out, into)
        end = one()
        if end >= 0:
            pending += case.divided(end, one())[::-1]
        elif end == -3:
            refuse(case is not first or total is None or question == "common", "A cover divides what is no total.")
            divisible = min(total, S.n) if question == "disjoint" else total
            divisions = list(itertools.islice(ways(divisible, sizes), MOST_WAYS + 1))
            refuse(len(divisions) > MOST_WAYS, "There are too many ways to divide a total.")
            pending += [Cover(S, question, groups_of(k, None, question, everything, inside)) for k in divisions[::-1]]
        elif end == -1 and p is not None:
            best = max(best, case.bound(p))
        else:
            refuse(end != -2 or not case.empty(), "A case of a cover has no end.")
    refuse(places != [len(x) for x in lists], "A cover has numbers that belong to no case.")
    return best


NONE = np.empty(0, dtype=np.intp)
BOUNDS = {
    "TraceWitness": lambda _w, S, k, *_: above(most(S.variances, k), S.lack(k, k - 1)),
    "RowSumWitness": lambda _w, S, k, *_: float(circles(S, k - 1).max()),
    "ExhaustiveWitness": by_listing,
    "DualWitness": by_dual,
    "Proposition2Witness": by_proposition_2,
    "ThresholdWitness": by_threshold,
    "TreeWitness": by_tree,
    "StepsWitness": by_steps,
    "CoverWitness": lambda w, S, k, inside, _depth: by_cover(w, S, [k], inside, "common"),
}


def lower_of(S, support, z):
    """Return a lower bound on z'Sz / z'z."""
    B = S.part(support).S
    error = gamma(2 * len(z) + 8) * float(np.abs(z) @ np.abs(B) @ np.abs(z))
    least, square = float(z @ B @ z) - 1.01 * error, math.fsum(z * z)
    least -= S.rounding(len(z)) * square * 1.01 if S.loose else 0.0
    return math.nextafter(least / (square * (1 + 4 * U if least > 0 else 1 - 4 * U)), -math.inf)


def joint_lower(S, support, Z):
    """Return a lower bound on Tr(PS), P the projection on the span of the rows of Z.

    With R invertible and Y = Z'R nearly orthonormal, Tr(PS) = Tr((Y'Y)^-1 Y'SY).
    """
    r, B = len(Z), S.S[np.ix_(support, support)]
    try:
        R = np.linalg.inv(np.linalg.qr(Z.T, mode="r"))
    except np.linalg.LinAlgError:
        raise RejectedError("The components are dependent.") from None
    Y, norm = Z.T @ R, np.linalg.norm
    moved = gamma(r + 4) * float(norm(np.abs(Z.T) @ np.abs(R))) * 1.01
    length = float(norm(Y)) * 1.01
    e = float(norm(Y.T @ Y - np.eye(r))) + gamma(len(B) + 8) * length**2 + 2 * length * moved + moved**2
    refuse(not e < 0.5, "The components are dependent.")
    size = float(norm(B)) * 1.01
    loss = size * (2 * length * moved + moved**2) + gamma(3 * len(B) + r + 16) * length**2 * float(norm(np.abs(B)))
    return float((Y * (B @ Y)).sum()) - 1.01 * (loss + e / (1 - e) * r * size * length**2)


def joint_upper(w, S, sizes, joint, total, inside):
    """Return an upper bound on the value of several components of these cardinalities."""
    r, K = len(sizes), min(max(sizes) if joint == "common" else sum(sizes), S.n)
    K = K if total is None else min(K, total)
    loose = S.rounding(K) if S.loose else 0.0
    if w["type"] == "CoverWitness":
        if joint == "span":
            # The components span at most n dimensions, and perhaps none that hold more than zero.
            return above(max(by_cover(w, S, [sum(sizes)] * min(r, S.n), NONE, "common", spanning=True), 0.0), loose)
        return above(by_cover(w, S, sizes, inside, joint, total), loose)
    t = number(w["threshold"])
    values = [above(most(S.variances, K), S.lack(K, K))]
    if w["factor"] is not None:
        part, added = S, 0.0
        refuse(t < 0 or (t and (w["kept"] is not None or w["by_rows"])), "A threshold is negative, or of a part of S.")
        if w["kept"] is not None:
            kept = features(w["kept"], S.n)
            part, added = S.part(kept), above(most(np.delete(S.variances, kept), K), S.lack(K, K))
        if flag(w["by_rows"]):
            refuse(part.factor is None, "The factor of the matrix is not known.", NotCoveredError)
            part = Matrix(part.factor @ part.factor.T)
        F = floats(w["factor"], (part.n, None))
        kept_from = np.clip(part.S, -t, t) * (1 - np.eye(part.n))
        left = part.S - kept_from - F @ F.T
        rounding = gamma(F.shape[1] + 8) * (float((F**2).sum()) + float(np.abs(part.S).sum(axis=1).max())) * 1.01
        top = above(max(largest_eigenvalue(0.5 * (left + left.T)), 0.0), rounding)
        # The sum of |X_ij| off the diagonal, X the sum of all uu'.
        cost = (sum(sizes) if total is None else min(total, sum(sizes))) - r
        if joint in ("common", "span"):
            cost = math.sqrt(max(q * (K - 1) * max(K - q, 0) for q in range(1, r + 1))) * (1 + 4 * U)
        added = above(added, cost * t * (1 + 4 * U))
        values.append(above(r * top * (1 + 4 * U), float((F**2).sum()) * (1 + gamma(F.size + 4)), added))
    value = above(min(values), loose)
    # Components that are orthogonal up to rounding have a sum of uu' that is slightly larger.
    return max(value, value * (1 + r * ORTHONORMAL) * (1 + 4 * U)) if joint == "orthogonal" else value


def check(path, table, *, weights=None, names=None):
    """Check a certificate; return what was found, or raise one of the three errors."""
    c = read_certificate(path)
    try:
        return judged(c, table, weights, names)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, np.linalg.LinAlgError) as error:
        raise RejectedError(f"The certificate makes no sense: {error}") from None


def judged(c, table, weights, names):
    n, sizes = c["n_features"], c["cardinalities"]
    support, forced = features(c["support"], n), features(c["forced"], n)
    allowed = np.arange(n) if c["allowed"] is None else features(c["allowed"], n)
    lower, upper, margin = number(c["lower"]), number(c["upper"]), number(c["margin"])
    refuse(lower > upper or margin < 0, "The lower bound is above the upper bound, or the margin is negative.")
    texts = isinstance(c["versions"], dict) and all(isinstance(text, str) for text in c["versions"].values())
    refuse(not texts, "The versions are not texts.")
    refuse(sizes.ndim != 1 or sizes.dtype != int or not len(sizes), "There is not one cardinality for each component.")
    loadings = floats(c["loadings"], (len(sizes), len(support)))
    r, joint, total = len(sizes), c["joint"], c["total"]
    refuse((r == 1) != (joint is None), "One component has a question, or several have none.")
    refuse(joint not in (None, "common", "disjoint", "orthogonal", "span"), f"There is no question named {joint!r}.")
    used = loadings != 0
    if joint in (None, "common"):
        used = np.ones_like(used)  # the support is that of all
    elif joint == "orthogonal":
        used = used | np.isin(support, forced)
    refuse(joint == "disjoint" and (used.sum(axis=0).max() > 1 or len(forced)), "Disjoint components share a feature.")
    refuse(joint == "common" and len(set(sizes.tolist())) > 1, "A common support has several sizes.")
    if total is not None:
        refuse(joint not in ("disjoint", "orthogonal") or type(total) is not int, f"There is a total of {total!r}.")
        refuse(used.sum() > total, "The components have more nonzeros than the total.")
    if joint in ("common", "orthogonal"):
        off = float(np.abs(loadings @ loadings.T - np.eye(r)).max()) + gamma(len(support) + 4)
        refuse(not off <= ORTHONORMAL, "The components are not orthonormal.")
    used = used.sum(axis=1)
    fits = ((used >= 1) & (used <= sizes) & (sizes <= len(allowed))).all()
    refuse(not fits, "A component has more features than its cardinality, or there are fewer allowed.")
    refuse(not np.isin(support, allowed).all(), "The support has features that are not allowed.")
    refuse(not np.isin(forced, support).all(), "The support lacks features that are forced in.")
    refuse(not (np.abs((loadings**2).sum(axis=1) - 1) <= 1e-6).all(), "The loadings are not of unit length.")
    if (c["deflation"] is None) != (c["earlier"] is None):
        raise RejectedError("There is a deflation without components, or the other way round.")
    refuse(c["feature_names"] is not None and len(c["feature_names"]) != n, "There is not one name for each feature.")
    S = matrix_of(c, by_name(table, names, c["feature_names"], c["recipe"]["given"] == "covariance"), weights)
    if c["deflation"] is not None:
        earlier = floats(c["earlier"], (None, n))
        if not (np.abs((earlier**2).sum(axis=1) - 1) <= 1e-6).all():
            raise RejectedError("The components taken out are not of unit length.")
        S = deflated(S, c["deflation"], earlier)
    if joint in (None, "disjoint", "orthogonal"):
        own = [np.arange(len(support))] if joint is None else [np.flatnonzero(z) for z in loadings]
        found = -above(*(-lower_of(S, support[places], z[places]) for places, z in zip(own, loadings, strict=True)))
    else:
        found = joint_lower(S, support, loadings)
    refuse(not found >= lower, f"The lower bound is not proved: {lower!r} is claimed, and the loadings give {found!r}.")
    part = S if c["allowed"] is None else S.part(allowed)
    inside = np.flatnonzero(np.isin(allowed, forced))
    if r > 1 and c["witness"]["type"] in ("JointWitness", "CoverWitness"):
        proved = joint_upper(c["witness"], part, sizes.tolist(), joint, total, inside)
    elif r == 1 and c["witness"]["type"] != "JointWitness":
        proved = bound(c["witness"], part, int(sizes[0]), inside)
    else:
        raise RejectedError("The witness and the certificate are about different numbers of components.")
    if c["kind"] not in [*names_of(c["witness"]), "branch and bound"]:
        raise RejectedError(f"The bound is named {c['kind']!r}, and its witness is of another kind.")
    if not proved <= upper:
        raise RejectedError(f"The upper bound is not proved: {upper!r} is claimed, and the witness gives {proved!r}.")
    return [*sentences(c), f"Computed again: at least {found!r}, at most {proved!r}."]


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description="Check a certificate of sparse PCA with NumPy alone, apart from the package that made it.",
        epilog="Exit status: 0 accepted, 1 rejected, 2 a file cannot be read, 3 this program cannot check this kind.",
    )
    parser.add_argument("certificate", help="the certificate (.json)")
    parser.add_argument("data", help="rows or a covariance matrix: .csv with a header line, or .npy")
    parser.add_argument("--weights", metavar="FILE", help="the sample weights, one a line below a header, or .npy")
    options = parser.parse_args(arguments)
    try:
        table, names = read_table(options.data, read_certificate(options.certificate)["feature_names"])
        weights = None if options.weights is None else read_table(options.weights)[0].ravel()
        found = check(options.certificate, table, weights=weights, names=names)
    except RejectedError as error:
        print(f"Rejected. {error}")
        return 1
    except UnreadableError as error:
        print(f"Unreadable. {error}", file=sys.stderr)
        return 2
    except NotCoveredError as error:
        print(f"Cannot check this kind. {error}", file=sys.stderr)
        return 3
    print("\n".join(["Accepted.", *found]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
