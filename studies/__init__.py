"""The paper's applications, repeated: `python -m studies senate --out folder` makes tables, pictures and a page."""

STUDIES = ("news", "china", "senate", "stocks", "random-matrices", "recovery")
