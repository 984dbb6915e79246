"""Makes the picture of the page for the documents: python -m tests.report.picture docs/images/page.png."""

import sys
import tempfile
from pathlib import Path

from PIL import Image
from tests.report.browser import open_browser, picture, show

from laconic.cli.demo import demo

WIDTH = 1400
# The picture ends below the first component.
END = "return document.querySelector('#component-1').getBoundingClientRect().bottom + scrollY + 30"


def main(place):
    with tempfile.TemporaryDirectory() as folder, open_browser() as driver:
        demo(Path(folder))
        show(driver, Path(folder) / "senate.html", width=WIDTH)
        whole = Path(folder) / "page.png"
        picture(driver, whole, width=WIDTH, height=driver.execute_script(END))
        with Image.open(whole) as image:
            image.convert("RGB").save(place, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
