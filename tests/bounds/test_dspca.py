"""DSPCA in the front door."""

import itertools

import numpy as np
import pytest

from laconic import SparsePCA
from laconic.bounds.dspca import Dspca, round_to_support
from laconic.covariance import DenseCovariance
from laconic.datasets import load_pitprops, load_senate109
from laconic.search.problem import Problem

PITPROPS = load_pitprops()


def truth(S, k):
    return max(np.linalg.eigvalsh(S[np.ix_(i, i)])[-1] for i in itertools.combinations(range(len(S)), k))


def test_cardinality_gives_a_support_of_that_size_and_its_gap():
    model = SparsePCA(cardinality=5, method="dspca", proof=None).fit_covariance(PITPROPS.covariance)
    assert len(model.supports_[0]) == 5
    assert model.lower_bound_[0] == pytest.approx(3.406155, abs=1e-6)
    assert 100 * model.gap_[0] == pytest.approx(1.525, abs=0.02)
    assert "at least 98.4 % of the best possible variance (proved)" in model.verdicts_[0]


def test_penalty_takes_what_the_relaxation_uses():
    model = SparsePCA(method=Dspca(0.3)).fit_covariance(PITPROPS.covariance, PITPROPS.feature_names)
    size = len(model.supports_[0])
    assert 1 < size < 13
    assert model.lower_bound_[0] <= truth(PITPROPS.covariance, size) * (1 + 1e-12)
    assert truth(PITPROPS.covariance, size) <= model.upper_bound_[0]
    sparser = SparsePCA(method=Dspca(0.6)).fit_covariance(PITPROPS.covariance)
    assert len(sparser.supports_[0]) < size


def test_the_paper_s_bills():
    votes = load_senate109().frame
    model = SparsePCA(2, cardinality=[5, 2], method="dspca").fit(votes)
    assert set(votes.columns[model.supports_[0]]) == {"S. 1932", "S.Con.Res. 83", "S. 3930", "S. 403", "S. 397"}
    assert set(votes.columns[model.supports_[1]]) == {"S. 1307", "H.R. 3045"}


def test_bad_penalty():
    with pytest.raises(ValueError, match=r"penalty=-1.0 must be above zero"):
        Dspca(penalty=-1.0)


def test_rounding_gives_exactly_k_features():
    rng = np.random.default_rng(0)
    problem = Problem(DenseCovariance(PITPROPS.covariance), 4, forced=np.array([12]))
    for rank in (1, 3):
        rounded = round_to_support(problem, rng.standard_normal((13, rank)), polish=False)
        polished = round_to_support(problem, rng.standard_normal((13, rank)))
        for best in (rounded, polished):
            assert len(best.support) == 4
            assert 12 in best.support


def test_penalties_of_the_paper_s_figure():
    S = load_senate109().frame.cov().to_numpy()
    penalties = np.geomspace(0.01, 0.999, 20) * S.diagonal().max()
    found = Dspca().penalized_path(Problem(DenseCovariance(S), len(S)), penalties)
    sizes = [len(solution.support) for solution in found]
    # One bill at the largest penalties, nearly all at the smallest, and a fall between them.
    assert sizes[-1] == 1
    assert sizes[0] >= 35
    assert np.corrcoef(np.log(penalties), sizes)[0, 1] < -0.8
    assert all(solution.value <= solution.estimate * (1 + 1e-9) for solution in found)
