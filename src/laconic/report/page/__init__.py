"""The report page: one file of HTML about a fitted model, with pictures, tables and proofs."""
