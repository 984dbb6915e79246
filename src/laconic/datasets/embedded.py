"""The two tables that come with the package: pit props and the votes of the 109th Senate."""

from datetime import date
from importlib.resources import files

import numpy as np
import pandas as pd
from sklearn.utils import Bunch


def load_pitprops() -> Bunch:
    """Load the correlations of Jeffers' pit props, the oldest benchmark of sparse PCA.

    Thirteen features of 180 mine props of Corsican pine were measured. Only their correlation matrix is still
    available, printed to three digits. The best support of five features is topdiam, length, ringbut, bowdist and
    whorls. Its variance is 3.406155.

    Returns
    -------
    sklearn.utils.Bunch
        An object with these attributes:

        - ``covariance``: the correlation matrix, of shape (13, 13).
        - ``frame``: the same as a pandas.DataFrame, with names.
        - ``feature_names``: the names of the measurements, a tuple of str.
        - ``n_samples``: the number of props, 180.
        - ``description``: the source of the numbers.

    References
    ----------
    J. N. R. Jeffers, "Two case studies in the application of principal component analysis", Applied Statistics 16
    (1967), 225-236.
    """
    table = _read("pitprops.csv").astype(np.float64)
    names = tuple(table.columns)
    return Bunch(
        covariance=table.to_numpy(copy=True),
        frame=table.set_axis(names, axis="index"),
        feature_names=names,
        n_samples=180,
        description="Correlations of 13 measurements on 180 pit props of Corsican pine (Jeffers, 1967).",
    )


def load_senate109() -> Bunch:
    """Load the votes of the 109th US Senate on the passage of 48 bills.

    These are the paper's Senate data: every roll call on the question "On Passage of the Bill". Yea is 1, nay is -1,
    everything else (absent, present, not in office) is 0. There are 101 senators because Menendez took Corzine's seat
    in January 2006. The paper gives the years 2000-2004, but the 109th Senate met in 2005 and 2006.

    Returns
    -------
    sklearn.utils.Bunch
        An object with these attributes:

        - ``frame``: the votes as a pandas.DataFrame, with senators as its index and bills as its columns.
        - ``data``: the same as an array of shape (101, 48).
        - ``feature_names``: the bills, such as ``S. 1932``, in the order of their votes. No bill occurs twice.
        - ``titles``, ``vote_ids``, ``dates``: the title of each bill in the record, session and number of its roll
          call, such as ``1-303``, and the day of the vote.
        - ``yeas``, ``nays``: the totals of each vote in the record.
        - ``senators``: name, party and state, such as ``McCain (R-AZ)``. Two senators are called Nelson, but no entry
          occurs twice.
        - ``parties``, ``states``: the party of each senator, ``R``, ``D`` or ``I``, and the state in two letters.
        - ``description``: the source of the votes.

    References
    ----------
    Y. Zhang, A. d'Aspremont and L. El Ghaoui, "Sparse PCA: convex relaxations, algorithms and applications",
    Handbook on Semidefinite, Conic and Polynomial Optimization (2012), section "Senate voting data".
    Roll calls: https://voteview.com.
    """
    bills, votes = _read("senate109_bills.csv"), _read("senate109_votes.csv")
    names = tuple(bills["bill"])
    senators = votes["senator"] + " (" + votes["party"] + "-" + votes["state"] + ")"
    frame = votes[list(names)].astype(np.float64).set_axis(senators.rename("senator"), axis="index")
    return Bunch(
        data=frame.to_numpy(copy=True),
        frame=frame.rename_axis(columns="bill"),
        feature_names=names,
        titles=tuple(bills["title"]),
        vote_ids=tuple(bills["vote_id"]),
        dates=tuple(date.fromisoformat(day) for day in bills["date"]),
        yeas=bills["yeas"].to_numpy(dtype=np.intp),
        nays=bills["nays"].to_numpy(dtype=np.intp),
        senators=tuple(senators),
        parties=tuple(votes["party"]),
        states=tuple(votes["state"]),
        description='Roll calls "On Passage of the Bill" in the 109th US Senate, 2005-2006 (voteview).',
    )


def _read(name: str) -> pd.DataFrame:
    with files("laconic.datasets").joinpath("files", name).open(encoding="utf-8") as text:
        return pd.read_csv(text, dtype=str)
