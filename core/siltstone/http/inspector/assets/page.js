// Comforts only: every page works without.

const inOwnZone = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
for (const time of document.querySelectorAll("time[data-moment]")) {
  time.title = time.textContent;
  time.textContent = inOwnZone.format(new Date(time.dateTime));
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select");
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    document.querySelector("#q")?.focus();
  }
});

let unsaved = false;
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("input", () => { unsaved = true; });
  form.addEventListener("submit", () => { unsaved = false; });
}
addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
