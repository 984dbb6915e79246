"""Progress, Ctrl-C and errors of readings that the library does quietly: for scores, and for `verify`."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from laconic.cli.models import labelled
from laconic.core.arrays import Floats, Indices
from laconic.core.monitor import Monitor
from laconic.data.rows import Block, Job, Part, PassProgress, Source
from laconic.model.blocks_out import write_blocks, write_frames
from laconic.model.estimator import SparsePCA
from laconic.model.fitted import scores_in_blocks
from laconic.model.streaming import scores_of_blocks
from laconic.proof.certificate import Certificate
from laconic.proof.span_certificate import SpanCertificate
from laconic.proof.verification import Verification, verify
from laconic.report.tables import score_names


class WatchedSource(Source):
    """A source that shows how much of it is read, and keeps the error that stops a pass over it."""

    def __init__(self, source: Source, monitor: Monitor) -> None:
        self._source, self._monitor = source, monitor
        self.name, self.n_features, self.feature_names = source.name, source.n_features, source.feature_names
        self.n_rows, self.sparse = source.n_rows, source.sparse
        self.error: Exception | None = None

    def blocks(self, columns: Indices | None = None) -> Iterator[Block]:
        """Yield the blocks, for scores."""
        progress = PassProgress(f"scores of {self.name}", self._monitor)
        for block in self._source.blocks(columns):
            yield block
            progress.show(block.share)

    def reduce(self, job: Job[Part], progress: PassProgress | None = None) -> Part:
        """Do the work of one pass, for `verify`."""
        try:
            return self._source.reduce(job, replace(progress or PassProgress(), monitor=self._monitor))
        except (ValueError, TypeError, OSError) as error:
            self.error = error
            raise


def write_scores(model: SparsePCA, source: Source, place: Path) -> Path:
    """Write the scores of data that are read in blocks, with the column names that a small table's scores have.

    Rows that have labels keep them.
    """
    names = getattr(model, "feature_names_in_", None)
    with Monitor(progress=True) as monitor, monitor.watch():
        watched = WatchedSource(source, monitor)
        blocks = scores_of_blocks(watched, model.components_, model.mean_, model.scale_, names, missing=model.missing)
        if source.row_labels() is None:
            return write_blocks(blocks, place, score_names(model))
        return write_frames(labelled(model, source, blocks), place)
    raise KeyboardInterrupt(f"Interrupted before {place} was complete; the other files are.")


def watched_blocks(model: SparsePCA, source: Source) -> Iterator[Floats]:
    """Yield the scores of blocks of new rows, whose columns are found by name as the model says."""
    with Monitor(progress=True) as monitor, monitor.watch():
        yield from scores_in_blocks(model, WatchedSource(source, monitor))
        return
    raise KeyboardInterrupt("Interrupted before all scores were computed.")


def verify_blocks(certificate: Certificate | SpanCertificate, source: Source, *, explain: bool = False) -> Verification:
    """Check a certificate against data that are read in blocks. Data that cannot be read are an error, no verdict."""
    with Monitor(progress=True) as monitor:
        watched = WatchedSource(source, monitor)
        found = verify(certificate, watched, explain=explain)
    if watched.error is not None:
        raise watched.error
    return found
