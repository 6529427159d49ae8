"""The description as a page: plain HTML made here, no script, nothing from elsewhere."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from html import escape
from typing import Any, Final

from fastapi import Response

_STYLE: Final = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent); }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .5rem 0; padding: .5rem .8rem; }
summary { cursor: pointer; overflow-wrap: anywhere; }
summary b { display: inline-block; min-width: 4rem; font-family: ui-monospace, monospace; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
pre { overflow-x: auto; border: 1px solid var(--line); border-radius: .4rem; padding: .5rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0; border-top: 1px solid var(--line); }
"""
_POLICY: Final = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    f"style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'"
)


def response(openapi: Mapping[str, Any]) -> Response:
    """Return the page of an OpenAPI description."""
    return Response(html(openapi), media_type="text/html", headers={"Content-Security-Policy": _POLICY})


def html(openapi: Mapping[str, Any]) -> str:
    """Return an OpenAPI description as HTML."""
    info = openapi["info"]
    groups: dict[str, list[str]] = {}
    for path, operations in openapi["paths"].items():
        for method, operation in operations.items():
            shown = "".join(_operation(openapi, method.upper(), path, operation))
            groups.setdefault(operation.get("tags", ["other"])[0], []).append(shown)
    body = "".join(f"<h2>{escape(name)}</h2>{''.join(shown)}" for name, shown in groups.items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(info["title"])} API</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body><main>'
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{_prose(info['description'])}</p>"
        f'<p><a href="openapi.json">openapi.json</a></p>{body}</main></body></html>'
    )


def _operation(openapi: Mapping[str, Any], method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    summary, _, rest = operation.get("description", operation.get("summary", "")).partition("\n\n")
    yield f"<details><summary><b>{method}</b> <code>{escape(path)}</code> {_prose(summary)}</summary>"
    if rest:
        yield f"<p>{_prose(rest)}</p>"
    given = operation.get("parameters", ())
    rows = [(one["name"], f"in {one['in']}", one["schema"], one.get("description")) for one in given]
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = _resolved(openapi, content["schema"])
        rows += [
            (name, "in the body" + (", needed" if name in schema.get("required", ()) else ""), one, None)
            for name, one in schema.get("properties", {}).items()
        ]
        example = next(iter(schema.get("examples", ())), None)
        if example is not None:
            yield f"<pre>{escape(_curl(method, path, media_type, example))}</pre>"
    if rows:
        yield "<table><tr><th>name</th><th>where</th><th>what</th></tr>"
        for name, where, schema, told in rows:
            what = told or schema.get("description") or _type(openapi, schema)
            yield f"<tr><td><code>{escape(name)}</code></td><td>{escape(where)}</td><td>{_prose(what)}</td></tr>"
        yield "</table>"
    yield "<table><tr><th>status</th><th>meaning</th></tr>"
    for status, one in sorted(operation["responses"].items()):
        yield f"<tr><td>{escape(status)}</td><td>{_prose(one.get('description', ''))}</td></tr>"
    yield "</table></details>"


def _curl(method: str, path: str, media_type: str, example: Any) -> str:
    body = json.dumps(example, ensure_ascii=False).replace("'", "'\\''")
    return f"curl -X {method} http://127.0.0.1:8000{path} -H 'Content-Type: {media_type}' -d '{body}'"


def _type(openapi: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    schema = _resolved(openapi, schema)
    if "anyOf" in schema:
        return " or ".join(_type(openapi, one) for one in schema["anyOf"] if one.get("type") != "null")
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type(openapi, schema['items'])}"
    return str(schema.get("type", schema.get("title", "any value")))


def _resolved(openapi: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: Mapping[str, Any] = openapi["components"]["schemas"][name] if name else schema
    return found


def _prose(text: str) -> str:
    """Return a text with its words in backticks as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if n % 2 else part for n, part in enumerate(parts))
