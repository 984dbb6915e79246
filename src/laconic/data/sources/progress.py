"""Progress of a pass over a source, its time limit, and the checkpoint that a second run continues from."""

import hashlib
import io
import time
import zipfile
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from laconic.core.monitor import Monitor, Note, warn
from laconic.core.store import write_atomically
from laconic.core.words import duration_in_words

if TYPE_CHECKING:
    from laconic.data.sources.contract import Job, Source

# A checkpoint is written when this many seconds have passed since the last one: at most so much work is lost.
CHECKPOINT_SECONDS = 20.0
# The ending of the file that holds the result of a complete pass.
COMPLETE = "-complete.npz"


@dataclass
class PassProgress:
    """What happens between the blocks of a pass: the clock, Ctrl-C, progress on a terminal, and the checkpoint."""

    stage: str = "reading"  # in words, such as "pass 1 of 2: variances"
    monitor: Monitor = field(default_factory=Monitor)
    checkpoint: Path | None = None  # a folder, or None
    _begun: float = field(default_factory=time.monotonic)
    _share_at_begin: float = 0.0
    _written: float = field(default_factory=time.monotonic)

    def can_resume(self, source: "Source") -> bool:
        """Whether a second run can continue this pass."""
        return self.checkpoint is not None and source.fingerprint() is not None

    def resumed(self, source: "Source", job: "Job[Any]") -> tuple[Any, int]:
        """Return the part and the number of blocks of an earlier run that was stopped: None and 0 if there is none."""
        part, blocks = self._loaded(self._file(source, job), job)
        if blocks:
            warn(f"{source.name}: continued at {100 * self._share_at_begin:.0f} % ({self.stage}).", Note)
        return part, blocks

    def kept(self, source: "Source", job: "Job[Any]") -> Any:
        """Return the result of a pass that an earlier run completed, or None."""
        return self._loaded(self._file(source, job, COMPLETE), job)[0]

    def keep(self, source: "Source", job: "Job[Any]", part: Any) -> Path | None:
        """Keep the result of a pass for a later run, and return its file: a later pass may be interrupted."""
        file = self._file(source, job, COMPLETE)
        if file is not None:
            self._store(file, part, 0, 1.0)
        return file

    def _loaded(self, file: Path | None, job: "Job[Any]") -> tuple[Any, int]:
        if file is None or not file.is_file():
            return None, 0
        try:
            with file.open("rb") as content, np.load(content, allow_pickle=False) as stored:
                values = {name: stored[name] if stored[name].ndim else stored[name].item() for name in stored.files}
                blocks, self._share_at_begin = int(values.pop("blocks_read")), float(values.pop("share_read"))
                return job.part(**values), blocks
        except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile):
            warn(f"The checkpoint {file} cannot be read; the pass begins anew.")
            return None, 0

    def advance(self, source: "Source", job: "Job[Any]", part: Any, blocks: int, share: float) -> None:
        """Note that some blocks are done: show it, write a checkpoint if it is time, and stop if the user wants to."""
        now = time.monotonic()
        if self.checkpoint is not None and (now - self._written >= CHECKPOINT_SECONDS or self.monitor.is_over):
            file = self._file(source, job)
            if file is not None:
                self._store(file, part, blocks, share)
            self._written = now
        self.show(share)

    def show(self, share: float) -> None:
        """Show how much has been read and how long the rest takes; stop if the time is over or the user wants to."""
        done = share - self._share_at_begin
        left = (time.monotonic() - self._begun) * (1 - share) / done if done > 0 else 0.0
        rest = f", {duration_in_words(left)} left" if left else ""
        self.monitor.tick(f"{self.stage}: {100 * share:.0f} %{rest}")

    def finished(self, source: "Source", job: "Job[Any]") -> None:
        """Remove the checkpoint of a pass that is complete."""
        file = self._file(source, job)
        if file is not None:
            file.unlink(missing_ok=True)

    def _file(self, source: "Source", job: "Job[Any]", ending: str = ".npz") -> Path | None:
        identity = source.fingerprint()
        if self.checkpoint is None or identity is None:
            return None
        state = hashlib.sha256(f"{identity} {type(job).__name__}".encode())
        for entry in fields(job):  # type: ignore[arg-type] # jobs are dataclasses
            value = getattr(job, entry.name)
            state.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
        return self.checkpoint / f"{type(job).__name__.lower()}-{state.hexdigest()[:16]}{ending}"

    def _store(self, file: Path, part: Any, blocks: int, share: float) -> None:
        buffer = io.BytesIO()
        values = {entry.name: getattr(part, entry.name) for entry in fields(part)}
        stored = {name: value for name, value in values.items() if value is not None}
        np.savez(buffer, blocks_read=blocks, share_read=share, **stored)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, buffer.getvalue())
        except OSError as error:
            self.checkpoint = None
            warn(f"The checkpoint {file} cannot be written ({error.strerror}); the pass goes on without checkpoints.")
