"""Random models whose answer is known."""

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from laconic.core.arrays import Floats, Indices
from laconic.datasets.tables import CountTable

Entries: TypeAlias = Literal["equal", "signed", "gaussian"]
RandomState: TypeAlias = int | np.random.Generator


@dataclass(frozen=True, eq=False, kw_only=True)
class SpikedCovariance:
    """A spike in Gaussian noise, as a matrix.

    Attributes
    ----------
    covariance : array of shape (n_features, n_features)
        The matrix Sigma.
    component : array of shape (n_features,)
        The truth: a unit vector, zero outside ``support``.
    support : array of shape (cardinality,)
        The truth: increasing indices of the nonzero entries.
    signal : float
        The factor of the spike.
    n_samples : int
        The number m of observations in the noise.
    """

    covariance: Floats = field(repr=False)
    component: Floats = field(repr=False)
    support: Indices = field(repr=False)
    signal: float
    n_samples: int


@dataclass(frozen=True, eq=False, kw_only=True)
class SpikedRows:
    """Rows drawn from a spiked Gaussian model.

    Attributes
    ----------
    data : array of shape (n_samples, n_features)
        Independent rows.
    component : array of shape (n_features,)
        The truth: a unit vector, zero outside ``support``; the leading eigenvector of the population covariance.
    support : array of shape (cardinality,)
        The truth: increasing indices of the nonzero entries.
    signal : float
        The factor of the spike.
    """

    data: Floats = field(repr=False)
    component: Floats = field(repr=False)
    support: Indices = field(repr=False)
    signal: float


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianGram:
    """The Gram matrix of a Gaussian matrix.

    Attributes
    ----------
    covariance : array of shape (n_features, n_features)
        ``factor.T @ factor``.
    factor : array of shape (n_rows, n_features)
        The matrix F.
    """

    covariance: Floats = field(repr=False)
    factor: Floats = field(repr=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class NoisyRankOne:
    """The paper's rank-one matrix plus noise.

    Attributes
    ----------
    covariance : array of shape (n_features, n_features)
        The matrix Sigma.
    u : array of shape (n_features,)
        ``1, 1/2, ..., 1/n``, not of unit length.
    """

    covariance: Floats = field(repr=False)
    u: Floats = field(repr=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class PlantedTopics(CountTable):
    """Documents in which some words go together.

    Attributes
    ----------
    data, feature_names, description
        See `CountTable`.
    supports : tuple of arrays of shape (words_per_topic,)
        The truth: the words of each topic, increasing; no word is in two topics.
    topic_of_document : array of shape (n_documents,)
        The topic of each document, -1 for none.
    topic_shares : array of shape (n_topics,)
        The probability of each topic, largest first.
    topic_rate : float
        Expected uses of each topic word that the topic adds to a document.
    background_rates : array of shape (n_words,)
        Expected background uses of each word in a document.
    """

    supports: tuple[Indices, ...] = field(repr=False)
    topic_of_document: Indices = field(repr=False)
    topic_shares: Floats = field(repr=False)
    topic_rate: float
    background_rates: Floats = field(repr=False)


def spiked_covariance(
    n_features: int = 250,
    n_samples: int = 400,
    cardinality: int = 25,
    *,
    signal: float = 1.0,
    entries: Entries = "equal",
    random_state: RandomState = 0,
) -> SpikedCovariance:
    """Make the paper's spiked covariance, a sparse rank-one matrix plus noise.

    With u a unit vector of ``cardinality`` nonzero entries at random places, and V an n x m matrix of independent
    N(0, 1) entries, n = ``n_features``, m = ``n_samples``,

        Sigma = signal * u u' + V V' / sqrt(m).

    The noise is divided by sqrt(m), as the paper prints it, and not by m: it is sqrt(m) times a sample covariance of
    white noise and grows with m. The defaults n = 250, m = 400, k = 25 are the paper's; it leaves the length of u
    open. By the theory of spiked Wishart matrices the leading eigenvector carries a trace of u only if
    signal > sqrt(n) (1 + sqrt(n / m)) in the limit of large n and m (28.3 at the defaults, and never less than
    sqrt(n) = 15.8 for any m). A unit u, ``signal=1``, is far below. ``signal=cardinality`` gives
    sqrt(signal) u entries of one, and puts the threshold near m = 740.

    Parameters
    ----------
    n_features : int, default 250
        The size n of the matrix.
    n_samples : int, default 400
        The number m of columns of V.
    cardinality : int, default 25
        The number of nonzero entries of u.
    signal : float, default 1.0
        The factor of u u', at least zero.
    entries : {"equal", "signed", "gaussian"}, default "equal"
        The nonzero entries of u: all 1/sqrt(k), 1/sqrt(k) with random signs, or Gaussian scaled to unit length.
    random_state : int or numpy.random.Generator, default 0
        Seed, or the generator to draw from.

    Returns
    -------
    SpikedCovariance
        The matrix and the truth.

    References
    ----------
    Y. Zhang, A. d'Aspremont and L. El Ghaoui, "Sparse PCA: convex relaxations, algorithms and applications" (2012),
    section "Statistical consistency vs. computational complexity".
    F. Benaych-Georges and R. R. Nadakuditi, "The eigenvalues and eigenvectors of finite, low rank perturbations of
    large random matrices", Advances in Mathematics 227 (2011), 494-521: the threshold.
    """
    _check_size("n_samples", n_samples)
    _check_number("signal", signal)
    rng = _generator(random_state)
    component, support = _sparse_unit_vector(rng, n_features, cardinality, entries)
    noise = rng.standard_normal((n_features, n_samples))
    return SpikedCovariance(
        covariance=signal * np.outer(component, component) + noise @ noise.T / math.sqrt(n_samples),
        component=component,
        support=support,
        signal=float(signal),
        n_samples=n_samples,
    )


def spiked_rows(
    n_samples: int,
    n_features: int,
    cardinality: int,
    *,
    signal: float = 1.0,
    entries: Entries = "equal",
    random_state: RandomState = 0,
) -> SpikedRows:
    """Draw rows from the spiked covariance model of Amini and Wainwright.

    The rows are independent, N(0, I + signal * u u'), with u a unit vector of k = ``cardinality`` nonzero entries at
    random places. Each row is z + sqrt(signal) g u with z standard Gaussian in n dimensions and g in one, so no
    n x n matrix is made. With m rows, thresholding the diagonal of the sample covariance recovers the support when
    m / (k^2 log(n - k)) is large, and the semidefinite relaxation, if tight, when m / (k log(n - k)) is.

    Parameters
    ----------
    n_samples : int
        The number m of rows.
    n_features : int
        The number n of variables.
    cardinality : int
        The number k of nonzero entries of u.
    signal : float, default 1.0
        The variance that the spike adds along u, at least zero.
    entries : {"equal", "signed", "gaussian"}, default "equal"
        The nonzero entries of u: all 1/sqrt(k), 1/sqrt(k) with random signs, or Gaussian scaled to unit length.
    random_state : int or numpy.random.Generator, default 0
        Seed, or the generator to draw from.

    Returns
    -------
    SpikedRows
        The rows and the truth.

    References
    ----------
    A. A. Amini and M. J. Wainwright, "High-dimensional analysis of semidefinite relaxations for sparse principal
    components", Annals of Statistics 37 (2009), 2877-2921.
    """
    _check_size("n_samples", n_samples)
    _check_number("signal", signal)
    rng = _generator(random_state)
    component, support = _sparse_unit_vector(rng, n_features, cardinality, entries)
    data = rng.standard_normal((n_samples, n_features))
    # Only the support's columns get the spike: an outer product would double the memory.
    data[:, support] += np.outer(math.sqrt(signal) * rng.standard_normal(n_samples), component[support])
    return SpikedRows(data=data, component=component, support=support, signal=float(signal))


def gaussian_gram(
    n_rows: int, n_features: int, *, normalized: bool = False, random_state: RandomState = 0
) -> GaussianGram:
    """Make the Gram matrix F'F of a Gaussian matrix F, the hard case of the paper's random matrices.

    The entries of F are independent N(0, 1). The sparse eigenvalues of F'F, over supports of k columns, are the
    restricted isometry constants of compressed sensing. With ``normalized`` F is divided by sqrt(n_rows), so that its
    columns have unit expected squared norm and F'F has expectation I.

    Parameters
    ----------
    n_rows : int
        Rows of F.
    n_features : int
        Columns of F, the size of F'F.
    normalized : bool, default False
        Whether to divide F by sqrt(n_rows).
    random_state : int or numpy.random.Generator, default 0
        Seed, or the generator to draw from.

    Returns
    -------
    GaussianGram
        F'F and F.

    References
    ----------
    Y. Zhang, A. d'Aspremont and L. El Ghaoui, "Sparse PCA: convex relaxations, algorithms and applications" (2012),
    section "Random matrices".
    E. J. Candes and T. Tao, "Decoding by linear programming", IEEE Transactions on Information Theory 51 (2005),
    4203-4215.
    """
    _check_size("n_rows", n_rows)
    _check_size("n_features", n_features)
    factor = _generator(random_state).standard_normal((n_rows, n_features))
    if normalized:
        factor /= math.sqrt(n_rows)
    return GaussianGram(covariance=factor.T @ factor, factor=factor)


def noisy_rank_one(n_features: int, *, random_state: RandomState = 0) -> NoisyRankOne:
    """Make the paper's rank-one matrix plus noise, the easy case of its random matrices.

    With u_i = 1/i and V an n x n matrix of independent entries uniform on [0, 1],

        Sigma = u u' / ||u||^2 + 2 V'V,

    as printed. The entries of V have mean 1/2, so 2 V'V is near (n/2) 1 1' + (n/6) I, and the leading eigenvector is
    near the vector of ones, not near u: what is known of the answer is the model, and u is returned for the record.

    Parameters
    ----------
    n_features : int
        The size n of the matrix.
    random_state : int or numpy.random.Generator, default 0
        Seed, or the generator to draw from.

    Returns
    -------
    NoisyRankOne
        The matrix and u.

    References
    ----------
    Y. Zhang, A. d'Aspremont and L. El Ghaoui, "Sparse PCA: convex relaxations, algorithms and applications" (2012),
    section "Random matrices".
    """
    _check_size("n_features", n_features)
    u = 1.0 / np.arange(1, n_features + 1)
    noise = _generator(random_state).random((n_features, n_features))
    return NoisyRankOne(covariance=np.outer(u, u) / (u @ u) + 2 * (noise.T @ noise), u=u)


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
    """Make word counts of documents in which the words of a topic go together.

    Word j is used Poisson(L p_j) times in every document, L = ``background_length``, with Zipf's frequencies p_j
    proportional to j^(-zipf_exponent). A document is about topic t with probability q_t, or about none; if it is, each
    of the s = ``words_per_topic`` words S_t of that topic is used Poisson(r) times more, r = ``topic_rate``. All uses
    are independent given the topics, so the covariance of the counts is, in closed form,

        Sigma = diag(L p + r a) + r^2 (sum_t q_t 1_t 1_t' - a a'),    a = sum_t q_t 1_t,

    with 1_t the indicator of S_t. The block of S_t has an eigenvalue of about s r^2 q_t (1 - q_t), and the background
    alone none above L p_1: the topics are the sparse components while the first number exceeds the second, as it
    does at the defaults. The q_t sum to ``topic_share`` and fall evenly from the first topic to the last, which has
    half of the first's, so the order of the components is known too. Topic words come from the rarer half of the
    vocabulary, so that they owe their variance to the topic.

    No dense table is made at any time; 100,000 documents by 50,000 words take about a second.

    Parameters
    ----------
    n_documents, n_words : int, default 2000 and 1000
        Rows and columns.
    n_topics, words_per_topic : int, default 4 and 8
        Number and size of the topics; together at most half of the words.
    topic_share : float, default 0.6
        The probability that a document has a topic, in (0, 1].
    topic_rate : float, default 4.0
        The mean r of the uses that a topic adds to each of its words.
    background_length : float, default 50.0
        The mean L of the background words in a document.
    zipf_exponent : float, default 1.0
        How fast the background frequencies fall; zero makes all words equally frequent.
    random_state : int or numpy.random.Generator, default 0
        Seed, or the generator to draw from.

    Returns
    -------
    PlantedTopics
        The counts and the truth.

    References
    ----------
    Y. Zhang and L. El Ghaoui, "Large-scale sparse principal component analysis with application to text data",
    Advances in Neural Information Processing Systems 24 (2011): topics as sparse components.
    """
    _check_size("n_documents", n_documents)
    _check_size("n_words", n_words)
    _check_size("n_topics", n_topics)
    _check_size("words_per_topic", words_per_topic)
    for name, value in (
        ("topic_rate", topic_rate),
        ("background_length", background_length),
        ("zipf_exponent", zipf_exponent),
    ):
        _check_number(name, value)
    if not 0 < topic_share <= 1:
        raise ValueError(f"topic_share must be above 0 and at most 1, got {topic_share}.")
    first_rare = n_words // 2
    n_planted = n_topics * words_per_topic
    if n_planted > n_words - first_rare:
        raise ValueError(
            f"{n_topics} topics of {words_per_topic} words need {n_planted} rare words, "
            f"but half of {n_words} words is {n_words - first_rare}."
        )
    rng = _generator(random_state)

    planted = first_rare + rng.permutation(n_words - first_rare)[:n_planted].astype(np.intp)
    supports = tuple(np.sort(words) for words in planted.reshape(n_topics, words_per_topic))
    shares = np.linspace(1.0, 0.5, n_topics)
    shares *= topic_share / shares.sum()
    # A uniform number above every cumulated share falls past the last topic: such a document has none.
    topic = np.searchsorted(np.cumsum(shares), rng.random(n_documents), side="right").astype(np.intp)
    topic[topic == n_topics] = -1

    frequencies = np.arange(1, n_words + 1, dtype=np.float64) ** -zipf_exponent
    background = background_length * frequencies / frequencies.sum()

    uses = [_scatter(rng, np.arange(n_documents), np.arange(n_words), background)]
    for t, words in enumerate(supports):
        uses.append(_scatter(rng, np.flatnonzero(topic == t), words, np.full(words_per_topic, topic_rate)))
    rows = np.concatenate([documents for documents, _ in uses])
    columns = np.concatenate([words for _, words in uses])
    # Conversion to rows adds up the repeated places: that is the counting.
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
    """Use each word Poisson(rate) times in each document; return the (document, word) of every single use."""
    # Independent Poisson counts are a Poisson total strewn evenly, so the work is that of the uses, not of the table.
    totals = rng.poisson(rates * len(documents))
    n_uses = int(totals.sum())
    # Without uses there may be no document to choose from; integers() wants a range that is not empty.
    chosen = rng.integers(max(len(documents), 1), size=n_uses)
    # 32 bits, which scikit-learn's compiled code expects of sparse indices.
    return documents[chosen].astype(np.int32), np.repeat(words, totals).astype(np.int32)


def _sparse_unit_vector(
    rng: np.random.Generator, n_features: int, cardinality: int, entries: Entries
) -> tuple[Floats, Indices]:
    _check_size("n_features", n_features)
    _check_size("cardinality", cardinality)
    if cardinality > n_features:
        raise ValueError(f"cardinality must be at most n_features = {n_features}, got {cardinality}.")
    support = np.sort(rng.choice(n_features, size=cardinality, replace=False)).astype(np.intp)
    match entries:
        case "equal":
            values = np.ones(cardinality)
        case "signed":
            values = rng.choice(np.array([-1.0, 1.0]), size=cardinality)
        case "gaussian":
            values = rng.standard_normal(cardinality)
        case _:
            raise ValueError(f"entries must be 'equal', 'signed' or 'gaussian', got {entries!r}.")
    component = np.zeros(n_features)
    component[support] = values / np.linalg.norm(values)
    return component, support


def _generator(random_state: RandomState) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise TypeError(f"random_state must be an int or a numpy.random.Generator, got {random_state!r}.")
    if random_state < 0:
        raise ValueError(f"random_state must be at least 0, got {random_state}.")
    return np.random.default_rng(random_state)


def _check_size(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an int, got {value!r}.")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}.")


def _check_number(name: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be finite and at least 0, got {value}.")
