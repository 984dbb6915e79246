"""Made counts of words: columns that thin out as words do (Zipf), and planted topics.

A topic is five words that occur together in some of the documents. Topic t is in each document with a probability of
its own, with an intensity of its own. The words of a topic are neither the most frequent ones nor rare. Up to 300
entries a document, each topic has a larger variance than the most frequent word, so that the topics are the components.
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
    frequencies = 1.0 / np.arange(1, n_words + 1)
    # Some tokens of a document fall on the same word: about a fifth more tokens are drawn than entries wanted.
    tokens = 1.2 * entries / n_rows * frequencies / frequencies.sum()
    for number, begin in enumerate(range(0, n_rows, block)):
        rng = np.random.default_rng((seed, number))
        m = min(block, n_rows - begin)
        # Word after word, so that the entries of a document come sorted.
        columns = np.repeat(np.arange(n_words, dtype=np.int32), rng.poisson(m * tokens))
        rows = rng.integers(0, m, len(columns), dtype=np.int32)
        counts = sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(m, n_words)).tocsr()
        for t, words in enumerate(topics):
            about = np.flatnonzero(rng.random(m) < 0.04 + 0.01 * t).astype(np.int32)
            strength = rng.gamma(2.0, 6.0 - 0.5 * t, len(about))
            extra = rng.poisson(np.repeat(strength, WORDS)).astype(np.float64)
            places = np.repeat(about, WORDS), np.tile(words.astype(np.int32), len(about))
            counts = counts + sp.coo_array((extra, places), shape=(m, n_words)).tocsr()
        counts.eliminate_zeros()
        yield counts


def made_counts(n_rows: int, n_words: int, entries: int, *, seed: int = 0) -> sp.csr_array:
    """Return all rows as one matrix."""
    return sp.csr_array(sp.vstack(list(count_blocks(n_rows, n_words, entries, seed=seed)), format="csr"))
