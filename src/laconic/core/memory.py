"""Memory that a step needs, compared with that of the machine, before anything is allocated."""

import os

from laconic.core.wording import memory_in_words


def physical_memory() -> float:
    """Return the bytes of memory of this machine, infinite if it does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def check_memory(needed: float, what: str, remedy: str) -> None:
    """Raise a MemoryError of one sentence if a step needs more memory than the machine has."""
    available = physical_memory()
    if needed > available:
        raise MemoryError(
            f"{what} would need {memory_in_words(needed)}, and this machine has {memory_in_words(available)}; {remedy}."
        )
