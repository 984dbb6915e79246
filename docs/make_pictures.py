"""Make the pictures of docs/pictures.md again: run the code of the page where its pictures are."""

import os
import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
here = Path(__file__).parent
folder = here / "images" / "pictures"
page = (here / "pictures.md").read_text(encoding="utf-8")
os.chdir(folder)
space: dict[str, object] = {}
for block in re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
    exec(block, space)
for picture in sorted(folder.glob("*.png")):
    print(picture.name, f"{picture.stat().st_size / 1000:.0f} kB")
