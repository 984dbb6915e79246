"""The columns of another source in another order."""

from collections.abc import Iterator

import numpy as np

from laconic.core.arrays import Indices
from laconic.data.sources.contract import Block, Source


class ArrangedSource(Source):
    """The columns with the given numbers, in any order. They are numbered from 0 again."""

    def __init__(self, source: Source, places: Indices) -> None:
        self._source, self._places = source, places
        self.name, self.files, self.note = source.name, source.files, source.note
        self.n_features = len(places)
        names = source.feature_names
        self.feature_names = None if names is None else [names[int(place)] for place in places]
        self.n_rows, self.sparse, self.label_name = source.n_rows, source.sparse, source.label_name

    def row_labels(self) -> Iterator[list[str]] | None:
        return self._source.row_labels()

    def blocks(self, columns: Indices | None = None, first: int = 0) -> Iterator[Block]:
        places = self._places if columns is None else self._places[columns]
        order = np.argsort(places)
        back = np.argsort(order)
        for block in self._source.blocks(places[order], first):
            yield block if (np.diff(back) == 1).all() else block._replace(rows=block.rows[:, back])
