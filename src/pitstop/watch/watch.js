// Puts what has changed into the page, and sends what is pressed.
"use strict";
(() => {
  const said = document.querySelector(".said");
  const controls = document.querySelector(".controls");
  const FOCUSABLE = "a, button, summary, [tabindex]";

  // URLs are relative: the page may lie behind a proxy that adds a path.
  function place(more) {
    const query = new URLSearchParams(location.search);
    Object.entries(more).forEach(([name, value]) => query.set(name, value));
    return `?${query}`;
  }

  // What a reader has opened, scrolled or focused stays as it was.
  function replace(part, html) {
    const opened = [...part.querySelectorAll("details")].map((each) => each.open);
    const focused = [...part.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement);
    const log = part.querySelector("pre");
    const scrolled = log && log.scrollTop + log.clientHeight < log.scrollHeight - 4 ? log.scrollTop : null;
    part.innerHTML = html;
    part.querySelectorAll("details").forEach((each, i) => {
      if (i < opened.length) each.open = opened[i];
    });
    if (focused >= 0) {
      const same = part.querySelectorAll(FOCUSABLE)[focused];
      if (same) same.focus({ preventScroll: true });
    }
    settle(part, scrolled);
    part.dispatchEvent(new Event("replaced", { bubbles: true }));
  }

  function settle(part, scrolled) {
    const log = part.querySelector("pre");
    if (log) log.scrollTop = scrolled === null ? log.scrollHeight : scrolled;
    const now = part.querySelector("[data-state]");
    if (now) show(now.dataset.state);
  }

  let state = null;
  function show(now) {
    if (controls) controls.hidden = !["starting", "running", "suspended", "stopping"].includes(now);
    if (state !== null && state !== now) tell(`The run is ${now}.`);
    state = now;
  }
  function tell(text) {
    said.textContent = text;
  }

  document.querySelectorAll(".part").forEach((part) => settle(part, null));
  let events = null;
  function listen() {
    if (events) events.close();
    // A page that nobody sees costs nothing.
    if (document.hidden) return;
    events = new EventSource(place({ view: "events" }));
    events.addEventListener("part", (event) => {
      const { id, html } = JSON.parse(event.data);
      replace(document.getElementById(id), html);
    });
    events.onopen = () => document.body.classList.remove("lost");
    events.onerror = () => document.body.classList.add("lost");
  }
  document.addEventListener("visibilitychange", listen);
  listen();

  async function press(button) {
    const buttons = controls.querySelectorAll("button");
    buttons.forEach((each) => { each.disabled = true; });
    tell("…");
    try {
      const answer = await fetch(place({ do: button.dataset.do }), { method: "POST" });
      tell(await answer.text());
    } catch {
      tell("pitstop watch does not answer.");
    }
    buttons.forEach((each) => { each.disabled = false; });
  }
  if (controls) {
    controls.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) press(button);
    });
  }
})();
