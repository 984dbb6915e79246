"""The two tables that come with the package: pit props and the votes of the 109th Senate."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from laconic.core.arrays import Floats, Indices
from laconic.datasets.tables import CovarianceTable, read_columns

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, kw_only=True)
class Senate109:
    """Votes of 101 senators on the 48 bills of the 109th US Senate, 2005-2006.

    Attributes
    ----------
    data : array of shape (101, 48)
        1 for yea, -1 for nay, 0 for anything else (absent, present, not in office).
    feature_names : tuple of str
        The bills, such as ``S. 1932``, in the order of their votes. No bill occurs twice.
    titles : tuple of str
        The title of each bill in the record.
    vote_ids : tuple of str
        Session and number of each roll call, such as ``1-303``.
    dates : tuple of datetime.date
        The day of each vote.
    yeas, nays : array of shape (48,)
        The totals of each vote in the record.
    senators : tuple of str
        Name, party and state, such as ``McCain (R-AZ)``. No name occurs twice, although two senators are called Nelson.
    parties : tuple of str
        The party of each senator: ``R``, ``D`` or ``I``.
    states : tuple of str
        The state of each senator, in two letters.
    description : str
        The source of the votes.
    """

    data: Floats = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    titles: tuple[str, ...] = field(repr=False)
    vote_ids: tuple[str, ...] = field(repr=False)
    dates: tuple[date, ...] = field(repr=False)
    yeas: Indices = field(repr=False)
    nays: Indices = field(repr=False)
    senators: tuple[str, ...] = field(repr=False)
    parties: tuple[str, ...] = field(repr=False)
    states: tuple[str, ...] = field(repr=False)
    description: str

    def to_frame(self) -> pd.DataFrame:
        """Return the votes as a frame, with senators as its index and bills as its columns.

        Returns
        -------
        pandas.DataFrame of shape (101, 48)
            A copy of ``data`` with names.
        """
        import pandas as pd  # Imported here because it is slow to import and only this method needs it.

        return pd.DataFrame(
            self.data.copy(),
            index=pd.Index(self.senators, name="senator"),
            columns=pd.Index(self.feature_names, name="bill"),
        )


def load_pitprops() -> CovarianceTable:
    """Load the correlations of Jeffers' pit props, the oldest benchmark of sparse PCA.

    Thirteen features of 180 mine props of Corsican pine were measured. Only their correlation matrix is still
    available, printed to three digits. The best support of five features is topdiam, length, ringbut, bowdist and
    whorls. Its variance is 3.406155.

    Returns
    -------
    CovarianceTable
        The 13 x 13 correlation matrix in ``covariance``, with names.

    References
    ----------
    J. N. R. Jeffers, "Two case studies in the application of principal component analysis", Applied Statistics 16
    (1967), 225-236.
    """
    columns = _read("pitprops.csv")
    return CovarianceTable(
        name="pitprops",
        covariance=np.array(list(columns.values()), dtype=np.float64),
        kind="correlation",
        feature_names=tuple(columns),
        n_samples=180,
        description="Correlations of 13 measurements on 180 pit props of Corsican pine (Jeffers, 1967).",
    )


def load_senate109() -> Senate109:
    """Load the votes of the 109th US Senate on the passage of 48 bills.

    These are the paper's Senate data: every roll call on the question "On Passage of the Bill". Yea is 1, nay is -1,
    everything else is 0. There are 101 senators because Menendez took Corzine's seat in January 2006. The paper gives
    the years 2000-2004, but the 109th Senate met in 2005 and 2006.

    Returns
    -------
    Senate109
        The votes with names, parties, states, titles and dates.

    References
    ----------
    Y. Zhang, A. d'Aspremont and L. El Ghaoui, "Sparse PCA: convex relaxations, algorithms and applications",
    Handbook on Semidefinite, Conic and Polynomial Optimization (2012), section "Senate voting data".
    Roll calls: https://voteview.com.
    """
    bills = _read("senate109_bills.csv")
    votes = _read("senate109_votes.csv")
    names, parties, states = votes["senator"], votes["party"], votes["state"]
    return Senate109(
        data=np.array([votes[bill] for bill in bills["bill"]], dtype=np.float64).T.copy(),
        feature_names=bills["bill"],
        titles=bills["title"],
        vote_ids=bills["vote_id"],
        dates=tuple(date.fromisoformat(day) for day in bills["date"]),
        yeas=np.array(bills["yeas"], dtype=np.intp),
        nays=np.array(bills["nays"], dtype=np.intp),
        senators=tuple(f"{name} ({party}-{state})" for name, party, state in zip(names, parties, states, strict=True)),
        parties=parties,
        states=states,
        description='Roll calls "On Passage of the Bill" in the 109th US Senate, 2005-2006 (voteview).',
    )


def _read(name: str) -> dict[str, tuple[str, ...]]:
    with files("laconic.datasets").joinpath("files", name).open(encoding="utf-8") as lines:
        return read_columns(lines)
