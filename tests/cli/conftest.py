import pandas as pd
import pytest
from tests.cli.commands import genes

from laconic.datasets import load_pitprops


@pytest.fixture(scope="session")
def table():
    return genes()


@pytest.fixture
def csv(table, tmp_path):
    table.to_csv(tmp_path / "genes.csv", index=False)
    return tmp_path / "genes.csv"


@pytest.fixture
def pitprops_csv(tmp_path):
    pitprops = load_pitprops()
    names = list(pitprops.feature_names)
    pd.DataFrame(pitprops.covariance, index=names, columns=names).to_csv(tmp_path / "pitprops.csv")
    return tmp_path / "pitprops.csv"
