"""Safe elimination: features that provably no better support holds."""
