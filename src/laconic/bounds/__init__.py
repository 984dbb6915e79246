"""Upper bounds: the least that an effort buys."""
