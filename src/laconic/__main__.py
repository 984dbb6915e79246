"""`python -m laconic` runs the same program as `laconic`."""

from laconic.cli import app

app(prog_name="laconic")
