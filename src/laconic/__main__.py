"""`python -m laconic` is the same as `laconic`."""

from laconic.cli import app

app(prog_name="laconic")
