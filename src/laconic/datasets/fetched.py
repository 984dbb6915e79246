"""Larger data sets, read from the folder in the environment variable LACONIC_DATA."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TextIO, cast

import numpy as np
from scipy.sparse import csr_array, load_npz

from laconic.core.arrays import Floats, Mask
from laconic.datasets.tables import Counts, CountTable, CovarianceTable, Strings, read_columns

if TYPE_CHECKING:
    import pandas as pd

VARIABLE = "LACONIC_DATA"
FOLDERS = (
    "benchmarks",
    "20news_w100",
    "20newsgroups",
    "reutersC50",
    "kos",
    "marrow4k",
    "gene_expression",
    "sp500_2005_2010",
)


class _Benchmark(NamedTuple):
    kind: Literal["correlation", "covariance"]
    description: str


_BENCHMARKS = {
    "pitprops": _Benchmark("correlation", "Jeffers' pit props, 13 measurements of pine props."),
    "wine": _Benchmark("correlation", "Italian wines, 13 chemical measurements (UCI)."),
    "wdbc": _Benchmark("covariance", "Breast cancer, Wisconsin, 30 measurements of cell nuclei (UCI)."),
    "ionosphere": _Benchmark("correlation", "Radar returns from the ionosphere, 34 measurements (UCI)."),
    "miniBoone": _Benchmark("correlation", "Particle identification at MiniBooNE, 50 measurements (UCI)."),
    "lung": _Benchmark("correlation", "Lung cancer, 54 measurements (UCI)."),
    "geography": _Benchmark("correlation", "Geographical origin of music, 68 audio features (UCI)."),
    "Eisen1": _Benchmark("covariance", "Gene expression of Eisen, 79 variables."),
    "communities": _Benchmark("correlation", "Communities and crime, 101 variables (UCI)."),
    "lymphoma500": _Benchmark("covariance", "Lymphoma gene expression, 500 genes."),
}
BENCHMARKS = tuple(_BENCHMARKS)
"""The names that `load_benchmark` knows, smallest matrix first."""


@dataclass(frozen=True, eq=False, kw_only=True)
class News100(CountTable):
    """Occurrence of 100 words in postings to Usenet.

    Attributes
    ----------
    data, feature_names, description
        See `CountTable`; an entry is 1 if the posting has the word, else 0.
    groups : array of str of shape (n_samples,)
        The first part of each posting's newsgroup: ``comp.*``, ``rec.*``, ``sci.*`` or ``talk.*``.
    """

    groups: Strings = field(repr=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class Newsgroups(CountTable):
    """Word counts of the 20 newsgroups.

    Attributes
    ----------
    data, feature_names, description
        See `CountTable`.
    groups : array of str of shape (n_samples,)
        Each posting's newsgroup.
    splits : array of str of shape (n_samples,)
        ``train`` or ``test``.
    """

    groups: Strings = field(repr=False)
    splits: Strings = field(repr=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class ReutersC50(CountTable):
    """Word counts of Reuters newswire articles by 50 authors.

    Attributes
    ----------
    data, feature_names, description
        See `CountTable`.
    articles : array of str of shape (n_samples,)
        Each article's path within the original collection.
    authors : array of str of shape (n_samples,)
        Each article's author.
    splits : array of str of shape (n_samples,)
        ``train`` or ``test``.
    mentions_china : array of bool of shape (n_samples,)
        True for the articles that mention China. Each of them contains ``china`` or ``china's``.
    """

    articles: Strings = field(repr=False)
    authors: Strings = field(repr=False)
    splits: Strings = field(repr=False)
    mentions_china: Mask = field(repr=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class Marrow4k(CountTable):
    """Counts of RNA molecules in single cells of human bone marrow.

    Attributes
    ----------
    data, feature_names, description
        See `CountTable`; cells by genes.
    cells : array of str of shape (n_samples,)
        Each cell's identifier.
    """

    cells: Strings = field(repr=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class ColonExpression:
    """Gene expression in colon tissue.

    Attributes
    ----------
    data : array of shape (62, 2000)
        Expression levels, tissues by genes.
    feature_names : tuple of str
        ``gene0001`` to ``gene2000``, because the source has no names.
    is_tumor : array of bool of shape (62,)
        True for the 40 tumors, False for the 22 normal tissues.
    description : str
        The source of the numbers.
    """

    data: Floats = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    is_tumor: Mask = field(repr=False)
    description: str


@dataclass(frozen=True, eq=False, kw_only=True)
class StockPrices:
    """Daily closing prices of stocks in the S&P 500.

    Attributes
    ----------
    prices : pandas.DataFrame of shape (1259, 470)
        Closing prices with days as index and tickers as columns. They are adjusted for splits, and for dividends if the
        source did so.
    tickers, names, sectors : tuple of str
        Symbol, company and sector (of ten) of each column.
    notes : tuple of str
        Repairs that were made to each series of prices; empty for most.
    description : str
        The source of the prices.
    """

    prices: pd.DataFrame = field(repr=False)
    tickers: tuple[str, ...] = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    sectors: tuple[str, ...] = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)
    description: str

    def log_returns(self) -> pd.DataFrame:
        """Return daily log returns: log(price / price on the trading day before).

        Returns
        -------
        pandas.DataFrame of shape (1258, 470)
            One row fewer than ``prices``. Each return has the date of the later day.
        """
        import pandas as pd

        return pd.DataFrame(
            np.diff(np.log(self.prices.to_numpy()), axis=0), index=self.prices.index[1:], columns=self.prices.columns
        )


def data_folder() -> Path:
    """Return the folder with the larger data sets, from the environment variable ``LACONIC_DATA``.

    Returns
    -------
    pathlib.Path
        An existing folder.

    Raises
    ------
    FileNotFoundError
        If the variable is not set, or if it is not the path of a folder.
    """
    value = os.environ.get(VARIABLE, "")
    if not value:
        raise FileNotFoundError(_advice(f"{VARIABLE} is not set"))
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(_advice(f"{VARIABLE} is {value!r}, which is not a folder"))
    return folder


def load_benchmark(name: str) -> CovarianceTable:
    """Load a matrix of the sparse-PCA literature.

    Parameters
    ----------
    name : str
        One of `BENCHMARKS`.

    Returns
    -------
    CovarianceTable
        The matrix. Its features are called ``x1``, ``x2``, ..., because the files contain no names.

    References
    ----------
    L. Berk and D. Bertsimas, "Certifiably optimal sparse principal component analysis", Mathematical Programming
    Computation 11 (2019), 381-420, and its repository Optimal-SPCA. The other matrices are from later papers.
    """
    if name not in _BENCHMARKS:
        raise ValueError(f"There is no benchmark {name!r}; choose one of {', '.join(BENCHMARKS)}.")
    with np.load(_path("benchmarks", f"{name}.npz")) as archive:
        covariance = archive["S"].astype(np.float64)
    kind, description = _BENCHMARKS[name]
    return CovarianceTable(
        name=name,
        covariance=covariance,
        kind=kind,
        feature_names=tuple(f"x{j}" for j in range(1, len(covariance) + 1)),
        n_samples=None,
        description=description,
    )


def load_news100() -> News100:
    """Load the paper's first news data: whether each of 100 words occurs in each of 16,242 postings.

    Returns
    -------
    News100
        A row for each posting, a column for each word, and the group of each posting.

    References
    ----------
    S. Roweis, 20news_w100.mat; Y. Zhang, A. d'Aspremont and L. El Ghaoui, "Sparse PCA: convex relaxations, algorithms
    and applications" (2012), section "News data".
    """
    return News100(
        data=_counts("20news_w100", "documents.npz"),
        feature_names=_lines("20news_w100", "words.txt"),
        description="Binary occurrence of 100 words in postings of four Usenet groups (Roweis).",
        groups=np.array(_columns("20news_w100", "groups.csv.gz")["name"]),
    )


def load_newsgroups() -> Newsgroups:
    """Load the word counts of the 20 newsgroups, 18,821 postings by 93,864 words.

    Returns
    -------
    Newsgroups
        A row for each posting, a column for each word, the newsgroup of each posting, and the usual division into
        training and test set.

    References
    ----------
    K. Lang, "Newsweeder: learning to filter netnews", International Conference on Machine Learning (1995), 331-339.
    """
    documents = _columns("20newsgroups", "docs.csv.gz")
    return Newsgroups(
        data=_counts("20newsgroups", "counts.npz"),
        feature_names=_lines("20newsgroups", "vocab.txt.gz"),
        description="Word counts of the 20 newsgroups (Lang).",
        groups=np.array(documents["label"]),
        splits=np.array(documents["split"]),
    )


def load_reuters_c50() -> ReutersC50:
    """Load the word counts of 5000 newswire articles of 1996-97, by 41,947 words.

    The paper's 1288 articles of the New York Times are not public. The studies use the 1114 articles of this set that
    mention China instead.

    Returns
    -------
    ReutersC50
        A row for each article, a column for each word, the authors, the division into training and test set, and
        which articles mention China.

    References
    ----------
    J. Houvardas and E. Stamatatos, "N-gram feature selection for authorship identification", Artificial Intelligence:
    Methodology, Systems, and Applications (2006), 77-86.
    """
    documents = _columns("reutersC50", "docs.csv.gz")
    return ReutersC50(
        data=_counts("reutersC50", "counts.npz"),
        feature_names=_lines("reutersC50", "vocab.txt.gz"),
        description="Word counts of Reuters newswire articles by 50 authors, 1996-97.",
        articles=np.array(documents["path"]),
        authors=np.array(documents["author"]),
        splits=np.array(documents["split"]),
        mentions_china=np.array(documents["mentions_china"]) == "1",
    )


def load_kos() -> CountTable:
    """Load the word counts of 3430 entries of the blog Daily Kos, by 6906 words.

    Returns
    -------
    CountTable
        A row for each entry, a column for each word.

    References
    ----------
    D. Newman, "Bag of words", UCI Machine Learning Repository (2008).
    """
    return CountTable(
        data=_counts("kos", "counts.npz"),
        feature_names=_lines("kos", "vocab.txt"),
        description="Word counts of entries of the blog Daily Kos (UCI bag of words).",
    )


def load_marrow4k() -> Marrow4k:
    """Load the RNA counts of 4142 single cells of human bone marrow, by 16,106 genes.

    Returns
    -------
    Marrow4k
        A row for each cell, a column for each gene. The counts are raw: not normalised, without logarithm.

    References
    ----------
    M. Setty et al., "Characterization of cell fate probabilities in single-cell data with Palantir", Nature
    Biotechnology 37 (2019), 451-460.
    """
    return Marrow4k(
        data=_counts("marrow4k", "counts.npz"),
        feature_names=_lines("marrow4k", "genes.txt.gz"),
        description="RNA counts of single cells of human bone marrow (Palantir).",
        cells=np.array(_lines("marrow4k", "cells.txt.gz")),
    )


def load_colon() -> ColonExpression:
    """Load the expression of 2000 genes in 62 colon tissues, 40 of them tumors.

    Returns
    -------
    ColonExpression
        A row for each tissue, a column for each gene. The levels are raw: not normalised, without logarithm.

    References
    ----------
    U. Alon et al., "Broad patterns of gene expression revealed by clustering analysis of tumor and normal colon
    tissues probed by oligonucleotide arrays", Proceedings of the National Academy of Sciences 96 (1999), 6745-6750.
    """
    with np.load(_path("gene_expression", "colon_alon_62x2000.npz")) as archive:
        data = archive["X"].astype(np.float64)
        is_tumor = archive["y"] < 0  # The file has -1 for tumors.
    return ColonExpression(
        data=data,
        feature_names=tuple(f"gene{j:04d}" for j in range(1, data.shape[1] + 1)),
        is_tumor=is_tumor,
        description="Gene expression in colon tumors and normal colon tissue (Alon et al., 1999).",
    )


def load_stocks() -> StockPrices:
    """Load the daily closes of 470 stocks of the S&P 500, 1 June 2005 to 1 June 2010.

    The period and its 1259 trading days are the paper's. The paper has 472 stocks.

    Returns
    -------
    StockPrices
        Prices, tickers, companies and sectors. Its method `log_returns` computes the daily log returns.

    References
    ----------
    Y. Zhang, A. d'Aspremont and L. El Ghaoui, "Sparse PCA: convex relaxations, algorithms and applications" (2012),
    section "Stock market data".
    """
    import pandas as pd  # Imported here because it is slow to import and only the stocks need it.

    companies = _columns("sp500_2005_2010", "tickers.csv")
    prices = pd.read_csv(_path("sp500_2005_2010", "adjclose.csv.gz"), index_col="date", parse_dates=["date"])
    if tuple(prices.columns) != companies["symbol"]:
        raise ValueError("The columns of adjclose.csv.gz are not the symbols of tickers.csv.")
    return StockPrices(
        prices=prices,
        tickers=companies["symbol"],
        names=companies["company"],
        sectors=companies["sector"],
        notes=companies["note"],
        description="Adjusted daily closes of stocks in the S&P 500, June 2005 to June 2010 (Yahoo, through QSTK).",
    )


def _advice(complaint: str) -> str:
    return f"{complaint}: set {VARIABLE} to a folder that holds {', '.join(FOLDERS)}."


def _path(folder: str, name: str) -> Path:
    root = data_folder()
    path = root / folder / name
    if not path.is_file():
        raise FileNotFoundError(_advice(f"{VARIABLE} is {str(root)!r}, which holds no {folder}/{name}"))
    return path


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def _columns(folder: str, name: str) -> dict[str, tuple[str, ...]]:
    with _open(_path(folder, name)) as lines:
        return read_columns(lines)


def _lines(folder: str, name: str) -> tuple[str, ...]:
    with _open(_path(folder, name)) as text:
        # str.splitlines would also break lines at characters that a word of the vocabulary may contain.
        return tuple(line.removesuffix("\r") for line in text.read().removesuffix("\n").split("\n"))


def _counts(folder: str, name: str) -> Counts:
    # Call astype first: SciPy's older matrix class and its newer array class both have it.
    return csr_array(cast("Counts", load_npz(_path(folder, name)).astype(np.float64)))
