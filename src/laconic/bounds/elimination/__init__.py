"""Safe elimination: remove features that provably belong to no better support."""
