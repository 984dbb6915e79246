"""Made-up documents with planted topics."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from laconic.core.arrays import Floats, Indices
from laconic.datasets.drawing import RandomState, check_number, check_size, generator
from laconic.datasets.tables import CountTable


@dataclass(frozen=True, eq=False, kw_only=True)
class PlantedTopics(CountTable):
    """Word counts of made-up documents, and the topics that were planted in them.

    Attributes
    ----------
    data, feature_names, description
        See `CountTable`.
    supports : tuple of arrays of shape (words_per_topic,)
        Column indices of the words of each topic, in increasing order. No word is in two topics.
    topic_of_document : array of shape (n_documents,)
        The topic of each document; -1 if it has none.
    topic_shares : array of shape (n_topics,)
        The probability of each topic, largest first.
    topic_rate : float
        How often a document with a topic uses each word of this topic, on average, in addition to the background.
    background_rates : array of shape (n_words,)
        How often any document uses each word, on average, without a topic.
    """

    supports: tuple[Indices, ...] = field(repr=False)
    topic_of_document: Indices = field(repr=False)
    topic_shares: Floats = field(repr=False)
    topic_rate: float
    background_rates: Floats = field(repr=False)


def planted_topics(
    n_documents: int = 2000,
    n_words: int = 1000,
    n_topics: int = 4,
    words_per_topic: int = 8,
    *,
    topic_share: float = 0.6,
    topic_rate: float = 4.0,
    background_length: float = 50.0,
    zipf_exponent: float = 1.0,
    random_state: RandomState = 0,
) -> PlantedTopics:
    """Make word counts of documents in which the words of a topic occur together.

    Background: every document uses word j Poisson(L p_j) times, with L = ``background_length``. The frequencies p_j are
    Zipf's: proportional to j^(-zipf_exponent).

    Topics: a document has topic t with probability q_t, or no topic. The topic has a set S_t of s = ``words_per_topic``
    words. A document with topic t uses each of them Poisson(r) times more, with r = ``topic_rate``.

    All uses are independent given the topics. The covariance of the counts is therefore ::

        Sigma = diag(L p + r a) + r^2 (sum_t q_t 1_t 1_t' - a a'),    a = sum_t q_t 1_t,

    where 1_t is one on S_t and zero elsewhere. The block of S_t has an eigenvalue of about s r^2 q_t (1 - q_t). The
    background alone has no eigenvalue above L p_1. The topics are the sparse components if the first number is larger
    than the second, which holds at the defaults.

    The q_t sum to ``topic_share``. They decrease evenly, and the last is half of the first. The order of the components
    is therefore known, too. The words of topics are chosen from the rarer half of all words, so that their variance
    comes from the topic.

    No dense table is made. 100,000 documents with 50,000 words take about a second.

    Parameters
    ----------
    n_documents, n_words : int, default 2000 and 1000
        The number of rows and of columns.
    n_topics, words_per_topic : int, default 4 and 8
        The number of topics and of words in each. Their product is at most half of ``n_words``.
    topic_share : float, default 0.6
        The probability that a document has a topic, in (0, 1].
    topic_rate : float, default 4.0
        The mean r: how often a document uses each word of its topic, in addition to the background.
    background_length : float, default 50.0
        The mean L: how many background words a document has.
    zipf_exponent : float, default 1.0
        How fast the background frequencies decrease. With zero all words are equally frequent.
    random_state : int or numpy.random.Generator, default 0
        Seed, or the generator to draw from.

    Returns
    -------
    PlantedTopics
        The counts and the planted topics.

    References
    ----------
    Y. Zhang and L. El Ghaoui, "Large-scale sparse principal component analysis with application to text data",
    Advances in Neural Information Processing Systems 24 (2011): topics as sparse components.
    """
    check_size("n_documents", n_documents)
    check_size("n_words", n_words)
    check_size("n_topics", n_topics)
    check_size("words_per_topic", words_per_topic)
    for name, value in (
        ("topic_rate", topic_rate),
        ("background_length", background_length),
        ("zipf_exponent", zipf_exponent),
    ):
        check_number(name, value)
    if not 0 < topic_share <= 1:
        raise ValueError(f"topic_share must be above 0 and at most 1, got {topic_share}.")
    first_rare = n_words // 2
    n_planted = n_topics * words_per_topic
    if n_planted > n_words - first_rare:
        raise ValueError(
            f"{n_topics} topics of {words_per_topic} words need {n_planted} rare words, "
            f"but half of {n_words} words is {n_words - first_rare}."
        )
    rng = generator(random_state)

    planted = first_rare + rng.permutation(n_words - first_rare)[:n_planted].astype(np.intp)
    supports = tuple(np.sort(words) for words in planted.reshape(n_topics, words_per_topic))
    shares = np.linspace(1.0, 0.5, n_topics)
    shares *= topic_share / shares.sum()
    # A uniform number above the sum of all shares is placed after the last topic: the document has no topic.
    topic = np.searchsorted(np.cumsum(shares), rng.random(n_documents), side="right").astype(np.intp)
    topic[topic == n_topics] = -1

    frequencies = np.arange(1, n_words + 1, dtype=np.float64) ** -zipf_exponent
    background = background_length * frequencies / frequencies.sum()

    uses = [_scatter(rng, np.arange(n_documents), np.arange(n_words), background)]
    for t, words in enumerate(supports):
        uses.append(_scatter(rng, np.flatnonzero(topic == t), words, np.full(words_per_topic, topic_rate)))
    rows = np.concatenate([documents for documents, _ in uses])
    columns = np.concatenate([words for _, words in uses])
    # The conversion to CSR adds up entries at the same place, which counts the uses of each word in each document.
    counts = coo_array((np.ones(len(rows)), (rows, columns)), shape=(n_documents, n_words))

    width = max(5, len(str(n_words - 1)))
    return PlantedTopics(
        data=csr_array(counts),
        feature_names=tuple(f"w{word:0{width}d}" for word in range(n_words)),
        description=f"{n_documents} made-up documents, {n_topics} planted topics of {words_per_topic} words.",
        supports=supports,
        topic_of_document=topic,
        topic_shares=shares,
        topic_rate=float(topic_rate),
        background_rates=background,
    )


def _scatter(
    rng: np.random.Generator, documents: Indices, words: Indices, rates: Floats
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Use each word Poisson(rate) times in each document; return the document and the word of every single use."""
    # Draw the Poisson total of each word and give each use a random document. This has the same distribution as one
    # Poisson count for each document, and its cost depends on the number of uses, not on the size of the table.
    totals = rng.poisson(rates * len(documents))
    n_uses = int(totals.sum())
    # If there is no document, there are no uses, but integers() does not accept an empty range.
    chosen = rng.integers(max(len(documents), 1), size=n_uses)
    # scikit-learn's compiled code expects sparse indices of 32 bits.
    return documents[chosen].astype(np.int32), np.repeat(words, totals).astype(np.int32)
