/* All heads on one sequence: asked for while the panel is in view; over the picture a link for each head, in which the
   column of the chosen key lights up. One custom property moves it in all maps at once. */
(function () {
  "use strict";
  const dc = (window.dash_clientside = window.dash_clientside || {}), lens = window.lens;
  const SETTLE = 150, AHEAD = 200;
  const at = (id) => document.getElementById(id);
  let wanted = null, timer = 0;  // where the cursor is, and whether the server was told
  let words = null, maps = null, chosen = 0, hovered = null;

  /* ---- in view or not ---------------------------------------------------------------------------- */
  function moved(step, length, extras) {
    if (step !== null && step !== undefined && length !== null && length !== undefined) {
      wanted = { step, length, sample: Number((extras || {}).sample) || 0 };
      look();
    }
    return dc.no_update;
  }
  function look() {
    clearTimeout(timer);
    timer = setTimeout(function () {
      const panel = at("maps-panel");
      if (!panel || !wanted) return;
      const box = panel.getBoundingClientRect();
      if (box.bottom < -AHEAD || box.top > window.innerHeight + AHEAD) return;
      const text = JSON.stringify(wanted);
      if (panel.dataset.told === text) return;
      panel.dataset.told = text;
      lens.set("maps-at", { data: wanted });
    }, SETTLE);
  }
  for (const event of ["scroll", "resize"]) window.addEventListener(event, look, { passive: true });

  /* ---- drawing ----------------------------------------------------------------------------------- */
  function href(layer, head) {
    const asked = new URLSearchParams(location.search), parts = ["run=" + encodeURIComponent(words.run).replace(/%2F/g, "/")];
    parts.push("step=" + words.step, "len=" + words.length, "layer=" + layer, "head=" + head);
    if (words.sample) parts.push("sample=" + words.sample);
    if (asked.has("axis")) parts.push("axis=" + encodeURIComponent(asked.get("axis")));
    return "/checkpoint?" + parts.join("&");
  }
  function drawn(figure, said, head) {
    const holder = at("maps-links");
    if (!holder || !said || !figure || !figure.layout || !figure.layout.meta || !figure.layout.meta.maps) return dc.no_update;
    const fresh = words !== said;
    words = said;
    maps = figure.layout.meta.maps;
    const m = figure.layout.margin, { layers, heads, across, fill } = maps;
    for (const side of ["l", "r", "t", "b"]) holder.style.setProperty("--" + side, m[side] + "px");
    const columns = across ? layers : heads, rows = across ? heads : layers, links = [];
    for (let l = 0; l < layers; l++) {
      for (let h = 0; h < heads; h++) {
        const a = document.createElement("a"), [row, column] = across ? [h, l] : [l, h];
        const name = "L" + l + "H" + h, cost = words.costs[l + "." + h];
        a.href = href(l, h);
        if (location.pathname === "/checkpoint") a.dataset.pickHead = l + "." + h; else a.dataset.nav = "1";
        a.title = name + (cost ? ": ablated, " + cost : "");
        a.setAttribute("aria-label", "Open " + a.title);
        a.className = l + "." + h === head ? "on" : "";
        a.style.cssText = `left:${100 * column / columns}%;top:${100 * row / rows}%;width:${100 * fill / columns}%;height:${100 * fill / rows}%`;
        a.append(document.createElement("i"));
        links.push(a);
      }
    }
    holder.classList.toggle("small", holder.clientWidth / (columns * maps.cells) < 4);
    holder.replaceChildren(...links);
    if (fresh) tokens();
    light();
    return dc.no_update;
  }
  function tokens() {
    const strip = at("maps-strip");
    chosen = words.tokens.length - 1;
    hovered = null;
    strip.replaceChildren(...words.tokens.map(function (token, i) {
      const span = document.createElement("span");
      span.textContent = token === "<bos>" ? "^" : token;
      span.title = "prefix " + words.prefix[i] + ": " + token;
      span.dataset.at = i;
      return span;
    }));
    strip.setAttribute("aria-valuemin", words.prefix[0]);
    strip.setAttribute("aria-valuemax", words.prefix[chosen]);
  }
  function light() {
    const holder = at("maps-links"), strip = at("maps-strip"), i = hovered ?? chosen;
    if (!holder || !strip || !words) return;
    const cell = words.cells[i];
    holder.style.setProperty("--from", cell / maps.cells);
    holder.style.setProperty("--wide", 1 / maps.cells);
    strip.querySelector(".on")?.classList.remove("on");
    strip.children[i]?.classList.add("on");
    strip.setAttribute("aria-valuenow", words.prefix[i]);
    strip.setAttribute("aria-valuetext", "prefix " + words.prefix[i] + ", token " + words.tokens[i]);
  }
  function show(i, follow) {
    hovered = i;
    light();
    const span = follow && at("maps-strip").children[i], line = span && at("maps-strip").parentElement;
    if (line) line.scrollLeft = span.offsetLeft - line.clientWidth / 2;
  }

  /* ---- pointer and keys -------------------------------------------------------------------------- */
  document.addEventListener("pointermove", function (e) {
    const t = e.target instanceof Element ? e.target : null;
    if (!t || !words) return;
    const token = t.closest("#maps-strip span"), link = t.closest("#maps-links a");
    if (token) return show(Number(token.dataset.at), false);
    if (link) {
      const box = link.getBoundingClientRect();
      const cell = Math.min(maps.cells - 1, Math.max(0, Math.floor(maps.cells * (e.clientX - box.left) / box.width)));
      return show(words.cells.indexOf(cell), true);
    }
    if (hovered !== null) { hovered = null; light(); }
  });
  document.addEventListener("click", function (e) {
    const token = e.target instanceof Element && e.target.closest("#maps-strip span");
    if (token) { chosen = Number(token.dataset.at); light(); }
  });
  document.addEventListener("keydown", function (e) {
    if (!(e.target instanceof Element) || e.target.id !== "maps-strip" || !words || e.ctrlKey || e.metaKey || e.altKey) return;
    const by = e.shiftKey ? 10 : 1, last = words.tokens.length - 1;
    const to = { ArrowLeft: chosen - by, ArrowDown: chosen - by, ArrowRight: chosen + by, ArrowUp: chosen + by, Home: 0, End: last }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    e.stopPropagation();
    chosen = Math.max(0, Math.min(last, to));
    show(chosen, true);
    hovered = null;
  }, true);

  dc.maps = { moved, drawn };
})();
