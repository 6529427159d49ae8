"""Style and script of the report, and the policy that allows these two and nothing else."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --text: #1b1b1f; --quiet: #55555e; --back: #fbfaf8; --card: #fff; --line: #d9d6d0;
  --mark: #fff0b3; --flag: #8f1d1d; --flag-back: #fdeaea; --accent: #1f5f8b; }
@media (prefers-color-scheme: dark) { :root { --text: #ececf1; --quiet: #a9a9b4; --back: #17171b; --card: #202026;
  --line: #3a3a43; --mark: #5c4f14; --flag: #ffb4ab; --flag-back: #43211f; --accent: #8ec7f0; } }
* { box-sizing: border-box; }
body { margin: 0; font: 1rem/1.55 system-ui, "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif;
  color: var(--text); background: var(--back); }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--card); padding: .5rem; }
header, main { max-width: 72rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; margin: .5rem 0; } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; }
.quiet { color: var(--quiet); font-size: .875rem; }
.bar { position: sticky; bottom: 0; background: var(--card); border-top: 1px solid var(--line); padding: .75rem 1rem;
  display: flex; gap: 1rem; align-items: center; justify-content: center; }
button { font: inherit; padding: .4rem 1rem; border: 1px solid var(--accent); border-radius: .4rem;
  background: var(--accent); color: var(--back); cursor: pointer; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
article { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; margin: .75rem 0;
  display: grid; grid-template-columns: 1fr 1fr; gap: .5rem 1.5rem; }
article.flagged { border-left: .3rem solid var(--flag); }
@media (max-width: 46rem) { article { grid-template-columns: 1fr; } }
.text { white-space: pre-wrap; overflow-wrap: anywhere; margin: .25rem 0; }
.flags { list-style: none; margin: .4rem 0; padding: 0; display: flex; flex-wrap: wrap; gap: .4rem; }
.flags li { color: var(--flag); background: var(--flag-back); border: 1px solid currentColor; border-radius: .3rem;
  padding: 0 .45rem; font-size: .875rem; }
.sources { margin: .25rem 0; padding: 0; list-style: none; max-height: 24rem; overflow-y: auto; }
.sources li { border-top: 1px solid var(--line); padding: .4rem 0; } .sources li:first-child { border-top: 0; }
mark { background: var(--mark); color: inherit; border-radius: .15rem; }
u { text-decoration: underline wavy var(--flag); text-underline-offset: .2em; }
fieldset { grid-column: 1 / -1; border: 0; border-top: 1px solid var(--line); margin: 0; padding: .5rem 0 0; }
legend { float: left; padding: 0; margin-right: 1rem; } label { margin-right: 1.25rem; white-space: nowrap; }
@media print { .bar, .skip { display: none; } .sources { max-height: none; } article { break-inside: avoid; } }
"""
SCRIPT: Final = """
"use strict";
(() => {
  const main = document.querySelector("main");
  const status = document.querySelector("#status");
  let unsaved = false;
  const verdicts = () => [...main.querySelectorAll("input:checked")].map((input) => {
    const about = input.closest("fieldset").dataset;
    return { digest: about.digest, item: about.item, mark: about.mark, verdict: input.value };
  });
  const tell = () => {
    const all = main.querySelectorAll("fieldset").length;
    status.textContent = status.dataset.text.replace("{n}", verdicts().length).replace("{all}", all);
  };
  main.addEventListener("change", () => { unsaved = true; tell(); });
  document.querySelector("#save").addEventListener("click", () => {
    const saved = { format: main.dataset.format, version: Number(main.dataset.version), user_id: main.dataset.user,
      verdicts: verdicts() };
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(saved, null, 1)], { type: "application/json" }));
    link.download = "verdicts.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    unsaved = false;
  });
  addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
  tell();
})();
"""


def policy() -> str:
    """Return the Content Security Policy: our own style and script by their hashes; no network, no frames, no forms."""
    style, script = (f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in (STYLE, SCRIPT))
    return f"default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'"
