"""`laconic verify --explain`."""

import numpy as np
import pandas as pd
from commands import done, run

from laconic import SparsePCA


def table(folder):
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 6)).round(2), columns=list("abcdef"))
    X.to_csv(folder / "rows.csv", index=False)
    model = SparsePCA(2, cardinality=2).fit(X)
    return X, model.certificates_[1].save(folder / "proof.json")


def test_a_proof_is_told(tmp_path):
    _, path = table(tmp_path)
    text = done("verify", path, tmp_path / "rows.csv", "--explain").stdout
    assert text.startswith("1. The claim\n   The component with these loadings on ")
    assert "\n3. The matrix S\n" in text
    assert "The earlier component z is taken out" in text
    assert "\n7. Conclusion\n" in text
    assert "\n\nAccepted. Optimal: " in text


def test_the_step_that_fails_is_named(tmp_path):
    X, path = table(tmp_path)
    (2 * X).to_csv(tmp_path / "other.csv", index=False)
    result = run("verify", path, tmp_path / "other.csv", "--explain")
    assert result.exit_code == 1
    assert "2. The data are those of the certificate: this step fails\n   This certificate is about" in result.output
    assert "3. " not in result.output
