"""Data that are read in blocks: files larger than memory, memory maps, clusters. One format a file."""

from laconic.data.sources.contract import Block, Job, Source
from laconic.data.sources.progress import PassProgress
from laconic.data.sources.registry import open_source

__all__ = ["Block", "Job", "PassProgress", "Source", "open_source"]
