/* A page of runs without a server: its data are in it, for every step and length at which its sliders stop.
   On the list of a gallery, which has none, it turns the theme alone. */
(function () {
  "use strict";
  const lens = window.lens, root = document.documentElement;
  const at = (id) => document.getElementById(id);
  const CONFIG = { displayModeBar: false, responsive: true };
  const AXES = { step: lens.uStep, length: lens.uLength };
  const SCHEME = "data-mantine-color-scheme";
  let data = null, run = null, index = 0;
  const place = { step: 0, length: 0 };
  const drawn = {};

  /* ---- the data: parts that stand at several places are written once --------------------------- */
  async function read() {
    const bytes = Uint8Array.from(atob(at("lens-data").textContent.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const given = JSON.parse(await new Response(stream).text()), made = [];
    const open = function (value) {
      if (Array.isArray(value)) return value.map(open);
      if (!value || typeof value !== "object") return value;
      if ("$" in value) return (made[value.$] ??= open(given.shared[value.$]));
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, open(one)]));
    };
    return open(given.root);
  }
  function of(slot) {  // what a slot holds at the cursor
    let i = 0;
    for (const part of slot.needs) i = i * run[part + "s"].length + place[part];
    return slot.made[i];
  }
  const where = (slot) => slot.needs.map((part) => place[part]).join(".");
  const value = (part) => run[part + "s"][place[part]];

  /* ---- words ------------------------------------------------------------------------------------ */
  function say(node, pieces) {
    node.replaceChildren(...pieces.map(function ([text, role]) {
      const style = data.roles[role];
      return style ? Object.assign(document.createElement("span"), { className: style, textContent: text }) : text;
    }));
  }
  function node(tag, given, ...children) {
    const made = Object.assign(document.createElement(tag), given);
    made.append(...children);
    return made;
  }
  let listed = null;
  function ledger() {
    const held = of(run.ledger);
    if (held === listed) return;
    listed = held;
    at("evidence").hidden = !held.said;
    at("ledger-said").textContent = "Evidence: " + held.said;
    at("ledger").replaceChildren(...held.rows.map(function (row) {
      const clause = node("button", { type: "button", className: "clause" });
      clause.dataset.mark = row.panel;
      say(clause, row.clause);
      const standing = node("span", { className: "standing " + row.style, textContent: row.label });
      const cells = row.cells.map((text, i) => node("td", { className: i < 4 ? "num right" : "", textContent: text }));
      return node("tr", {}, node("th", { scope: "row" }, clause), ...cells, node("td", {}, standing));
    }));
  }
  function words() {
    ledger();
    for (const [id, slot] of Object.entries(run.texts)) if (at(id)) say(at(id), of(slot));
    const step = lens.count(value("step")), length = lens.count(value("length"));
    const times = lens.multiple(value("length") / run.trained);
    const notes = { training: " at length " + length, length: " at step " + step, cursor: " step " + step + ", length " + length };
    for (const node of document.querySelectorAll("[data-at]")) node.textContent = notes[node.dataset.at];
    const inside = value("length") <= run.trained;
    at("step-value").textContent = step;
    const all = run.checkpoints <= run.steps.length;
    const nth = (all ? "checkpoint " : "") + (place.step + 1) + " of " + run.steps.length + (all ? "" : " shown, of " + run.checkpoints + " checkpoints");
    at("step-where").textContent = nth;
    at("step-note").textContent = "line: accuracy at length " + length;
    const tokens = of(run.tokens)[value("length")];  // of a question in a prompt: items are multiples of nothing
    at("length-value").textContent = tokens ? length : times + " × trained";
    const some = run.measured > run.lengths.length ? ", " + run.lengths.length + " shown of " + run.measured + " lengths" : "";
    at("length-where").textContent = (tokens ? lens.count(tokens) + " tokens" : "length " + length) + some;
    at("length-where").className = inside || tokens ? "where soft num" : "where train num";
    at("length-note").textContent = "line: accuracy at step " + step;
    at("step-slider").setAttribute("aria-valuetext", step + ", " + nth);
    at("length-slider").setAttribute("aria-valuetext", tokens ? length + " items" : times + " × trained, length " + length);
    at("length-slider").setAttribute("aria-label", tokens ? "Items" : "Prefix length");
    at("length-slider").closest(".cell").querySelector(".caption").textContent = tokens ? "Items" : "Prefix length";
  }

  /* ---- figures ---------------------------------------------------------------------------------- */
  const theme = () => (root.getAttribute(SCHEME) === "dark" ? "dark" : "light");
  function figures() {
    for (const [id, slot] of Object.entries(run.panels)) {
      const body = at(id + "-body"), key = [index, theme(), where(slot)].join("|");
      if (!body || drawn[id] === key) continue;
      drawn[id] = key;
      const held = of(slot);
      if (held.state) {
        const [head, why] = held.state;
        at(id + "-state").replaceChildren(
          Object.assign(document.createElement("p"), { className: "head strong", textContent: head }),
          Object.assign(document.createElement("p"), { textContent: why }),
        );
        at(id + "-slice").textContent = "";
        at(id + "-figure").setAttribute("aria-label", head + ". " + why);
        body.className = "body stated";
        continue;
      }
      const figure = structuredClone(held[theme()]);  // plotly.js writes into what it is given
      at(id + "-slice").textContent = figure.layout.meta.slice;
      at(id + "-figure").setAttribute("aria-label", figure.layout.meta.alt);
      body.className = "body ready";
      const graph = at(id + "-graph"), fresh = !graph.data;
      Plotly.react(graph, figure.data, figure.layout, CONFIG);
      if (fresh) graph.on("plotly_click", (event) => clicked(id, event));
      lens.frame(held[theme()], id);
    }
    sayOnce();
    lens.at.step = lens.uStep(value("step"));
    lens.at.length = lens.uLength(value("length"));
    lens.follow();
    lens.dots();
  }
  function sayOnce() {  // where all panels of a row say the same in place of a figure, the first says it over all of it
    for (const row of document.querySelectorAll(".matrix-row")) {
      const bodies = [...row.querySelectorAll(":scope > .pan > .body")];
      const said = bodies.map((body) => body.classList.contains("stated") && body.querySelector(".state").textContent);
      const alike = bodies.length > 1 && said.every((text) => text && text === said[0]);
      bodies.forEach(function (body, i) {
        body.classList.toggle("speaks", alike && !i);
        body.classList.toggle("silent", alike && i > 0);
      });
    }
  }
  function clicked(id, event) {  // a click anywhere in a plot sets the cursor to what stands there
    const meta = lens.figures[id].layout.meta || {};
    const hit = { x: event.xvals ? event.xvals[0] : event.points?.[0]?.x, y: event.yvals ? event.yvals[0] : event.points?.[0]?.y };
    const to = { ...place };
    for (const axis of ["x", "y"]) {
      const kind = meta[axis] && meta[axis].kind;
      if (!AXES[kind] || hit[axis] === undefined || hit[axis] === null) continue;
      to[kind] = lens.nearest(run[kind + "s"], Number(hit[axis]), AXES[kind]);
    }
    move(to);
  }

  /* ---- the cursor ------------------------------------------------------------------------------- */
  let asked = 0;
  function show() {  // what is seen at once; plots at most once a frame
    words();
    for (const part of ["step", "length"]) {
      const [low, high] = run.sliders[part].ends;
      at(part + "-slider").value = (AXES[part](value(part)) - low) / (high - low);
      const scent = of(run.sliders[part].scent);
      for (const name of ["maskImage", "WebkitMaskImage", "visibility"]) at(part + "-scent").style[name] = scent[name] || "";
    }
    if (!asked) asked = requestAnimationFrame(function () { asked = 0; figures(); });
  }
  function move(to) {
    const before = place.step + "." + place.length;
    for (const part of ["step", "length"]) {
      place[part] = Math.min(run[part + "s"].length - 1, Math.max(0, to[part] ?? place[part]));
    }
    show();
    if (before === place.step + "." + place.length) return;
    history.replaceState(null, "", "#run=" + index + "&step=" + value("step") + "&len=" + value("length"));
  }
  const KEYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5, Home: -1e9, End: 1e9 };
  for (const part of at("lens-data") ? ["step", "length"] : []) {
    const slider = at(part + "-slider");
    slider.addEventListener("input", function () {
      const [low, high] = run.sliders[part].ends;
      move({ [part]: lens.nearest(run[part + "s"], low + Number(slider.value) * (high - low), AXES[part]) });
    });
    slider.addEventListener("keydown", function (event) {
      if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      move({ [part]: place[part] + KEYS[event.key] });
    });
  }

  /* ---- which run, which theme, on paper ----------------------------------------------------------- */
  function open(which, step, length) {
    index = which;
    run = data.runs[which];
    place.step = run.steps.includes(step) ? run.steps.indexOf(step) : run.start.step;
    place.length = run.lengths.includes(length) ? run.lengths.indexOf(length) : run.start.length;
    say(at("meta"), run.meta);
    for (const part of ["step", "length"]) {
      const { ends, marks } = run.sliders[part];
      at(part + "-marks").replaceChildren(...marks.map(function (one) {
        const mark = Object.assign(document.createElement("i"), { textContent: one.label || "" });
        mark.style.left = (100 * (one.value - ends[0])) / (ends[1] - ends[0]) + "%";
        return mark;
      }));
    }
    document.querySelector("#step-slider").closest(".track").querySelector(".ribbon").style.background = run.sliders.step.ribbon;
    document.querySelector(".track .trained").style.width = 100 * run.sliders.length.trained + "%";
    document.querySelector(".track .trained").hidden = !run.sliders.length.trained;
    for (const node of document.querySelectorAll("[data-run]")) node.hidden = node.dataset.run !== String(which);
    for (const node of document.querySelectorAll("[data-row]")) {
      node.hidden = ![...node.querySelectorAll(".pan")].some((pan) => pan.id.replace(/-panel$/, "") in run.panels);
    }
    document.title = run.name + " · LengthLens";
    show();
  }
  function setTheme(name) {
    root.setAttribute(SCHEME, name);
    const said = name === "dark" ? "Light theme" : "Dark theme";
    at("theme-toggle").firstChild.className = "icon " + (name === "dark" ? "sun" : "moon");
    at("theme-toggle").setAttribute("aria-label", said);
    at("theme-toggle").title = said;
    if (run) figures();
  }
  at("theme-toggle").addEventListener("click", function () {
    setTheme(theme() === "dark" ? "light" : "dark");
    try { localStorage.setItem("mantine-color-scheme-value", theme()); } catch (e) { /* kept for this page alone */ }
  });
  at("run-select")?.addEventListener("change", (event) => open(Number(event.target.value)));
  let before = "";
  function resize() { for (const graph of document.querySelectorAll(".js-plotly-plot")) Plotly.Plots.resize(graph); }
  window.addEventListener("beforeprint", function () {
    before = theme();
    root.classList.add("printing");
    setTheme("light");
    resize();
  });
  window.addEventListener("afterprint", function () { root.classList.remove("printing"); setTheme(before); resize(); });

  setTheme(theme());
  if (at("lens-data")) read().then(async function (found) {
    data = found;
    await document.fonts.ready;  // plotly.js measures text when it draws
    const said = new URLSearchParams(location.hash.slice(1)), which = Number(said.get("run")) || 0;
    if (at("run-select")) at("run-select").value = String(data.runs[which] ? which : 0);
    open(data.runs[which] ? which : 0, Number(said.get("step") ?? -1), Number(said.get("len") ?? -1));
  }).catch(function (error) {
    const said = "The data of this page cannot be read (" + error.message + "): it may have been cut short, or the browser may be older than 2023.";
    at("problems").replaceChildren(Object.assign(document.createElement("p"), { className: "problem", textContent: said }));
  });
})();
