"""Pictures by matplotlib: one picture a file, each with its display object."""
