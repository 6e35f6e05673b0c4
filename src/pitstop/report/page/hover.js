// Shows the values under the pointer; the page says everything without it, but for single values.
// A live page replaces its plots: nothing here holds on to one.
"use strict";
(() => {
  const read = new WeakMap();
  let pointed = null, share = 1;

  function dataOf(plots) {
    if (!read.has(plots)) {
      const source = plots.parentElement.querySelector('script[type="application/json"]');
      read.set(plots, source ? JSON.parse(source.textContent) : null);
    }
    return read.get(plots);
  }
  function plotsOf(event) {
    const plots = event.target.closest ? event.target.closest(".plots") : null;
    return plots && dataOf(plots) ? plots : null;
  }

  const units = ["bytes", "kB", "MB", "GB", "TB"];
  function size(value) {
    let unit = 0;
    while (value >= 1000 && unit < units.length - 1) { value /= 1000; unit += 1; }
    return `${value.toFixed(unit ? 1 : 0)} ${units[unit]}`;
  }
  function text(value, unit) {
    switch (unit) {
      case "bytes": return size(value);
      case "count": return Math.round(value).toLocaleString("en-US");
      case "share": return `${(100 * value).toFixed(0)}%`;
      case "per second": return `${value < 100 ? +value.toPrecision(3) : Math.round(value)}/s`;
      case "celsius": return `${value.toFixed(0)} °C`;
      default: return String(+value.toPrecision(4));
    }
  }
  function duration(seconds) {
    const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
    let rest = Math.round(seconds);
    const said = [];
    for (const [length, name] of parts) {
      const count = Math.floor(rest / length);
      rest -= count * length;
      if (count && said.length < 2) said.push(`${count} ${name}`);
    }
    return said.join(" ") || "start";
  }

  // Points lie flat: time, value, time, value; times rise.
  function nearest(points, at) {
    let low = 0, high = points.length / 2 - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (points[2 * middle] < at) low = middle + 1; else high = middle;
    }
    if (low && at - points[2 * low - 2] < points[2 * low] - at) low -= 1;
    return points[2 * low + 1];
  }

  function outputsOf(plots) {
    return [plots.parentElement.querySelector(".when"), [...plots.querySelectorAll(".panel output")]];
  }
  function show(plots) {
    pointed = plots;
    const data = dataOf(plots), [when, outputs] = outputsOf(plots);
    const at = share * data.seconds;
    plots.style.setProperty("--at", share);
    plots.classList.add("pointed");
    const close = data.marks.filter(([time]) => Math.abs(time - at) <= data.seconds / 100);
    const clock = new Date(1000 * (data.start + at)).toLocaleTimeString();
    const said = close.length ? ` · ${close[close.length - 1][1]}` : "";
    when.textContent = `${duration(at)} (${clock})${said}`;
    data.panels.forEach((panel, i) => {
      outputs[i].textContent = panel.series
        .filter((each) => each.points.length)
        .map((each) => text(nearest(each.points, at), panel.unit))
        .join(" · ");
    });
  }
  function hide() {
    if (!pointed) return;
    const [when, outputs] = outputsOf(pointed);
    pointed.classList.remove("pointed");
    when.textContent = "";
    outputs.forEach((each) => { each.textContent = ""; });
    pointed = null;
  }
  function point(event) {
    const plots = plotsOf(event);
    if (!plots) {
      if (event.pointerType === "mouse") hide();
      return;
    }
    const box = plots.querySelector(".signs").getBoundingClientRect();
    share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    show(plots);
  }

  addEventListener("pointermove", point);
  addEventListener("pointerdown", point);
  document.documentElement.addEventListener("pointerleave", hide);
  addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -0.01, ArrowRight: 0.01 }[event.key], plots = plotsOf(event);
    if (event.key === "Escape") hide();
    if (!move || !plots) return;
    event.preventDefault();
    share = Math.min(1, Math.max(0, share + move));
    show(plots);
  });
  addEventListener("replaced", (event) => {
    const plots = pointed && !pointed.isConnected ? event.target.querySelector(".plots") : null;
    if (plots && dataOf(plots)) show(plots);
  });
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((each) => { each.open = true; });
  });
})();
