"""20 newsgroups: 100 words in 16,242 postings (section "News data" of the paper)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from laconic.core.arrays import Floats
from laconic.covariance import covariance_of
from laconic.covariance.deflation import DEFLATIONS
from laconic.datasets import News100, load_news100
from laconic.datasets.tables import Strings
from laconic.studies.base import Settings, Statement, Study, share_reached
from laconic.studies.news_components import (
    PAPERS_DEFLATION,
    RULE,
    PenaltyRun,
    RuleRun,
    components_by_penalty,
    components_by_rule,
)
from laconic.studies.news_figures import (
    ORDINALS,
    THIN,
    plot_cumulative_variance,
    plot_deflations,
    plot_paths,
    plot_projections,
)
from laconic.studies.text import agrees_if, listed, marked_if_stopped, show, side_by_side, words_of

if TYPE_CHECKING:
    import pandas as pd

# Table "Words associated with the first three sparse PCs", in its order.
PAPER_WORDS = tuple(
    column.split()
    for column in (
        "fact question world course case problem god government human state number christian evidence law power "
        "religion children jesus system rights war jews help bible earth science research israel president gun",
        "help problem system email windows program computer software university version files drive data card dos god "
        "disk pc graphics ftp memory christian phone video fact display",
        "problem university email state research science phone world fact question",
    )
)
# The paper's topic of each component, and the newsgroups of this topic.
PAPER_TOPICS = (("politics and religion", "talk.*"), ("computers", "comp.*"), ("science", "sci.*"))


@dataclass(frozen=True, eq=False)
class _Findings:
    """The numbers behind the statements. A list has one entry for each of the three components.

    Attributes
    ----------
    cumulative
        The cumulative share of the variance of 1, 2, ... dense components.
    components_for_90
        The number of dense components that explain 90 % together.
    dense_words
        The number of words with a loading above one thousandth of the largest, in the dense components.
    words
        The words of DSPCA with a penalty, as many as in the paper.
    penalized_shares, paper_shares
        The shares of the dense variance that these words and the paper's words keep.
    overlaps, same_order
        How many of these words are the paper's, and whether the whole list has the paper's order.
    missing, extra
        The paper's words that we do not have, and our words that the paper does not have.
    sparse_span
        The share of the variance that the three sparse components explain together.
    rule_cardinalities, rule_shares
        The smallest cardinalities that keep 90 %, and the shares that they keep.
    fewer, proved_smallest
        Upper bounds on the shares with one word fewer, and whether they are below 90 %.
    largest_gap
        The largest gap of all components and cardinalities.
    lowest
        The smallest eigenvalue after the deflations, as a share of the largest before.
    between_dense, between_sparse
        The share of the scores' variance that is between the groups.
    topics
        The number of words that belong to each group, largest first.
    deflations
        The smallest cardinalities that keep 90 %, by deflation.
    deflation_overlaps
        How many words are the paper's at the paper's cardinalities, by deflation.
    """

    cumulative: Floats
    components_for_90: int
    dense_words: list[int]
    words: list[list[str]]
    penalized_shares: list[float]
    paper_shares: list[float]
    overlaps: list[int]
    same_order: list[bool]
    missing: list[list[str]]
    extra: list[list[str]]
    sparse_span: float
    rule_cardinalities: list[int]
    rule_shares: list[float]
    fewer: list[float]
    proved_smallest: list[bool]
    largest_gap: float
    lowest: float
    between_dense: float
    between_sparse: float
    topics: list[dict[str, int]]
    deflations: dict[str, list[int]]
    deflation_overlaps: dict[str, list[int]]


def run(settings: Settings) -> Study:
    """Run the study: which words the three components have, and how few keep 90 % of the variance.

    Parameters
    ----------
    settings
        Seed, size and monitor. With `quick` the largest cardinality is 25, and the smallest number of words is not
        proved.
    """
    news = load_news100()
    names = list(news.feature_names)
    covariance, standardization = covariance_of(news.data)
    show(settings.monitor, "dense components")
    eigenvalues, vectors = np.linalg.eigh(covariance.submatrix(np.arange(len(names))))
    cumulative = np.cumsum(eigenvalues[::-1]) / covariance.trace
    dense = vectors[:, ::-1][:, :3].T
    show(settings.monitor, "DSPCA with a penalty, as in the paper")
    papers = [np.array([names.index(word) for word in column]) for column in PAPER_WORDS]
    steps = 16 if settings.quick else 48
    by_size = {kind: components_by_penalty(covariance, kind, papers, steps, settings.monitor) for kind in DEFLATIONS}
    penalized = by_size[PAPERS_DEFLATION]
    last = 25 if settings.quick else 50
    tightness: Literal["fast", "tight"] = "fast" if settings.quick else "tight"
    runs = {}
    for kind in DEFLATIONS:
        show(settings.monitor, f"the 90 % rule with {kind} deflation")
        proof = tightness if kind == PAPERS_DEFLATION else None
        runs[kind] = components_by_rule(covariance, kind, last, settings.monitor, proof=proof)
    sparse = np.array([choice.solution.vector(len(names)) for choice in penalized.choices])
    rows = news.data.toarray() - standardization.means
    scores = {"dense": rows @ dense.T, "sparse": rows @ sparse.T}
    scores["dense"] *= np.where((scores["dense"] * scores["sparse"]).sum(axis=0) < 0, -1.0, 1.0)
    found = _findings(cumulative, dense, by_size, runs, scores, news, names)
    show(settings.monitor, "pictures")
    figures = {
        "news-dense-variance": plot_cumulative_variance(cumulative),
        "news-projections": plot_projections(scores, news.groups, found.words, settings.seed),
        "news-variance-cardinality": plot_paths(
            runs[PAPERS_DEFLATION], [len(column) for column in PAPER_WORDS], penalized
        ),
        "news-deflations": plot_deflations(runs),
    }
    captions = {
        "news-dense-variance": "Cumulative share of the variance against the number of dense components.",
        "news-projections": f"One posting in {THIN} on three dense components (left) and on three sparse ones (right), "
        "in the colours of the four groups. Small random shifts separate postings with the same words.",
        "news-variance-cardinality": "Variance explained against cardinality for the first three sparse components, "
        "with a proved upper bound. Filled points are optimal (proved). Crosses: DSPCA with a penalty, as in the "
        "paper. Vertical lines: the smallest number of words that keeps 90 %, and the number in the paper.",
        "news-deflations": "The 90 % rule with each of the five deflations: number of words in each component, "
        "variance that the three components explain together, and smallest eigenvalue of the matrix that is left.",
    }
    return Study(
        name="news",
        title="20 newsgroups: 100 words in 16,242 postings",
        seed=settings.seed,
        figures=figures,
        captions=captions,
        tables={
            "news-words": _word_table(found, runs[PAPERS_DEFLATION], names),
            "news-variance-cardinality": _path_table(runs[PAPERS_DEFLATION]),
            "news-deflations": _deflation_table(runs, found),
        },
        facts=vars(found),
        **marked_if_stopped(_summary(found), _statements(found), settings.monitor),
    )


def _findings(
    cumulative: Floats,
    dense: Floats,
    by_size: dict[str, PenaltyRun],
    runs: dict[str, RuleRun],
    scores: dict[str, Floats],
    news: News100,
    names: list[str],
) -> _Findings:
    main, penalized = runs[PAPERS_DEFLATION], by_size[PAPERS_DEFLATION]
    words = [words_of(choice.solution, names) for choice in penalized.choices]
    at_home = _home_groups(news)
    pairs = list(zip(words, PAPER_WORDS, strict=True))
    return _Findings(
        cumulative=cumulative,
        components_for_90=int(np.argmax(cumulative >= RULE)) + 1,
        dense_words=[int((np.abs(v) > 1e-3 * np.abs(v).max()).sum()) for v in dense],
        words=words,
        penalized_shares=[choice.share for choice in penalized.choices],
        paper_shares=penalized.papers,
        overlaps=[len(set(ours) & set(theirs)) for ours, theirs in pairs],
        same_order=[ours == theirs for ours, theirs in pairs],
        missing=[[word for word in theirs if word not in ours] for ours, theirs in pairs],
        extra=[[word for word in ours if word not in theirs] for ours, theirs in pairs],
        sparse_span=penalized.span,
        rule_cardinalities=main.cardinalities,
        rule_shares=[choice.share for choice in main.choices],
        fewer=main.fewer,
        proved_smallest=[bound < RULE for bound in main.fewer],
        largest_gap=max(solution.gap for path in main.paths for solution in path.solutions),
        lowest=main.lowest,
        between_dense=_between_groups(scores["dense"], news.groups),
        between_sparse=_between_groups(scores["sparse"], news.groups),
        topics=[dict(Counter(at_home[word] for word in own).most_common()) for own in words],
        deflations={kind: run.cardinalities for kind, run in runs.items()},
        deflation_overlaps={
            kind: [
                len(set(words_of(choice.solution, names)) & set(theirs))
                for choice, theirs in zip(run.choices, PAPER_WORDS, strict=True)
            ]
            for kind, run in by_size.items()
        },
    )


def _home_groups(news: News100) -> dict[str, str]:
    """Return for each word the group in which the largest share of postings contains it."""
    groups = np.unique(news.groups)
    shares = np.array([news.data[news.groups == group].mean(axis=0) for group in groups])
    return {word: str(groups[place]) for word, place in zip(news.feature_names, shares.argmax(axis=0), strict=True)}


def _between_groups(scores: Floats, labels: Strings) -> float:
    """Return the share of the scores' variance that is between the groups."""
    centred = scores - scores.mean(axis=0)
    between = 0.0
    for group in np.unique(labels):
        own = centred[labels == group]
        between += len(own) * float((own.mean(axis=0) ** 2).sum())
    return between / float((centred**2).sum())


def _summary(found: _Findings) -> str:
    sizes = listed([len(column) for column in PAPER_WORDS])
    proof = (
        "We prove that no smaller number is enough."
        if all(found.proved_smallest)
        else "We do not prove that a smaller number is not enough."
    )
    return (
        "Each posting is a row of zeros and ones, one for each of 100 words. The paper finds three sparse components "
        f"with {sizes} words. We use DSPCA with a penalty, compute the loadings again on the words chosen, and use "
        f"Hotelling's deflation. At the same cardinalities we find {listed(found.overlaps)} of the paper's words. The "
        "paper's own rule is to keep 90 % of the dense component's variance. By this rule "
        f"{listed(found.rule_cardinalities)} words are enough. {proof}"
    )


def _statements(found: _Findings) -> tuple[Statement, ...]:
    shares = [f"{100 * share:.1f}" for share in found.penalized_shares]
    sizes = [len(column) for column in PAPER_WORDS]
    total = 100 * found.cumulative
    gone = [f"The {ORDINALS[j]} has {listed(e)} instead of {listed(m)}." for j, (m, e) in
            enumerate(zip(found.missing, found.extra, strict=True)) if m and e]  # fmt: skip
    changed = [
        (ours, theirs)
        for ours, theirs, m in zip(found.penalized_shares, found.paper_shares, found.missing, strict=True)
        if m
    ]
    ordered = [ORDINALS[j] for j, same in enumerate(found.same_order) if same]
    first = [next(iter(counts)) for counts in found.topics]
    expected = [group for _, group in PAPER_TOPICS]
    fewer = all(ours <= theirs for ours, theirs in zip(found.rule_cardinalities, sizes, strict=True))
    bounds = [f"{100 * bound:.2f}" for bound in found.fewer]
    smallest = (
        f"With one word fewer, at most {listed(bounds)} % are possible (proved)."
        if all(found.proved_smallest)
        else "We do not prove that these numbers are the smallest."
    )
    return (
        Statement(
            "The cumulative variance increases slowly. The data are not in a subspace of low dimension.",
            f"1 component explains {total[0]:.1f} %, 3 explain {total[2]:.1f} %, 10 explain {total[9]:.1f} %. 90 % "
            f"needs {found.components_for_90} of {len(total)} components.",
            agrees_if(found.components_for_90 > len(total) / 2, "differs because few components explain 90 %."),
        ),
        Statement(
            "The three dense components use all words, so the axes of the projection have no clear meaning.",
            f"{listed(found.dense_words)} of {len(total)} words have a loading above one thousandth of the largest.",
            agrees_if(min(found.dense_words) > 0.9 * len(total), "differs because many loadings are close to zero."),
        ),
        Statement(
            f"DSPCA with a range of penalties, then deflation, gives {listed(sizes)} words. (The caption of one figure "
            "says 26, 30 and 10. The table of words shows that the first two numbers are exchanged there.)",
            f"Some penalties give {listed([len(w) for w in found.words])} words. The components then keep "
            f"{listed(shares)} % of the variance of the dense components.",
            agrees_if([len(w) for w in found.words] == sizes, "differs because no penalty gives these numbers."),
        ),
        Statement(
            "The table of words, largest loading first.",
            f"{listed([f'{o} of {s}' for o, s in zip(found.overlaps, sizes, strict=True)])} words are the same."
            + (f" The order of the {listed(ordered)} list is the same, too." if ordered else "")
            + "".join(f" {sentence}" for sentence in gone),
            agrees_if(
                found.overlaps == sizes,
                "better: if the words differ, ours explain more variance of the same matrix: "
                + listed([f"{100 * a:.1f} % against the paper's {100 * b:.1f} %" for a, b in changed])
                + "."
                if all(ours > theirs for ours, theirs in changed)
                else "differs because the accuracy of the relaxation is not the paper's.",
            ),
        ),
        Statement(
            "A small number of words explains more than 90 % of the variance of the corresponding dense component.",
            f"{listed(found.rule_cardinalities)} words explain {listed([f'{100 * s:.1f}' for s in found.rule_shares])} "
            f"%. {smallest} (Each component after the earlier ones are removed by Hotelling's deflation.)",
            "better: fewer words than in the paper keep 90 %."
            if fewer
            else "differs because a larger cardinality was not tried.",
        ),
        Statement(
            "The paper gives no upper bound for other words.",
            f"At every cardinality the words found reach at least {share_reached(found.largest_gap)} of the best "
            "possible variance (proved).",
            "better: the figure shows an upper bound.",
        ),
        Statement(
            "The words of the first component are about politics and religion, the words of the second about "
            "computers, and most words of the third about science.",
            "We assign each word to the group in which the largest share of postings contains it. Words in each "
            "group: "
            + "; ".join(
                f"{ordinal} component " + listed([f"{number} {group}" for group, number in counts.items()])
                for ordinal, counts in zip(ORDINALS, found.topics, strict=True)
            )
            + ".",
            agrees_if(
                first == expected,
                "differs because by this count "
                + listed(
                    [
                        f"the largest group of the {o} component is {g}"
                        for o, g, e in zip(ORDINALS, first, expected, strict=True)
                        if g != e
                    ]
                )
                + ".",
            ),
        ),
        Statement(
            "Sparse components show the data nearly as well as dense ones.",
            f"Three sparse components explain {100 * found.sparse_span:.1f} % of the variance, three dense ones "
            f"{total[2]:.1f} %. The share of the projected variance that is between the four groups is "
            f"{100 * found.between_sparse:.0f} % for the sparse and {100 * found.between_dense:.0f} % for the dense "
            "components.",
            agrees_if(found.sparse_span > 0.85 * found.cumulative[2], "differs because much variance is lost."),
        ),
        Statement(
            "The paper does not say which deflation it uses.",
            "At the paper's cardinalities the five deflations give "
            + listed([f"{'/'.join(map(str, n))} ({kind})" for kind, n in found.deflation_overlaps.items()])
            + " of the paper's words. By the 90 % rule they give "
            + listed([f"{'/'.join(map(str, n))} ({kind})" for kind, n in found.deflations.items()])
            + " words. Hotelling's deflation leaves a matrix that is not positive semidefinite: its smallest "
            f"eigenvalue is {100 * found.lowest:.0f} % of the largest eigenvalue before deflation.",
            "better: we compare all five, and our upper bounds are valid for the indefinite matrix, too.",
        ),
    )


def _word_table(found: _Findings, main: RuleRun, names: list[str]) -> "pd.DataFrame":
    columns: dict[str, Sequence[str]] = {}
    for j, paper in enumerate(PAPER_WORDS):
        columns[f"component {j + 1}, paper"] = paper
        columns[f"component {j + 1}, same size"] = found.words[j]
        columns[f"component {j + 1}, 90 % rule"] = words_of(main.choices[j].solution, names)
    return side_by_side(columns)


def _path_table(main: RuleRun) -> "pd.DataFrame":
    import pandas as pd

    frames = []
    for number, path in enumerate(main.paths, start=1):
        columns = {
            "component": number,
            "cardinality": path.cardinalities,
            "share": path.shares,
            "upper_bound": path.upper_bounds / path.dense_variance,
            "verdict": [solution.verdict for solution in path.solutions],
        }
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def _deflation_table(runs: dict[str, RuleRun], found: _Findings) -> "pd.DataFrame":
    import pandas as pd

    rows = []
    for kind, run in runs.items():
        row: dict[str, object] = {"deflation": kind}
        for j, paper in enumerate(PAPER_WORDS):
            row[f"component {j + 1}: words that keep 90 %"] = run.cardinalities[j]
            row[f"component {j + 1}: of the paper's {len(paper)}"] = found.deflation_overlaps[kind][j]
        row["variance together (%)"] = round(100 * run.span, 3)
        row["lowest eigenvalue left (% of the largest)"] = round(100 * run.lowest, 2) + 0.0
        rows.append(row)
    return pd.DataFrame(rows)
