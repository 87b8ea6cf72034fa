"""A headless Chromium shared by all tests of pages, which are skipped with the reason if it is missing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class Browser:
    """A page in the browser: shown values, controls, logged errors and requests."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path, width: int = 1200, dark: bool = False) -> None:
        """Open a file in a window of the given width, and clear the logs."""
        colour = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [colour]})
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(path.as_uri())

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).textContent", selector))

    def number(self, selector: str) -> float:
        return float(self.text(selector).replace(",", "").replace("−", "-"))

    def set(self, selector: str, value: object, event: str = "input") -> None:
        """Set a control as a user would."""
        script = (
            "const e = document.querySelector(arguments[0]); e.value = arguments[1];"
            "e.dispatchEvent(new Event(arguments[2], {bubbles: true}));"
        )
        self.run(script, selector, str(value), event)

    def threshold(self) -> float:
        """Return the exact threshold at the slider."""
        script = (
            "const all = JSON.parse(document.getElementById('explorer-data').textContent).problems;"
            "const chosen = document.getElementById('explorer-problem');"
            "return all[chosen ? Number(chosen.value) : 0].t[Number(document.getElementById('explorer-step').value)]"
        )
        return float(self.run(script))

    def counts(self) -> tuple[float, ...]:
        """Return tp, fp, fn, tn as shown."""
        shown = self._shown("count")
        return tuple(shown[name] for name in ("tp", "fp", "fn", "tn"))

    def measures(self) -> dict[str, float]:
        """Return all measures as shown."""
        return self._shown("measure")

    def _shown(self, kind: str) -> dict[str, float]:
        cells = self.run(
            "return [...document.querySelectorAll(`[data-${arguments[0]}]`)].map(e => "
            "[e.dataset[arguments[0]], e.textContent])",
            kind,
        )
        return {name: float(value.replace(",", "").replace("−", "-")) for name, value in cells}

    def errors(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> list[str]:
        """Return the addresses requested since the page was opened."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    binary = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        missing = "chromium" if binary is None else "chromedriver"
        pytest.skip(f"{missing} is not installed (Debian: apt-get install chromium chromium-driver)")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        yield Browser(chrome)
    finally:
        chrome.quit()
