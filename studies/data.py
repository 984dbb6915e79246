"""The larger data sets of the studies and the benchmarks, read from the folder that LACONIC_DATA names."""

import gzip
import math
import os
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, load_npz
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.utils import Bunch

from laconic.datasets import load_pitprops

# The matrices of the sparse PCA literature, smallest first, and whether they are correlations.
BENCHMARKS = {
    "pitprops": True,
    "wine": True,
    "wdbc": False,
    "ionosphere": True,
    "miniBoone": True,
    "lung": True,
    "geography": True,
    "Eisen1": False,
    "communities": True,
    "lymphoma500": False,
}


def data_folder():
    """Return the folder that the environment variable LACONIC_DATA names."""
    name = os.environ.get("LACONIC_DATA", "")
    folder = Path(name).expanduser()
    if not name or not folder.is_dir():
        state = f"is {name!r}, which is not a folder" if name else "is not set"
        raise FileNotFoundError(
            f"LACONIC_DATA {state}: set it to a folder for the larger data sets, and make them there with "
            "`python -m benchmarks.data all`."
        )
    return folder


# The matrices that are computed from data of laconic and scikit-learn.
WITHOUT_FILE = {
    "pitprops": lambda: load_pitprops().covariance,
    "wine": lambda: np.corrcoef(load_wine().data, rowvar=False),
    "wdbc": lambda: _second_moments(load_breast_cancer().data),
}


def load_benchmark(name):
    """Load a covariance or correlation matrix of the sparse PCA literature, one of `BENCHMARKS`."""
    if name not in BENCHMARKS:
        raise ValueError(f"There is no benchmark {name!r}; choose one of {', '.join(BENCHMARKS)}.")
    if name in WITHOUT_FILE:
        return Bunch(covariance=WITHOUT_FILE[name](), is_correlation=BENCHMARKS[name])
    with np.load(_path("benchmarks", f"{name}.npz")) as archive:
        return Bunch(covariance=archive["S"].astype(np.float64), is_correlation=BENCHMARKS[name])


def _second_moments(X):
    """Return the matrix that the literature calls the covariance of wdbc: X'X of rows of length one tenth.

    Sums are exact before their last rounding, so every machine gets the same numbers.
    """
    squares = np.array([[math.fsum(row**2)] for row in X])
    return np.array([[math.fsum(column) for column in (X * X[:, [j]] / squares).T] for j in range(X.shape[1])]) / 100


def load_news100():
    """Load the paper's first news data: whether each of 100 words occurs in each of 16,242 postings (Roweis)."""
    groups = _table("20news_w100", "groups.csv.gz")["name"].to_numpy(dtype=str)
    return Bunch(**_counts("20news_w100", "words.txt", "documents.npz"), groups=groups)


def load_newsgroups():
    """Load the word counts of the 20 newsgroups, 18,821 postings by 93,864 words (Lang 1995)."""
    documents = _table("20newsgroups", "docs.csv.gz")
    return Bunch(**_counts("20newsgroups", "vocab.txt.gz"), groups=documents["label"].to_numpy(dtype=str))


def load_reuters_c50():
    """Load the word counts of 5000 newswire articles of 1996-97, by 41,947 words; 1114 of them mention China."""
    documents = _table("reutersC50", "docs.csv.gz")
    return Bunch(
        **_counts("reutersC50", "vocab.txt.gz"), mentions_china=(documents["mentions_china"] == "1").to_numpy()
    )


def load_kos():
    """Load the word counts of 3430 entries of the blog Daily Kos, by 6906 words (UCI bag of words)."""
    return _counts("kos", "vocab.txt")


def load_marrow4k():
    """Load the raw RNA counts of 4142 single cells of human bone marrow, by 16,106 genes (Setty et al. 2019)."""
    return _counts("marrow4k", "genes.txt.gz")


def load_colon():
    """Load the raw expression of 2000 genes in 62 colon tissues, 40 of them tumors (Alon et al. 1999)."""
    with np.load(_path("gene_expression", "colon_alon_62x2000.npz")) as archive:
        return Bunch(data=archive["X"].astype(np.float64), is_tumor=archive["y"] < 0)  # The file has -1 for tumors.


def load_stocks():
    """Load daily log returns of 470 stocks of the S&P 500, June 2005 to June 2010, the paper's 1259 trading days."""
    companies = _table("sp500_2005_2010", "tickers.csv")
    prices = pd.read_csv(_path("sp500_2005_2010", "adjclose.csv.gz"), index_col="date", parse_dates=["date"])
    if list(prices.columns) != list(companies["symbol"]):
        raise ValueError("The columns of adjclose.csv.gz are not the symbols of tickers.csv.")
    return Bunch(
        prices=prices,
        returns=np.log(prices).diff().iloc[1:],
        names=list(companies["company"]),
        sectors=companies["sector"].to_numpy(dtype=str),
    )


def _path(folder, name):
    path = data_folder() / folder / name
    if not path.is_file():
        source = Path(name).stem if folder == "benchmarks" else folder
        raise FileNotFoundError(
            f"LACONIC_DATA names a folder without {folder}/{name}: make it with `python -m benchmarks.data {source}`."
        )
    return path


def _table(folder, name):
    return pd.read_csv(_path(folder, name), dtype=str, keep_default_na=False)


def _counts(folder, words, counts="counts.npz"):
    # As float64: the files store 8 or 16 bits, in which a product such as data.T @ data would overflow.
    data = csr_array(load_npz(_path(folder, counts)).astype(np.float64))
    # A vocabulary has one word a line. Python's splitlines would also split inside some words.
    path = _path(folder, words)
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    names = tuple(text.decode("utf-8").removesuffix("\n").split("\n"))
    if len(names) != data.shape[1]:
        raise ValueError(f"{len(names)} feature names do not fit {data.shape[1]} columns of {folder}.")
    return Bunch(data=data, feature_names=names)
