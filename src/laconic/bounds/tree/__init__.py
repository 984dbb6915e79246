"""Branch and bound with the row-level relaxation: `search` is the engine, `run` is one tree."""
