"""Made counts of words: columns that thin out as words do (Zipf), and planted topics.

A topic is five words that occur together in some of the documents. Topic t is in each document with a probability of
its own, with an intensity of its own. The words of a topic are neither the most frequent ones nor rare.
"""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from laconic.core.arrays import Indices

TOPICS, WORDS = 5, 5
# Words of a topic lie between these ranks.
RANKS = (40, 400)


def planted(seed: int = 0) -> Indices:
    """Return the words of each topic, one topic a row, in increasing order."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(np.arange(*RANKS), (TOPICS, WORDS), replace=False), axis=1)


def count_blocks(
    n_rows: int, n_words: int, entries: int, *, seed: int = 0, block: int = 20_000
) -> Iterator[sp.csr_array]:
    """Yield blocks of rows of counts with about `entries` nonzeros in all."""
    topics = planted(seed)
    cumulated = np.cumsum(1.0 / np.arange(1, n_words + 1))
    cumulated /= cumulated[-1]
    # Some tokens of a document fall on the same word: about a fifth more tokens are drawn than entries wanted.
    tokens = 1.2 * entries / n_rows
    for number, begin in enumerate(range(0, n_rows, block)):
        rng = np.random.default_rng((seed, number))
        m = min(block, n_rows - begin)
        lengths = rng.poisson(tokens, m)
        rows = np.repeat(np.arange(m), lengths)
        columns = np.searchsorted(cumulated, rng.random(len(rows)))
        data = np.ones(len(rows))
        for t, words in enumerate(topics):
            about = np.flatnonzero(rng.random(m) < 0.04 + 0.01 * t)
            strength = rng.gamma(2.0, 6.0 - 0.7 * t, len(about))
            extra = rng.poisson(np.repeat(strength[:, None], WORDS, axis=1))
            rows = np.concatenate([rows, np.repeat(about, WORDS)])
            columns = np.concatenate([columns, np.tile(words, len(about))])
            data = np.concatenate([data, extra.ravel()])
        counts = sp.csr_array((data, (rows, columns)), shape=(m, n_words))
        counts.sum_duplicates()
        counts.eliminate_zeros()
        counts.indices = counts.indices.astype(np.int32)
        counts.indptr = counts.indptr.astype(np.int32)
        yield counts


def made_counts(n_rows: int, n_words: int, entries: int, *, seed: int = 0) -> sp.csr_array:
    """Return all rows as one matrix."""
    return sp.csr_array(sp.vstack(list(count_blocks(n_rows, n_words, entries, seed=seed)), format="csr"))
