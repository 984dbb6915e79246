"""The covariance of rows with missing values: by pairwise deletion, or by EM."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.core.caller import warn
from laconic.core.monitor import Monitor, Stop
from laconic.core.threads import threads_for
from laconic.core.thresholds import WRITE_OUT_LIMIT
from laconic.covariance.dense import DenseCovariance
from laconic.covariance.em import MOST_ITERATIONS, RIDGE, Estimate, SingularError, expectation_maximization
from laconic.covariance.indefinite import is_semidefinite, resolve_indefinite, resolved_again
from laconic.covariance.pairwise import check_pairwise_memory, pairwise_matrix
from laconic.covariance.screening import Screening
from laconic.covariance.standardization import Standardization
from laconic.data.checks import check_magnitude
from laconic.data.passes import ExpectationPart, ExpectationPass, PairwisePart, PairwisePass, PresentPass, dense_parts
from laconic.data.rows import ArraySource, Source

Missing: TypeAlias = Literal["error", "pairwise", "em"]
WAYS = ("error", "pairwise", "em")
# EM reads all rows in each step. Rows of at most this many numbers are read into memory for it: 400 MB.
SMALL_NUMBERS = 50_000_000


def check_missing(missing: str) -> None:
    """Raise a ValueError if there is no such way to deal with missing values."""
    if missing not in WAYS:
        raise ValueError(f"missing={missing!r} must be 'error', 'pairwise' or 'em'.")


@dataclass(frozen=True, eq=False)
class MissingValues:
    """The missing values of a fit, and what was done about them.

    Attributes
    ----------
    way
        "pairwise" or "em".
    counts
        The number of missing values in each column.
    iterations
        The number of steps of EM.
    converged
        Whether another step of EM would have changed nothing that matters.
    ridge
        The share of rows by which EM shrank correlations towards zero, because there is no maximum of the likelihood;
        0 if there is one.
    """

    way: str
    counts: Indices
    iterations: int = 0
    converged: bool = True
    ridge: float = 0.0


@dataclass(frozen=True, eq=False)
class MatrixOfPresent:
    """The matrix that was made from the values that are there, and how."""

    matrix: Floats
    standardization: Standardization
    missing: MissingValues

    def covariance(self, indefinite: str, *, name: str = "X") -> tuple[DenseCovariance, str]:
        """Return the covariance, and "nearest" if the matrix was replaced, otherwise "accept".

        `indefinite` says what to do about a matrix that is not semidefinite; see `laconic.covariance.indefinite`.
        """
        label = f"The matrix of pairwise deletion of {name}"
        used, semidefinite = resolve_indefinite(self._varying, indefinite, name=label)
        replaced = semidefinite and not np.array_equal(used, self._varying)
        return DenseCovariance(self._whole(used), semidefinite=semidefinite), "nearest" if replaced else "accept"

    def covariance_again(self, indefinite: str) -> DenseCovariance:
        """Return the covariance without a word, for a proof that is checked again."""
        used = resolved_again(self._varying, indefinite)
        return DenseCovariance(self._whole(used), semidefinite=is_semidefinite(used))

    @property
    def _places(self) -> Any:
        varying = np.flatnonzero(~self.standardization.constant)
        return np.ix_(varying, varying)

    @property
    def _varying(self) -> Floats:
        """The part of the matrix that belongs to features that vary."""
        return np.asarray(self.matrix[self._places])

    def _whole(self, varying: Floats) -> Floats:
        matrix = np.zeros_like(self.matrix)
        matrix[self._places] = varying
        return matrix


@dataclass(eq=False)
class PresentValues:
    """Rows with missing values, read in passes. Rows in memory are read as a source, too."""

    source: Source
    center: bool = True
    scale: bool = False
    weights: Floats | None = None
    monitor: Monitor = field(default_factory=Monitor)

    @classmethod
    def of(cls, data: Any, feature_names: Sequence[str] | None = None, **settings: Any) -> "PresentValues":
        """Return the values of rows in memory that were checked, or of a source."""
        names = None if feature_names is None else [str(name) for name in feature_names]
        return cls(data if isinstance(data, Source) else ArraySource(data, feature_names=names), **settings)

    @cached_property
    def passes(self) -> Screening:
        """The passes over the rows."""
        return Screening(self.source, monitor=self.monitor)

    @cached_property
    def present(self) -> Any:
        """The result of the first pass: counts, means and digests."""
        names = self.source.feature_names
        return self.passes.run(PresentPass(None if names is None else tuple(names), self.source.name), "means")

    @property
    def digest(self) -> str:
        """The digest of the data."""
        return str(self.present.column_digests.hexdigest())

    @property
    def complete(self) -> bool:
        """Whether no value is missing."""
        return not self.present.missing.any()

    def matrix(self, way: str, iterations: int | None = None, ridge: float | None = None) -> MatrixOfPresent:
        """Return the matrix that is made in this way; the last two arguments are those of `em`."""
        if way not in WAYS[1:]:
            raise ValueError(f"There is no way {way!r} to make a matrix of rows with missing values.")
        return self.pairwise() if way == "pairwise" else self.em(iterations, ridge)

    def pairwise(self) -> MatrixOfPresent:
        """Return the matrix of pairwise deletion; it may be indefinite."""
        part, centers = self._pairs()
        matrix, standardization = pairwise_matrix(part, centers, center=self.center, scale=self.scale, **self._words)
        return MatrixOfPresent(matrix, standardization, MissingValues("pairwise", self.present.missing))

    @property
    def _words(self) -> dict[str, Any]:
        return {"name": self.source.name, "feature_names": self.source.feature_names}

    def _pairs(self) -> tuple[PairwisePart, Floats]:
        """Return the sums over all pairs of columns, and the centers that they are about."""
        n = self.source.n_features
        if n > WRITE_OUT_LIMIT:
            raise ValueError(
                f"Missing values need sums over all pairs of columns, for at most {WRITE_OUT_LIMIT:,} columns, and "
                f"{self.source.name} has {n:,}; leave columns out, or fill the missing values first."
            )
        check_pairwise_memory(n)
        first = self.present
        centers = first.means if self.center else np.zeros(n)
        with threads_for(n):
            part = self.passes.run(PairwisePass(np.arange(n), centers, self.weights), f"products of {n:,} columns")
        if not part.column_digests.agrees_with(first.column_digests):
            raise ValueError(
                f"{self.source.name} has changed between two passes: the same columns gave other numbers; run again "
                "when nothing writes to it."
            )
        return part, centers

    def em(self, iterations: int | None = None, ridge: float | None = None) -> MatrixOfPresent:
        """Return the maximum-likelihood covariance, or one with a ridge if the likelihood has no maximum.

        The ridge and the number of steps may be given, to make a matrix again.
        """
        if iterations is not None and not 1 <= iterations <= MOST_ITERATIONS:
            raise ValueError(f"EM makes from 1 to {MOST_ITERATIONS} steps, not {iterations}.")
        if ridge not in (None, 0.0, RIDGE):
            raise ValueError(f"EM has a ridge of 0 or {RIDGE}, not {ridge}.")
        part, centers = self._pairs()
        matrix, pairwise = pairwise_matrix(part, centers, center=self.center, scale=True, **self._words)
        columns = np.flatnonzero(~pairwise.constant)
        estimate, scales, used = None, pairwise.scales[columns], 0.0
        if len(columns):
            rows = self._for_many_passes()
            estimate, used = self._estimate(rows, columns, pairwise.means[columns], scales, iterations, ridge)
        missing = MissingValues("em", self.present.missing)
        means, all_scales = pairwise.means.copy(), np.ones(len(matrix))
        matrix = np.zeros_like(matrix)
        if estimate is not None:
            missing = MissingValues("em", missing.counts, estimate.iterations, estimate.converged, used)
            means[columns] += estimate.mean / scales
            own = estimate.covariance
            sizes = np.sqrt(own.diagonal())
            if self.scale:
                all_scales[columns] = scales / sizes
                own = own / np.multiply.outer(sizes, sizes)
                np.fill_diagonal(own, 1.0)
            else:
                own = own * (estimate.weight / estimate.divisor) / np.multiply.outer(scales, scales)
                check_magnitude(float(own.diagonal().max()), name=self.source.name)
            matrix[np.ix_(columns, columns)] = own
        return MatrixOfPresent(matrix, Standardization(means, all_scales, pairwise.constant), missing)

    def _for_many_passes(self) -> Source:
        """Return the rows in memory, dense, if they fit easily."""
        numbers = self.present.n_rows * self.source.n_features
        if numbers > SMALL_NUMBERS or (self.source.in_memory() is not None and not self.source.sparse):
            return self.source
        blocks = [part for block in self.source.blocks() for _, part in dense_parts(block.rows)]
        return ArraySource(np.concatenate(blocks), self.source.name, self.source.feature_names)

    def _estimate(
        self,
        rows: Source,
        columns: Indices,
        centers: Floats,
        scales: Floats,
        iterations: int | None,
        ridge: float | None,
    ) -> tuple[Estimate, float]:
        """Return the estimate for standardised columns, and the ridge."""
        passes = Screening(rows, monitor=self.monitor)
        done: list[Any] = []

        def expectation(mean: Floats, precision: Floats) -> ExpectationPart | None:
            job = ExpectationPass(columns, centers, scales, mean, precision, self.weights)
            try:
                done.append(passes.run(job, f"EM, step {len(done) + 1}"))
            except (TimeoutError, KeyboardInterrupt):
                if not done:
                    raise
                return None
            return done[-1]  # type: ignore[no-any-return]

        def estimate(share: float) -> Estimate:
            found = expectation_maximization(
                expectation, len(columns), center=self.center, ridge=share, iterations=iterations
            )
            assert found is not None
            return found

        with threads_for(len(columns)):
            if ridge is not None:
                return estimate(ridge), ridge
            try:
                if self.present.n_rows <= len(columns):
                    raise SingularError
                return estimate(0.0), 0.0
            except SingularError:
                done.clear()
                return estimate(RIDGE), RIDGE

    def warn_of(self, missing: MissingValues) -> None:
        """Say in a sentence each if EM used a ridge, or did not converge."""
        if missing.way != "em":
            return
        if missing.ridge:
            warn(
                f"{self.source.name} has no maximum-likelihood covariance, because it has too few rows or columns that "
                "depend on each other; EM shrinks the correlations towards zero, as if a tenth more rows with "
                "uncorrelated columns had been seen (missing='pairwise' does not)."
            )
        if not missing.converged:
            stop = self.monitor.stopped
            why = {None: "", Stop.TIME_LIMIT: " at the time limit", Stop.INTERRUPTED: " by Ctrl-C"}[stop]
            warn(
                f"EM was stopped{why} after {missing.iterations} steps, before it converged; the covariance is that of "
                f"the last step{'' if stop else ' (missing=' + repr('pairwise') + ' needs no steps)'}."
            )
