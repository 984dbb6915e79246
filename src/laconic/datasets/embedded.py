"""The two tables that come with the package: pit props and the votes of the 109th Senate."""

from datetime import date
from importlib.resources import files

import numpy as np
import pandas as pd
from sklearn.utils import Bunch


def load_pitprops() -> Bunch:
    """Load the correlations of Jeffers' pit props, the oldest benchmark of sparse PCA.

    Thirteen features of 180 mine props of Corsican pine were measured. Only their correlation matrix, printed to three
    digits, is left. The best five features are topdiam, length, ringbut, bowdist and whorls, of variance 3.406155.

    Returns
    -------
    sklearn.utils.Bunch
        An object with these attributes:

        - ``covariance``, ``frame``: the correlation matrix as an array, and as a pandas.DataFrame with names.
        - ``feature_names``: the names of the measurements, a tuple of str.
        - ``n_samples``: the number of props, 180; ``description``: the source of the numbers.

    References
    ----------
    J. N. R. Jeffers, "Two case studies in the application of principal component analysis", Applied Statistics 16
    (1967), 225-236.

    Examples
    --------
    >>> from laconic.datasets import load_pitprops
    >>> load_pitprops().feature_names[:3]
    ('topdiam', 'length', 'moist')
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

    Every roll call of https://voteview.com on the question "On Passage of the Bill". Yea is 1, nay is -1, everything
    else (absent, present, not in office) is 0. There are 101 senators because Menendez took Corzine's seat in January
    2006. Zhang, d'Aspremont and El Ghaoui (2012) use these data; they give the years as 2000-2004.

    Returns
    -------
    sklearn.utils.Bunch
        An object with these attributes:

        - ``frame``, ``data``: the votes as a pandas.DataFrame of senators and bills, and as an array.
        - ``feature_names``: the bills, such as ``S. 1932``, in the order of their votes. No bill occurs twice.
        - ``titles``, ``vote_ids``, ``dates``: each bill's title, roll call (``1-303``) and day.
        - ``yeas``, ``nays``: the totals of each vote in the record; ``description``: the source of the votes.
        - ``senators``: such as ``McCain (R-AZ)``; ``parties``: ``R``, ``D`` or ``I``; ``states``: two letters.

    Examples
    --------
    >>> from laconic.datasets import load_senate109
    >>> load_senate109().frame.shape
    (101, 48)
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
