"""The page in a real browser: what the scripts do, what people see, and that nothing leaves the machine."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from tests.report.browser import console_of, open_browser, printed, requests_of, show, why_no_browser
from tests.report.models import HOSTILE, hostile, senate

import laconic
from laconic import SparsePCA

pytestmark = pytest.mark.skipif(why_no_browser() is not None, reason=str(why_no_browser()))


@pytest.fixture(scope="module")
def browser():
    with open_browser() as driver:
        driver.get("about:blank")
        yield driver


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of the Senate votes."""
    votes, frame, model = senate()
    place = tmp_path_factory.mktemp("page") / "senate.html"
    return model.report(frame, place, color=votes.parties, labels=votes.senators, title="The 109th Senate")


@pytest.fixture
def opened(browser, page):
    requests_of(browser), console_of(browser)  # forget those of an earlier test
    show(browser, page)
    return browser


def one(driver, selector):
    return driver.find_element("css selector", selector)


def texts(driver, selector):
    return [found.text for found in driver.find_elements("css selector", selector)]


def slide_to(driver, selector, value):
    driver.execute_script(
        "const s = document.querySelector(arguments[0]); s.value = arguments[1]; s.dispatchEvent(new Event('input'));",
        selector,
        str(value),
    )


def asked_for(driver):
    return [address for address in requests_of(driver) if not address.startswith("chrome:")]


def test_every_picture_is_drawn_nothing_is_asked_for_and_nothing_goes_wrong(opened, page):
    charts = opened.find_elements("css selector", ".chart svg[aria-label]")
    assert len(charts) == 5
    assert all(chart.size["height"] > 100 for chart in charts)
    drawn = opened.execute_script("return Array.from(document.querySelectorAll('.chart'), (e) => e.innerHTML).join('')")
    assert "NaN" not in drawn
    assert "undefined" not in drawn
    one(opened, "#rows-arrows").click()
    slide_to(opened, "#slider-1", 12)
    assert asked_for(opened) == [page.as_uri()]
    assert console_of(opened) == []
    fetched = opened.execute_async_script("fetch('https://example.org').then(arguments[0], () => arguments[0]('no'))")
    assert fetched == "no"
    assert any("Content Security Policy" in line for line in console_of(opened))


def test_the_slider_shows_the_set_of_so_many_variables(opened):
    path = laconic.path(SparsePCA(), senate()[1], sizes=20)
    before = texts(opened, "#support-1 .name")
    slide_to(opened, "#slider-1", 8)
    assert texts(opened, "#support-1 .name") == path.names(8)
    assert one(opened, "#shown-1").text == "8"
    words = one(opened, "#words-1").text.replace("\u00a0", " ")
    share, limit = (float(word) for word in re.findall(r"([\d.]+) %", words))
    assert share <= 100 * path.values[7] / path.total_variance < share + 0.1
    assert limit - 0.1 < 100 * path.upper_bounds[7] / path.total_variance <= limit
    one(opened, "#back-1").click()
    assert texts(opened, "#support-1 .name") == before
    assert not one(opened, "#back-1").is_enabled()


def test_everything_works_by_keyboard_and_the_curve_by_click(opened):
    from selenium.webdriver import ActionChains, Keys

    ActionChains(opened).send_keys(Keys.TAB).perform()
    assert opened.switch_to.active_element.text == "Skip to the answer"
    wanted = {"rows-x", "rows-y", "rows-arrows", "rows-labels", "slider-1", "slider-2", "search", "search-top"}
    for _ in range(70):
        ActionChains(opened).send_keys(Keys.TAB).perform()
        wanted.discard(opened.switch_to.active_element.get_attribute("id"))
        if not wanted:
            break
    assert not wanted
    labels = "return Array.from(document.querySelectorAll('input, select')).filter((e) => !e.labels.length).length"
    assert opened.execute_script(labels) == 0
    slider = one(opened, "#slider-2")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert len(texts(opened, "#support-2 .name")) == 3
    assert slider.get_attribute("aria-valuetext") == "3 variables"
    picture = one(opened, "#path-chart-2 svg")
    ActionChains(opened).move_to_element_with_offset(picture, picture.size["width"] // 2 - 16, 0).click().perform()
    assert one(opened, "#shown-2").text == "20"


def test_the_plane_can_be_turned_and_cleared_and_the_search_finds_variables(opened):
    arrows = "#rows-chart [aria-label=arrow] path"
    assert len(opened.find_elements("css selector", arrows)) == 7
    one(opened, "#rows-arrows").click()
    assert opened.find_elements("css selector", arrows) == []
    opened.execute_script(
        "const s = document.querySelector('#rows-x'); s.value = '1'; s.dispatchEvent(new Event('change'));"
    )
    assert "Component 2" in one(opened, "#rows-chart [aria-label^='x-axis label']").text
    search = one(opened, "#search")
    search.send_keys("h.r. 30")
    found = texts(opened, "#search-table .name")
    assert found[0] == "H.R. 3045"  # the one that a component uses
    assert sorted(found) == sorted(name for name in senate()[1] if "H.R. 30" in name)
    search.send_keys("x")
    assert "0 of 0 variables" in one(opened, "#search-count").text


def test_hostile_names_are_harmless_and_shown_as_they_are(browser, tmp_path):
    frame, model = hostile()
    place = model.report(frame, tmp_path / "page.html", title=HOSTILE[0], color=[HOSTILE[i % 5] for i in range(40)])
    requests_of(browser), console_of(browser)
    show(browser, place)
    assert browser.title == HOSTILE[0]
    assert json.loads(one(browser, "#numbers").get_attribute("textContent"))["names"] == HOSTILE
    slide_to(browser, "#slider-1", 12)
    shown = browser.execute_script(
        "return Array.from(document.querySelectorAll('#support-1 .name'), (e) => e.textContent)"
    )
    assert sorted(shown) == sorted(HOSTILE)
    assert browser.find_elements("css selector", "img") == []
    one(browser, "#search").send_keys("__proto__")
    assert texts(browser, "#search-table .name") == ["__proto__"]
    assert console_of(browser) == []
    assert asked_for(browser) == [place.as_uri()]
    for width in (1400, 390):
        show(browser, place, width=width)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_names_that_begin_alike_differ_in_pictures(browser, tmp_path):
    rows = np.random.default_rng(0).standard_normal((30, 4))
    rows[:, :4] += 2 * rows[:, [0]]
    names = [f"share of households in the district with {what}" for what in ("a car", "a bicycle", "a garden", "a dog")]
    frame = pd.DataFrame(rows, columns=names)
    place = SparsePCA(cardinality=[4, 4]).fit(frame).report(frame, tmp_path / "page.html")
    show(browser, place)
    for chart in ("#loadings-chart", "#rows-chart"):
        words = browser.execute_script(
            "return Array.from(document.querySelectorAll(arguments[0] + ' text'), (e) => e.textContent)", chart
        )
        ends = [word.rstrip("\u2069")[-5:] for word in words if "\u2026" in word]
        assert len(ends) >= 2
        assert len(set(ends)) == len(ends), "no two are the same"


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot(parts, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_colour_schemes_and_on_a_phone(browser, page, scheme):
    show(browser, page, width=390, height=800, scheme=scheme)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    assert one(browser, "#path-chart-1 svg").size["width"] > 300
    ground = luminance(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
    assert (ground > 0.5) == (scheme == "light")
    for selector in ("body", ".small", "a", ".badge", "thead th"):
        colour = browser.execute_script("return getComputedStyle(document.querySelector(arguments[0])).color", selector)
        low, high = sorted([ground, luminance(colour)])
        assert (high + 0.05) / (low + 0.05) >= 4.5, selector


def test_paper_has_no_controls_and_everything_else(browser, page, tmp_path):
    show(browser, page)
    slide_to(browser, "#slider-1", 9)
    printed(browser, tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    assert len(texts(browser, "#support-1 .name")) == 5  # the model's own set, wherever the slider was
    assert not any(one(browser, hidden).is_displayed() for hidden in (".controls", "nav", "#variables"))
    assert all(found.is_displayed() for found in browser.find_elements("css selector", "#components table"))
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert luminance(colour) == pytest.approx(1)


def test_one_component_no_names_no_data_and_no_scripts(browser, page, tmp_path):
    rows = np.random.default_rng(0).standard_normal((50, 6))
    model = SparsePCA(cardinality=2).fit(rows)
    requests_of(browser), console_of(browser)
    show(browser, model.report(rows, tmp_path / "one.html", color=np.arange(50.0)))
    assert one(browser, "#rows-chart svg").is_displayed()
    assert not one(browser, "#rows-controls").is_displayed()
    show(browser, model.report(None, tmp_path / "none.html"))
    assert texts(browser, "#support-1 .name") == [str(j) for j in model.loadings()["feature"]]
    assert console_of(browser) == []
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        show(browser, page)
        assert "The pictures need JavaScript" in one(browser, "main > noscript").text
        assert len(texts(browser, "#support-1 tbody tr")) == 5
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
