/* The cursor in the browser: where the reader is and what the sliders say.
   The server is asked only for what must be redrawn. */
(function () {
  "use strict";
  const dc = (window.dash_clientside = window.dash_clientside || {});
  const THROTTLE = 120, REST = 400;
  const root = document.documentElement;
  const lens = Object.assign(window.lens, { scale: null, known: {} });
  const { nearest, uStep, uLength, multiple, follow, frame } = lens;

  lens.set = function (id, props) { dc.set_props(id, props); };
  lens.theme = function () { return root.getAttribute("data-mantine-color-scheme") === "dark" ? "dark" : "light"; };

  /* ---- pages ------------------------------------------------------------------------------ */
  let ticks = 0;
  lens.here = function () {
    return { path: location.pathname, search: location.search, last: lens.run || lens.last || "", tick: ++ticks };
  };
  lens.carried = function (href) {  // a page under the cursor bar opens at the cursor of the page before
    const asked = new URLSearchParams(location.search);
    if (!document.querySelector(".cursor-page") || !asked.get("run")) return href;
    const parts = [];
    for (const key of ["run", "step", "len", "layer", "head", "axis"]) {
      if (asked.has(key)) parts.push(key + "=" + encodeURIComponent(asked.get(key)).replace(/%2F/g, "/"));
    }
    return href.split("?")[0] + "?" + parts.join("&");
  };
  /* Back undoes a move of step, length or head. The first such move after a second of rest makes an entry of the
     history, and moves before that change this entry. Only what the reader does makes one, not a run that grows. */
  const MOVED = ["step", "len", "layer", "head"], ENTRY = 1000;
  let rested = false, entryTimer = 0, touched = false;
  function unsettled() {
    rested = false;
    clearTimeout(entryTimer);
    entryTimer = setTimeout(() => { rested = true; }, ENTRY);
  }
  lens.isRested = () => rested;  // the next move makes an entry of its own
  function isMove(href) {
    const now = new URLSearchParams(location.search), next = new URLSearchParams(href.split("?")[1] || "");
    return MOVED.some((key) => now.get(key) !== next.get(key));
  }
  for (const event of ["pointerdown", "keydown"]) window.addEventListener(event, () => { touched = true; }, true);

  lens.go = function (href, replace) {
    unsettled();
    if (replace) history.replaceState({}, "", href);
    else if (location.pathname + location.search !== href) history.pushState({}, "", href);
    lens.set("place", { data: lens.here() });
    window.scrollTo(0, 0);
  };
  window.addEventListener("popstate", function () { unsettled(); lens.set("place", { data: lens.here() }); });

  /* ---- sliders: text at once, the server on release and at most every 120 ms ---------------- */
  const waiting = {};
  lens.send = function (id, value) {
    if (JSON.stringify(lens.known[id]) === JSON.stringify(value)) return;
    lens.known[id] = value;
    const w = (waiting[id] = waiting[id] || { last: 0, timer: 0 });
    const send = function () { w.last = Date.now(); w.timer = 0; lens.set(id, { data: lens.known[id] }); };
    const left = THROTTLE - (Date.now() - w.last);
    if (left <= 0) { clearTimeout(w.timer); send(); } else if (!w.timer) { w.timer = setTimeout(send, left); }
  };
  const say = lens.say = function (slider, text) {
    const thumb = document.querySelector("#" + slider + " [role=slider]");
    if (thumb) thumb.setAttribute("aria-valuetext", text);
  };

  function adopt(scale) {  // a new page or a grown run: what the server already knows is not sent back
    if (lens.scale === scale) return;
    if (!lens.scale || lens.scale.run !== scale.run) {
      for (const one of Object.values(waiting)) { clearTimeout(one.timer); one.timer = 0; }
    }
    clearTimeout(resting);
    told = JSON.stringify({ step: scale.at.step, length: scale.at.length, head: scale.at.head });
    lens.scale = scale;
    lens.known = Object.assign({}, scale.at);
    lens.head = scale.at.head;
  }

  /* What stands below the first screen follows at once while any of it is seen, else when the cursor rests. */
  let resting = 0, told = "";
  function late(step, length, head) {
    const at = { step, length, head }, text = JSON.stringify(at);
    clearTimeout(resting);
    if (step === null || step === undefined || text === told) return;
    const seen = [...document.querySelectorAll(".late")].some(function (node) {
      const box = node.getBoundingClientRect();
      return box.bottom > 0 && box.top < window.innerHeight;
    });
    resting = setTimeout(function () {
      if (!document.querySelector(".cursor-page")) return;
      told = text;
      lens.set("late", { data: at });
    }, seen ? 0 : REST);
  }

  function step(u, scale) {
    if (!scale || u === undefined || u === null) return dc.no_update;
    adopt(scale);
    const i = nearest(scale.steps, u, uStep), value = scale.steps[i];
    lens.at.step = uStep(value);
    follow();
    const where = "checkpoint " + (i + 1) + " of " + scale.steps.length;
    requestAnimationFrame(function () { say("step-slider", lens.count(value) + ", " + where); lens.dots(); });
    lens.stepIndex = i;
    lens.send("step", value);
    return [lens.count(value), where, "line: accuracy at step " + lens.count(value)];
  }

  function length(u, scale) {
    if (!scale || u === undefined || u === null) return dc.no_update;
    adopt(scale);
    const i = nearest(scale.lengths, u, uLength), value = scale.lengths[i];
    lens.at.length = uLength(value);
    follow();
    const inside = value <= scale.trained, times = multiple(value / scale.trained) + " × trained", tokens = lens.count(value);
    const held = scale.tokens[value], window = inside ? ", inside its window" : ", beyond its window";
    const [first, where] = scale.items ? [tokens, held ? lens.count(held) + " tokens" + window : "items"] : scale.axis === "length" ? [tokens, inside ? "inside training" : times] : [times, "length " + tokens];
    requestAnimationFrame(function () { say("length-slider", first + ", " + where); lens.dots(); });
    lens.lengthIndex = i;
    lens.send("length", value);
    return [first, where, inside ? "where soft" : "where train", "line: accuracy " + at(tokens, scale)];
  }

  lens.toggleAxis = function () {
    const unit = document.getElementById("sweep-unit");
    if (unit) lens.set("sweep-unit", { value: unit.querySelector("input:checked")?.value === "tokens" ? "times" : "tokens" });
    else if (lens.scale && document.getElementById("axis-toggle")) {
      lens.set("axis", { data: lens.scale.axis === "length" ? "times" : "length" });
    }
  };

  function atStep(value) { return ["at step " + lens.count(value), "step " + lens.count(value)]; }
  /* Lengths of a question in a prompt count its items. */
  function at(count, scale) { return scale && scale.items ? "at " + count + " items" : "at length " + count; }
  function atLength(value) { const said = at(lens.count(value), lens.scale); return [said, said.slice(3)]; }

  /* Each move starts where the one before ended, also when Dash has not drawn that yet. */
  lens.moveStep = function (by) {
    const s = lens.scale;
    if (!s) return false;
    const i = Math.min(s.steps.length - 1, Math.max(0, lens.stepIndex + by));
    const moved = i !== lens.stepIndex;
    lens.stepIndex = i;
    lens.set("step-slider", { value: uStep(s.steps[i]) });
    return moved;
  };
  lens.moveLength = function (by) {
    const s = lens.scale;
    if (!s) return;
    const i = Math.min(s.lengths.length - 1, Math.max(0, lens.lengthIndex + by));
    lens.lengthIndex = i;
    lens.set("length-slider", { value: uLength(s.lengths[i]) });
  };
  lens.moveHead = function (by) {
    const s = lens.scale;
    if (!s) return;
    const heads = s.layers * s.heads, all = lens.head === "all";  // from all heads to the first or the last one
    const [l, h] = all ? [0, by > 0 ? -1 : 0] : (lens.head || "0.0").split(".").map(Number);
    const at = (l * s.heads + h + by + heads) % heads;
    lens.head = Math.floor(at / s.heads) + "." + (at % s.heads);
    lens.set("head-select", { value: lens.head });
  };

  /* ---- play ---------------------------------------------------------------------------------- */
  let playing = 0;
  lens.stop = function () {
    clearInterval(playing); playing = 0;
    document.getElementById("play")?.classList.remove("playing");
  };
  lens.play = function () {
    const button = document.getElementById("play");
    if (playing || !button || !lens.scale) return lens.stop();
    button.classList.add("playing");
    if (lens.stepIndex >= lens.scale.steps.length - 1) lens.set("step-slider", { value: uStep(lens.scale.steps[0]) });
    playing = setInterval(function () {
      if (!document.getElementById("play") || !lens.moveStep(1)) lens.stop();
    }, 333);
  };

  /* ---- plots ---------------------------------------------------------------------------------- */
  function drawn() {
    const ids = dc.callback_context.inputs_list.map((i) => i.id.replace(/-graph$/, ""));
    ids.forEach((id, i) => frame(arguments[i], id));
    follow();
    requestAnimationFrame(lens.dots);
  }

  /* A click anywhere in a plot sets the cursor to what stands there. */
  function clicked() {
    const hit = dc.callback_context.triggered[0];
    if (!hit || !hit.value || !lens.scale) return;
    const id = hit.prop_id.split(".")[0].replace(/-graph$/, "");
    const meta = (lens.figures[id] && lens.figures[id].layout.meta) || {}, e = hit.value;
    const picked = meta.pick && e.points?.[0]?.customdata;  // an edge of the circuit graph
    const node = picked && String(picked).startsWith("pin:") && picked.slice(4);
    if (node) lens.set("circuit-pin", { data: { node, at: Date.now() } });
    else if (picked) lens.set("connection-select", { value: picked });
    const b = /^cmp-.*-b$/.test(id) ? lens.stops : null;  // what is clicked in B is where B is to stand
    const to = (kind, v, where) => lens.scale[kind + "s"][nearest(b ? b[kind] : lens.scale[kind + "s"], v, where)];
    const at = { x: e.xvals ? e.xvals[0] : e.points?.[0]?.x, y: e.yvals ? e.yvals[0] : e.points?.[0]?.y };
    for (const axis of ["x", "y"]) {
      const span = meta[axis];
      if (!span || at[axis] === undefined || at[axis] === null) continue;
      const v = Number(at[axis]);
      if (span.kind === "step") lens.set("step-slider", { value: uStep(to("step", v, uStep)) });
      if (span.kind === "length") lens.set("length-slider", { value: uLength(to("length", v, uLength)) });
    }
  }

  function beside(at) {  // where the lines stand in B, which the server pairs
    lens.beside = at ? { step: uStep(at.step), length: uLength(at.length) } : null;
    follow();
    requestAnimationFrame(lens.dots);
  }

  function stopsBeside(stops) { lens.stops = stops && stops.step.length ? stops : null; }

  /* ---- small things ---------------------------------------------------------------------------- */
  function head(value) { lens.head = value; lens.known.head = value; return value || dc.no_update; }
  function openRun(name) {
    if (!name) return;
    const asked = new URLSearchParams(location.search);
    if (!document.querySelector(".cursor-page") || asked.get("run") === name || lens.run === name) return;
    const parts = ["run=" + encodeURIComponent(name).replace(/%2F/g, "/")];
    for (const key of ["step", "len", "layer", "head", "view", "axis", "panels"]) {
      if (asked.has(key)) parts.push(key + "=" + encodeURIComponent(asked.get(key)));
    }
    lens.go(location.pathname + "?" + parts.join("&"));
  }
  function write(link) {  // the canonical link, made on the server; never one of a page already left
    if (!link || location.pathname !== link.path) return;
    if (link.run && lens.run !== link.run) return;
    if (location.pathname + location.search === link.href) return;
    if (isMove(link.href)) {
      history[rested && touched ? "pushState" : "replaceState"]({}, "", link.href);
      touched = false;
      unsettled();
    } else history.replaceState({}, "", link.href);
  }
  function start() {
    return [lens.here(), { theme: lens.theme(), size: window.innerWidth >= 1900 ? 12 : 11 }];
  }
  function toAnchor(patience) {  // the browser looked for it before the page was drawn
    const node = document.getElementById(location.hash.slice(1));
    if (node) node.scrollIntoView({ block: "center" });
    else if (patience > 0) setTimeout(() => toAnchor(patience - 1), 100);
  }
  function arrived(here) {
    if (!here) return;
    lens.last = here.run || lens.last;
    lens.run = here.run;
    unsettled();
    lens.stop();
    document.title = here.title;
    if (location.hash) requestAnimationFrame(() => toAnchor(50));
  }
  function changed(version) {  // a page that is not drawn yet will be drawn from the new state anyway
    if (document.querySelector(".cursor-page")) lens.set("run-check", { data: version });
    else if (document.getElementById("grid")) lens.set("rows-check", { data: version });
    else {
      const check = document.querySelector("[data-check]");
      if (check) lens.set(check.dataset.check, { data: version });
    }
  }
  function same(told) { return told; }
  function read() { lens.readAt = Date.now(); age(); }
  function age() {
    const node = document.getElementById("age");
    if (!node || !lens.readAt) return;
    const s = Math.round((Date.now() - lens.readAt) / 1000);
    node.textContent = s > 90 ? "read " + Math.round(s / 60) + " min ago" : "read " + s + " s ago";
    document.getElementById("dot")?.classList.toggle("lost", s > 10);
  }
  setInterval(age, 1000);

  dc.lens = { step, length, late, atStep, atLength, head, drawn, clicked, beside, stopsBeside, openRun, write, start, arrived, changed, read, same };
})();
