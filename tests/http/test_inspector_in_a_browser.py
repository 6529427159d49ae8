"""The inspector in a real browser: found, opened, edited, forgotten, by mouse and keyboard, wide and narrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest
from browsing import axe_findings, chromium
from browsing_elsewhere import elsewhere

pytest.importorskip("fastapi")
pytest.importorskip("selenium")

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from siltstone import TieredMemory
from siltstone.access import Tokens, make_token

STORED = "<script>document.title = 'taken over'</script><img src=x onerror=\"document.title = 'taken over'\">"
PATIENCE = 60
"""Seconds for a page to come, on a busy machine."""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One browser for the tests of this file."""
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def page(driver: Any) -> Page:
    """A browser that knows nothing of any service."""
    driver.delete_all_cookies()
    return Page(driver)


@pytest.fixture
def filled(memory: TieredMemory) -> TieredMemory:
    """A memory with something of everything."""
    said = [
        ("user", "I'm Alice, a front-end engineer in Shenzhen. My cat is called Tofu."),
        ("assistant", "Nice to meet you both!"),
        ("user", f"My nickname is {STORED}"),
        ("user", "我的猫叫豆腐，我喜欢用 Python 写自动化脚本。"),
    ]
    ids = memory.add(said, session_id="monday", created_at=datetime.now(timezone.utc) - timedelta(days=1))
    memory.remember("Alice is a front-end engineer in Shenzhen.", kind="profile", source_ids=ids[:1])
    soon = datetime.now(timezone.utc) + timedelta(days=5)
    memory.remember("Alice flies to Oslo.", kind="event", occurred_at=soon)
    memory.remember("The cat is called Tofu.", source_ids=ids[:1], id="tofu")
    memory.consolidate()
    return memory


class Page:
    """What is on the screen."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, client: httpx.Client, path: str = "/") -> Page:
        """Go to a page of a service."""
        self.driver.get(f"{str(client.base_url).rstrip('/')}{path}")
        return self

    @property
    def text(self) -> str:
        """What can be read."""
        return str(self.driver.find_element(By.TAG_NAME, "body").text)

    def click(self, css: str) -> Page:
        """Click on something that leads to another page, and wait for this."""
        element = self.driver.find_element(By.CSS_SELECTOR, css)
        self._leading_on(element.click)
        return self

    def follow(self, words: str) -> Page:
        """Follow the first link that says so."""
        self._leading_on(self.driver.find_element(By.PARTIAL_LINK_TEXT, words).click)
        return self

    def write(self, css: str, words: str, *, then_enter: bool = False) -> Page:
        """Write into a field."""
        element = self.driver.find_element(By.CSS_SELECTOR, css)
        element.clear()
        element.send_keys(words)
        if then_enter:
            self._leading_on(lambda: element.send_keys(Keys.ENTER))
        return self

    def _leading_on(self, act: Callable[[], Any]) -> None:
        self.driver.execute_script("window.isOld = true")
        act()
        WebDriverWait(self.driver, PATIENCE).until(
            lambda driver: driver.execute_script("return !window.isOld && document.readyState === 'complete'")
        )


def test_search_open_edit_refresh_forget(client: httpx.Client, filled: TieredMemory, page: Page) -> None:
    """A fact is found, opened beside its source, edited, still so when the page is asked for again, and forgotten."""
    page.open(client).write("#q", "What is the cat called?", then_enter=True)
    assert page.driver.find_elements(By.CSS_SELECTOR, ".hits svg.bar rect.plus")
    page.follow("The cat is called Tofu.")
    assert "My cat is called Tofu." in page.driver.find_element(By.ID, "sources").text
    assert [mark.text for mark in page.driver.find_elements(By.CSS_SELECTOR, "#sources mark")]

    page.write("#text", "The cat is called Mochi.").click("#edit button")
    assert filled.get("tofu").text == "The cat is called Mochi."  # type: ignore[union-attr]
    page.driver.refresh()
    assert "The cat is called Mochi." in page.driver.find_element(By.ID, "itself").text
    assert "The cat is called Tofu." in page.driver.find_element(By.ID, "history").text

    page.click("#itself .deeds a.danger")
    assert "What goes" in page.text
    page.click("button.danger")
    assert "Forgotten: 1." in page.driver.find_element(By.CSS_SELECTOR, "[role=status]").text
    assert "tofu" not in {record.id for record in filled.records()}
    page.driver.refresh()
    assert "Mochi" not in page.text


def test_a_memory_is_pinned_by_its_button(client: httpx.Client, filled: TieredMemory, page: Page) -> None:
    """The button says what it will do next."""
    page.open(client, "/inspector/record?id=tofu").click("#itself .deeds button")

    assert filled.get("tofu").pinned  # type: ignore[union-attr]
    assert page.driver.find_element(By.CSS_SELECTOR, "#itself .deeds button").text == "Unpin"


def test_a_stored_script_stays_a_text(client: httpx.Client, filled: TieredMemory, page: Page) -> None:
    """It can be read wherever it is shown, and never runs."""
    for path in ("/inspector/search?q=nickname", "/inspector/session?id=monday", "/inspector/timeline?kind=all"):
        page.open(client, path)

        assert STORED in page.text, path
        assert "taken over" not in page.driver.title, path


def test_the_page_speaks_chinese(client: httpx.Client, filled: TieredMemory, page: Page) -> None:
    """The switch turns every word of it; what was said in Chinese is found and edited."""
    page.open(client).follow("中文")
    assert page.driver.find_element(By.TAG_NAME, "html").get_attribute("lang") == "zh"
    assert "已知内容" in page.text

    page.write("#q", "我的猫叫什么？", then_enter=True)
    page.follow("我的猫叫豆腐")
    page.write("#text", "我的猫叫麻薯。").click("#edit button")
    assert "已保存。" in page.text
    assert "我的猫叫麻薯。" in [record.text for record in filled.records()]
    assert "What is known" not in page.text


def test_the_keyboard_is_enough(client: httpx.Client, filled: TieredMemory, page: Page) -> None:
    """The first stop leads past the menu; a slash goes to the search."""
    page.open(client)
    page.driver.switch_to.active_element.send_keys(Keys.TAB)
    first = page.driver.switch_to.active_element
    assert first.text == "Skip to the content"
    first.send_keys(Keys.ENTER)
    assert page.driver.switch_to.active_element.get_attribute("id") == "content"

    page.driver.switch_to.active_element.send_keys("/")
    assert page.driver.switch_to.active_element.get_attribute("id") == "q"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [380, 1280])
def test_every_page_can_be_used_by_everybody(
    client: httpx.Client, filled: TieredMemory, page: Page, width: int, dark: bool
) -> None:
    """axe-core finds nothing serious on any page, and none is wider than the screen, whatever its width and colours."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    for path in (
        "/",
        "/inspector/search?q=cat",
        "/inspector/timeline",
        "/inspector/session?id=monday",
        "/inspector/record?id=tofu",
        "/inspector/record?id=nobody",
        "/inspector/forget?session=monday",
        "/inspector/work",
        "/inspector/digests",
    ):
        page.open(client, path)
        assert axe_findings(page.driver) == [], path
        assert page.driver.execute_script("return document.documentElement.scrollWidth") <= width, path
    assert page.driver.find_elements(By.CSS_SELECTOR, "article fieldset"), "the last page has digests to judge"


def test_nothing_is_asked_of_anybody_else(client: httpx.Client, filled: TieredMemory, page: Page) -> None:
    """Style and script come from the service itself, the policy blocks neither, and the console is silent."""
    page.driver.get_log("browser")
    page.open(client)

    asked = page.driver.execute_script("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert {one.removeprefix(str(client.base_url).rstrip("/")) for one in asked} >= {
        "/inspector/page.css",
        "/inspector/page.js",
    }
    assert all(one.startswith(str(client.base_url)) for one in asked)
    assert page.driver.get_log("browser") == []
    assert page.driver.find_element(By.CSS_SELECTOR, "time[data-moment]").text.find("UTC") == -1


def test_logging_in_and_out(
    serve: Callable[..., httpx.Client], filled: TieredMemory, page: Page, tmp_path: Path
) -> None:
    """The token opens one's own memory, in a cookie that scripts cannot read; after logging out nothing is shown."""
    token = make_token(tmp_path / "tokens", name="alice", user_id="default")
    client = serve(filled, tokens=Tokens(tmp_path / "tokens"))

    page.open(client, "/inspector/record?id=tofu")
    assert "Tofu" not in page.text
    page.write("#token", "sst_wrong", then_enter=True)
    assert "not good" in page.driver.find_element(By.CSS_SELECTOR, "[role=alert]").text
    assert axe_findings(page.driver) == []
    page.open(client, "/inspector/record?id=tofu").write("#token", token, then_enter=True)
    assert "The cat is called Tofu." in page.text
    assert page.driver.execute_script("return document.cookie") == ""
    page.click("header button")
    page.open(client, "/inspector/record?id=tofu")
    assert "Tofu" not in page.text
    assert page.driver.get_cookie("siltstone_token") is None


def test_a_link_on_another_site_leads_to_ones_memory(
    serve: Callable[..., httpx.Client], filled: TieredMemory, page: Page, tmp_path: Path
) -> None:
    """Who is logged in stays so, though the browser sends no cookie along with such a link; open forms stay good."""
    token = make_token(tmp_path / "tokens", name="alice", user_id="default")
    client = serve(filled, tokens=Tokens(tmp_path / "tokens"))
    page.open(client).write("#token", token, then_enter=True)
    browser = page.driver.get_cookie("siltstone_browser")["value"]

    with elsewhere(f'<a href="{client.base_url.join("/inspector/record")}?id=tofu">memory</a>') as url:
        page.driver.get(url.replace("127.0.0.1", "localhost"))
        page.driver.find_element(By.LINK_TEXT, "memory").click()
        WebDriverWait(page.driver, PATIENCE).until(lambda _: "The cat is called Tofu." in page.text)

    assert page.driver.get_cookie("siltstone_browser")["value"] == browser


def test_a_page_of_another_site_changes_nothing(client: httpx.Client, filled: TieredMemory, page: Page) -> None:
    """A form on another origin that posts here is refused, though the browser has been here before."""
    page.open(client)
    before = filled.revision
    target = f"{str(client.base_url).rstrip('/')}/inspector/forget?session=monday"
    with elsewhere(f'<form method="post" action="{target}"><button>win</button></form>') as url:
        page.driver.get(url)
        page.click("button")

    assert "another origin" in page.text
    assert filled.revision == before
