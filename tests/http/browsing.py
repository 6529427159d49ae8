"""A headless Chromium that has never been used."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromedriver")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars", "--lang=en",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip


@contextmanager
def chromium(profile: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> Iterator[Any]:
    """Start a browser with an empty profile, as wide as is said, and end it. Skips where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver")
    for program in PROGRAMS:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which(PROGRAMS[0])
    for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which(PROGRAMS[1])))
    try:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        yield driver
    finally:
        driver.quit()


def axe_findings(driver: Any) -> list[str]:
    """Return what axe-core finds of serious or critical impact on the page that is open."""
    axe = files(pytest.importorskip("selenium_axe_python")) / "axe-core" / "axe.min.js"
    driver.execute_script(axe.read_text(encoding="utf-8"))
    found = driver.execute_async_script("const end = arguments[0]; axe.run().then(end, (e) => end(String(e)));")
    assert isinstance(found, dict), found
    return [
        f"{one['id']} ({one['impact']}): {node['html'][:200]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
