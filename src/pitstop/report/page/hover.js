// Shows the values under the pointer; the page says everything without it, but for single values.
"use strict";
(() => {
  const source = document.getElementById("timeline");
  const plots = document.querySelector(".plots");
  if (!source || !plots) return;
  const data = JSON.parse(source.textContent);
  const outputs = [...plots.querySelectorAll(".panel output")];
  const when = document.querySelector(".when");
  const area = plots.querySelector(".signs");
  let share = 1;

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

  function show() {
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
  function point(event) {
    const box = area.getBoundingClientRect();
    share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    show();
  }
  function hide() {
    plots.classList.remove("pointed");
    when.textContent = "";
    outputs.forEach((each) => { each.textContent = ""; });
  }

  plots.addEventListener("pointermove", point);
  plots.addEventListener("pointerdown", point);
  plots.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
  plots.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -0.01, ArrowRight: 0.01 }[event.key];
    if (event.key === "Escape") hide();
    if (!move) return;
    event.preventDefault();
    share = Math.min(1, Math.max(0, share + move));
    show();
  });
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((each) => { each.open = true; });
  });
})();
