import numpy as np
import pytest
from scipy.sparse import issparse
from scipy.sparse.linalg import eigsh

from laconic.datasets import planted_topics

SEEDS = range(5)


def small_topics(random_state=0, **settings):
    return planted_topics(200, 60, 3, 5, random_state=random_state, **settings)


def population_covariance(topics):
    """Write the closed form of the docstring as a dense matrix."""
    indicators = np.zeros((len(topics.supports), len(topics.feature_names)))
    for t, support in enumerate(topics.supports):
        indicators[t, support] = 1
    mean = topics.topic_shares @ indicators
    between = (indicators.T * topics.topic_shares) @ indicators - np.outer(mean, mean)
    return np.diag(topics.background_rates + topics.topic_rate * mean) + topics.topic_rate**2 * between


@pytest.mark.parametrize("seed", SEEDS)
def test_planted_topics_truth_is_consistent(seed):
    topics = small_topics(seed)
    words = np.concatenate(topics.supports)
    assert len(topics.supports) == 3
    assert len(set(words.tolist())) == 15
    assert words.min() >= 30
    assert all(np.all(np.diff(support) > 0) for support in topics.supports)
    assert topics.topic_of_document.shape == (200,)
    assert set(topics.topic_of_document.tolist()) == {-1, 0, 1, 2}
    assert topics.topic_shares.sum() == pytest.approx(0.6)
    assert topics.topic_shares[-1] == pytest.approx(topics.topic_shares[0] / 2)
    assert topics.background_rates.sum() == pytest.approx(50)
    assert topics.background_rates[0] == pytest.approx(2 * topics.background_rates[1])
    assert len(topics.feature_names) == 60
    assert topics.feature_names[12] == "w00012"


@pytest.mark.parametrize("seed", SEEDS)
def test_planted_topics_counts_have_the_closed_form_covariance(seed):
    topics = planted_topics(40_000, 60, 3, 5, random_state=seed)
    population = population_covariance(topics)
    sample = np.cov(topics.data.toarray(), rowvar=False)
    scale = np.sqrt(np.outer(np.diag(population), np.diag(population)))
    assert np.abs((sample - population) / scale).max() < 0.06
    shares = [(topics.topic_of_document == t).mean() for t in range(3)]
    assert shares == pytest.approx(topics.topic_shares, abs=0.01)


@pytest.mark.parametrize("seed", SEEDS)
def test_planted_topics_words_go_with_their_documents(seed):
    topics = planted_topics(random_state=seed)
    for t, support in enumerate(topics.supports):
        about = topics.topic_of_document == t
        assert topics.data[about][:, support].mean() == pytest.approx(4, rel=0.1)
        assert topics.data[~about][:, support].mean() < 0.05


@pytest.mark.parametrize("seed", SEEDS)
def test_planted_topics_are_the_sparse_components(seed):
    topics = planted_topics(random_state=seed)
    covariance = np.cov(topics.data.toarray(), rowvar=False)
    background = np.ones(1000, dtype=bool)
    background[np.concatenate(topics.supports)] = False
    noise = eigsh(covariance[np.ix_(background, background)], k=1, return_eigenvectors=False)[0]
    for support in topics.supports:
        # The words with the largest covariances with a word of a topic are the words of this topic.
        for word in support:
            assert set(np.argsort(-covariance[word])[:8]) == set(support)
        block = np.linalg.eigvalsh(covariance[np.ix_(support, support)])[-1]
        assert block > 1.2 * noise


def test_planted_topics_order_is_that_of_the_eigenvalues():
    topics = planted_topics()
    covariance = population_covariance(topics)
    values = [np.linalg.eigvalsh(covariance[np.ix_(s, s)])[-1] for s in topics.supports]
    assert values == sorted(values, reverse=True)


def test_planted_topics_stay_sparse_when_large():
    topics = planted_topics(100_000, 50_000, 10, 20)
    assert issparse(topics.data)
    assert topics.data.format == "csr"
    assert topics.data.shape == (100_000, 50_000)
    assert topics.data.dtype == np.float64
    # A document has 50 background words. Three of five documents also use 20 words 4 times each.
    assert topics.data.sum() == pytest.approx(100_000 * (50 + 0.6 * 80), rel=0.01)
    assert topics.data.nnz < topics.data.sum()
    assert len(set(topics.feature_names)) == 50_000


def test_planted_topics_without_a_document_for_some_topic():
    topics = planted_topics(1, 60, 3, 5, background_length=0.0)
    present = set(topics.data.indices.tolist())
    topic = topics.topic_of_document[0]
    assert present <= (set(topics.supports[topic].tolist()) if topic >= 0 else set())


def test_planted_topics_every_document_may_have_a_topic():
    assert small_topics(topic_share=1.0).topic_of_document.min() == 0
