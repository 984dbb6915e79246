"""Make the pictures of docs/pictures.md again: run the code of the page in this folder, where it saves them."""

import os
import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
folder = Path(__file__).parent
page = (folder.parent.parent / "pictures.md").read_text(encoding="utf-8")
os.chdir(folder)
space: dict[str, object] = {}
for block in re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
    exec(block, space)
for picture in sorted(folder.glob("*.png")):
    print(picture.name, f"{picture.stat().st_size / 1000:.0f} kB")
