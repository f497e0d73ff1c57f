"""What a user sees: the demo's traces in a real Phoenix, through a real browser.

Set RAGTRACE_PICTURE to a path to keep the picture of the README. Phoenix orders attributes anew each time it starts:
the picture is taken only where diagnosis and faithfulness are in view together, so run it until there is one.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support import expected_conditions as expect
from selenium.webdriver.support.ui import WebDriverWait

from ragtrace.errors import MissingExtra
from ragtrace_collector.demo.phoenix import phoenix
from ragtrace_collector.demo.run import run

pytestmark = pytest.mark.slow

PATIENCE = 90
CAUSE = "contradicts_documents"
FLAGS = (
    *(
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-sync",
    ),
    *("--disable-background-networking", "--disable-component-update", "--window-size=1640,1300"),
)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("no chromium and chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(flag)
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    yield chrome
    chrome.quit()


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    try:
        with phoenix(tmp_path) as url:
            yield url
    except MissingExtra as missing:
        pytest.skip(str(missing))


def test_scores_are_found_on_the_span_in_phoenix(url: str, browser: webdriver.Chrome) -> None:
    """Filtering by the diagnosis finds the right questions, and the span holds its scores."""
    shown = run(["--export", f"{url}/v1/traces"], lambda _: None)
    expected = {one.scene.question for one in shown if one.evaluation.diagnosis.cause == CAUSE}
    assert expected
    wait = WebDriverWait(browser, PATIENCE)
    browser.get(f"{url}/projects")
    wait.until(expect.element_to_be_clickable((By.PARTIAL_LINK_TEXT, "default"))).click()
    condition = wait.until(expect.element_to_be_clickable((By.CSS_SELECTOR, ".cm-content")))
    condition.click()
    condition.send_keys(Keys.CONTROL, "a")
    condition.send_keys(f"attributes['ragtrace']['diagnosis'] == '{CAUSE}'")
    condition.send_keys(Keys.ESCAPE, Keys.ENTER)
    wait.until(lambda page: len(page.find_elements(By.CSS_SELECTOR, "tbody tr")) == len(expected))
    text = browser.find_element(By.CSS_SELECTOR, "tbody").text
    assert all(question in text for question in expected)

    row = next(
        r for r in browser.find_elements(By.CSS_SELECTOR, "tbody tr") if "How long do refunds" in r.text
    )
    row.find_element(By.LINK_TEXT, "ask").click()
    wait.until(
        expect.element_to_be_clickable((By.XPATH, "//*[@role='tab'][contains(., 'Attributes')]"))
    ).click()
    wait.until(expect.presence_of_element_located((By.XPATH, "//tr[contains(., 'ragtrace.faithfulness')]")))
    named = "//tr[td[normalize-space(.)='ragtrace.diagnosis' or normalize-space(.)='ragtrace.faithfulness']]"
    first, last = sorted(browser.find_elements(By.XPATH, named), key=lambda row: row.location["y"])
    browser.execute_script("arguments[0].scrollIntoView({block: 'start'})", first)
    bottom = browser.execute_script("return arguments[0].getBoundingClientRect().bottom - innerHeight", last)
    panel = browser.find_element(By.XPATH, "//table[.//tr[contains(., 'ragtrace.faithfulness')]]").text
    assert "ragtrace.diagnosis" in panel
    assert CAUSE in panel
    assert "0.5" in panel
    if bottom <= 0 and (picture := os.environ.get("RAGTRACE_PICTURE")):
        browser.save_screenshot(picture)
