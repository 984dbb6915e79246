"""Spends work to lower an upper bound: elimination of features, relaxations, branch and bound."""
