"""The l0 relaxation: the bound in closed form and the ascent that lowers it."""
