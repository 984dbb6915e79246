"""A headless Chromium for the tests of the page, and for its picture: python -m tests.report.browser PICTURE."""

import base64
import contextlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

# Debian's names first. Others call the browser chrome.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)


def why_no_browser():
    """Return why there is no browser to test with, or None if there is one."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed: pip install '.[test]'"
    if shutil.which("chromedriver") is None or not any(shutil.which(name) for name in BROWSERS):
        return "there is no Chromium with its chromedriver: make browser"
    return None


@contextlib.contextmanager
def open_browser(width=1400, height=1000):
    """Yield a browser with an empty profile, which records its console and its requests."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = next(path for name in BROWSERS if (path := shutil.which(name)))
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # Chromium writes below the home folder, and needs the name of the user's folder for its settings.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for option in (*OPTIONS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
            options.add_argument(option)
        service = Service(shutil.which("chromedriver"), env={**os.environ, "HOME": profile})
        driver = webdriver.Chrome(options=options, service=service)
        try:
            yield driver
        finally:
            driver.quit()


def show(driver, path, *, width=1400, height=1000, scheme="light", media="screen"):
    """Open a file at a width, in a colour scheme, for the screen or for paper."""
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    # Selenium clicks at once, and does not wait for a smooth scroll.
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    driver.get(Path(path).resolve().as_uri())


def write_picture(place, width=1400):
    """Write the picture of the demo's page for the documents. It ends below the first component."""
    from laconic.cli.commands import demo

    with tempfile.TemporaryDirectory() as folder, open_browser() as driver:
        demo(Path(folder))
        show(driver, Path(folder) / "senate.html", width=width)
        end = "return document.querySelector('#component-1').getBoundingClientRect().bottom + scrollY + 30"
        clip = {"x": 0, "y": 0, "width": width, "height": driver.execute_script(end), "scale": 1}
        found = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
        Path(place).write_bytes(base64.b64decode(found["data"]))


def printed(driver, path):
    """Write the page as it is printed, as a PDF file."""
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    found = driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": False, "preferCSSPageSize": True})
    Path(path).write_bytes(base64.b64decode(found["data"]))


def requests_of(driver):
    """Return the addresses that the page has asked for so far."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]


def console_of(driver):
    """Return what the page wrote to the console so far: errors, warnings and messages."""
    return [entry["message"] for entry in driver.get_log("browser")]


if __name__ == "__main__":
    write_picture(sys.argv[1])
