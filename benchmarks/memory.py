"""Peak memory of a computation. Works on Linux, where the peak can be reset."""

from pathlib import Path

RESET, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


class Peak:
    """Increase of the resident memory since this object was made."""

    def __init__(self) -> None:
        RESET.write_text("5")
        self._before = self._kilobytes("VmRSS")

    def megabytes(self) -> float:
        """Return the largest increase until now, in megabytes."""
        return max(self._kilobytes("VmHWM") - self._before, 0) / 1024

    @staticmethod
    def _kilobytes(field: str) -> int:
        line = next(x for x in STATUS.read_text().splitlines() if x.startswith(field))
        return int(line.split()[1])
