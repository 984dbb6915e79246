"""Several components whose span holds the most variance: the question, its starts, and two ways to improve them."""
