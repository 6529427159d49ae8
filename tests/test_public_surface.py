"""The names that are promised: complete, sorted, documented."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import siltstone
from siltstone import TieredMemory, errors, protocols, records, testing

VERBS = (
    "add",
    "replace_session",
    "remember",
    "search",
    "context",
    "window",
    "messages",
    "sessions",
    "get",
    "records",
    "update",
    "forget",
    "consolidate",
    "export_to",
    "import_from",
    "flush",
    "stats",
    "close",
)


def test_all_is_sorted_and_complete() -> None:
    """``siltstone.__all__`` is sorted, and holds every public name of the package root that is not a module."""
    here = {name for name, value in vars(siltstone).items() if not name.startswith("_") and not inspect.ismodule(value)}

    assert siltstone.__all__ == sorted(siltstone.__all__)
    assert here - {"annotations", "Any", "TYPE_CHECKING"} <= set(siltstone.__all__)
    assert all(hasattr(siltstone, name) for name in siltstone.__all__)


def test_every_error_is_exported() -> None:
    """Whoever catches an error of siltstone can import it from the root, and all have one root."""
    raised = {name for name, value in vars(errors).items() if inspect.isclass(value)}

    assert raised <= set(siltstone.__all__)
    assert all(issubclass(getattr(errors, name), siltstone.SiltstoneError) for name in raised)


def test_unknown_names_are_attribute_errors() -> None:
    """The lazy root refuses names that it does not have as any module would."""
    with pytest.raises(AttributeError, match="no attribute 'Memory'"):
        siltstone.Memory  # noqa: B018 - the access is the test


def test_the_version_is_a_string() -> None:
    """``siltstone.__version__`` is there without a build."""
    assert siltstone.__version__.count(".") == 2


def _public() -> Iterator[tuple[str, Any]]:
    for module in (siltstone, records, protocols, testing):
        names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
        for name in names:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                if not value.__module__.startswith("siltstone"):
                    continue
                yield f"{module.__name__}.{name}", value
                if inspect.isclass(value):
                    for member, inner in vars(value).items():
                        if not member.startswith("_") and (inspect.isroutine(inner) or isinstance(inner, property)):
                            yield f"{module.__name__}.{name}.{member}", inner


PUBLIC = dict(_public())


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented(name: str) -> None:
    """Every public class, function, method and property says what it is for."""
    assert (inspect.getdoc(PUBLIC[name]) or "").strip(), f"{name} has no docstring"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_an_async_twin(verb: str) -> None:
    """``aadd`` takes what ``add`` takes, and so on for each verb; ``arecords`` hands its conditions on."""
    twin = inspect.signature(getattr(TieredMemory, f"a{verb}")).parameters
    plain = inspect.signature(getattr(TieredMemory, verb)).parameters

    assert inspect.iscoroutinefunction(getattr(TieredMemory, f"a{verb}"))
    assert list(twin) == list(plain) or "conditions" in twin


@pytest.mark.parametrize("verb", ["open", "reembed", "for_user", *VERBS])
def test_every_parameter_of_a_verb_is_documented(verb: str) -> None:
    """Each argument that a caller may pass is explained where the verb or the class is."""
    method = getattr(TieredMemory, verb)
    told = f"{inspect.getdoc(method)}\n{inspect.getdoc(TieredMemory)}"
    missing = [
        parameter
        for parameter in inspect.signature(method).parameters
        if parameter not in ("self", "cls", "query", "text", "id", "location")
        and not re.search(rf"\b{parameter}\b", told)
    ]

    assert not missing, f"TieredMemory.{verb} does not explain {', '.join(missing)}"
