/* Boards of one sequence: which query is looked at. Hover shows it, a click or the keys of the token line choose it;
   the server is told when it settles. Outline, line and tints are HTML over the plots, so that no plot is redrawn. */
(function () {
  "use strict";
  const dc = (window.dash_clientside = window.dash_clientside || {}), lens = window.lens;
  const WINDOW = 64, TOP = 0.25, SETTLE = 250, NAMED = 128;
  const boards = {};  // id -> { data, figures, query, hovered }

  function values(a) {  // plotly.py sends numbers as base64 typed arrays, matrices with their shape
    if (!a || a.bdata === undefined) return a;
    const kinds = { f8: Float64Array, f4: Float32Array, i4: Int32Array, i2: Int16Array, i1: Int8Array, u1: Uint8Array };
    const flat = new kinds[a.dtype](Uint8Array.from(atob(a.bdata), (c) => c.charCodeAt(0)).buffer);
    if (a.shape === undefined) return flat;
    const [rows, columns] = String(a.shape).split(",").map(Number), made = [];
    for (let i = 0; i < rows; i++) made.push(flat.subarray(i * columns, (i + 1) * columns));
    return made;
  }
  const idOf = (prop) => prop.split(".")[0].replace(/-(graph|tokens)$/, "");
  function boardOf() {
    const line = document.querySelector("[data-board]");
    if (!line) return null;
    const id = line.dataset.board;
    return (boards[id] = boards[id] || { id, figures: {}, query: 0 });
  }

  /* ---- what the pattern says of a query -------------------------------------------------------------- */
  function weights(board, q) {
    const data = board.data, first = Object.values(board.figures)[0];
    if (data.row && q === data.query) return data.row;
    const cells = first && first.cells;
    if (!cells) return null;
    const [first_q] = data.queries, [first_k, end_k] = data.keys;
    const row = cells[Math.floor((q - first_q) / data.pool)];
    if (!row || q < first_q || (data.view === "score" && !data.whole)) return null;
    const seen = [];  // NaN where a key is not in view
    for (let k = 0; k <= q; k++) seen.push(k < first_k || k >= end_k ? NaN : row[Math.floor((k - first_k) / data.pool)]);
    if (data.view === "times_length") return seen.map((v) => v / (q + 1));
    if (data.view === "score") {
      const e = seen.map((v) => Math.exp(v)), sum = e.reduce((a, b) => a + b, 0);
      return e.map((v) => v / sum);
    }
    return seen;
  }

  /* ---- drawing --------------------------------------------------------------------------------------- */
  function draw(board) {
    if (!board.data) return;
    const q = Math.min(board.hovered ?? board.query, board.data.tokens.length - 1);
    strip(board, q);
    for (const [id, figure] of Object.entries(board.figures)) marks(board, id, figure, q);
  }
  function prefix(board, q) { return board.data.bos ? q : q + 1; }

  function strip(board, q) {
    const node = document.getElementById(board.id + "-strip");
    if (!node) return;
    const { tokens, fills, inks } = board.data, count = tokens.length;
    // As many tokens as have room: long names take more of it.
    const longest = tokens.reduce((most, token) => Math.max(most, token === "<bos>" ? 1 : token.length), 1);
    const room = Math.floor((node.clientWidth || 800) / (7.4 * longest + (longest > 1 ? 4 : 2)));
    const size = Math.min(count, WINDOW, Math.max(8, room));
    const start = Math.max(0, Math.min(count - size, q - Math.floor(size / 2)));
    const row = weights(board, q);
    const spans = [];
    for (let i = start; i < start + size; i++) {
      const span = document.createElement("span"), w = row && i <= q ? row[i] : 0;
      const at = Math.round((fills.length - 1) * Math.sqrt(Math.min(1, Math.max(0, w) / TOP)));
      span.textContent = tokens[i] === "<bos>" ? "^" : tokens[i];
      span.dataset.at = i;
      if (i > q) span.className = "later";
      else if (at >= 0) { span.style.background = fills[at]; span.style.color = inks[at]; }
      if (i === q) span.classList.add("query");
      if (decides(board, q) === i) span.classList.add("decides");
      span.title = "prefix " + prefix(board, i) + ": " + tokens[i] + (row && i <= q && at >= 0 ? ", attention " + w.toFixed(3) : "");
      spans.push(span);
    }
    node.replaceChildren(...spans);
    board.start = start;
    board.shown = spans.length;
    node.setAttribute("aria-valuemin", prefix(board, 0));
    node.setAttribute("aria-valuemax", prefix(board, count - 1));
    node.setAttribute("aria-valuenow", prefix(board, q));
    node.setAttribute("aria-valuetext", "prefix " + prefix(board, q) + ", token " + tokens[q]);
    const label = node.parentElement, rows = Object.values(board.figures)[0]?.rows, names = rows ? Object.keys(rows) : [];
    const below = names[names.indexOf("pattern") + 1];
    if (below && rows.pattern) label.style.setProperty("--gap", 1 - (rows.pattern[0] + rows[below][1]) / 2);
    label.dataset.decides = decided(board, q);
    label.dataset.range = count > size ? start + " to " + (start + size - 1) + " of " + lens.count(count) : "";
  }

  /* The token that decides the right answer, where the task names one. */
  function decides(board, q) { return board.data.decisive ? board.data.decisive[q] : null; }
  function decided(board, q) {
    const at = decides(board, q);
    if (at === null || at === undefined) return "";
    const far = at < board.start || at >= board.start + board.shown;
    return "\u25b2 decides the right answer: " + board.data.tokens[at] + " at prefix " + prefix(board, at) + (far ? ", not in view" : "");
  }

  function marks(board, id, figure, q) {
    const node = document.getElementById(id + "-marks");
    if (!node || !figure.rows || board.stretched) return;
    const { queries, keys } = board.data, m = figure.margin;
    const across = (k) => Math.min(1, Math.max(0, (k - keys[0]) / (keys[1] - keys[0])));
    const down = (i) => Math.min(1, Math.max(0, (i - queries[0]) / (queries[1] - queries[0])));
    const w = `(100% - ${m.l + m.r}px)`, h = `(100% - ${m.t + m.b}px)`;
    const x = (u) => `calc(${m.l}px + ${u} * ${w})`, y = (v) => `calc(${m.t}px + ${1 - v} * ${h})`;
    const tall = (a) => `calc(${a} * ${h})`, wide = (a) => `calc(${a} * ${w})`;
    const made = [];
    function box(name, style) {
      const one = document.createElement("i");
      one.className = name;
      Object.assign(one.style, style);
      made.push(one);
    }
    for (const [row, [low, high]] of Object.entries(figure.rows)) {
      if (row === "pattern" && figure.pattern < 0) continue;
      if (row === "pattern") {
        const unit = high - low, cell = Math.max(1, board.data.pool);
        const first = queries[0] + Math.floor((q - queries[0]) / cell) * cell;
        if (q >= queries[0] && q < queries[1] && q >= keys[0]) {
          box("outline", { left: x(0), width: wide(across(q + 1)), top: y(high - unit * down(first)), height: tall(unit * (down(first + cell) - down(first))) });
        }
        const start = across(board.start), end = across(board.start + board.shown);
        if (end > start && end - start < 1) box("window", { left: x(start), width: wide(end - start), top: y(high), height: tall(high - low) });
      } else if (q >= keys[0] && q < keys[1]) {
        box("query-line", { left: x(across(q + 0.5)), top: y(high), height: tall(high - low) });
      }
    }
    node.replaceChildren(...made);
  }

  /* ---- choosing -------------------------------------------------------------------------------------- */
  function choose(board, q) {
    const count = board.data.tokens.length;
    board.hovered = null;
    board.query = Math.max(0, Math.min(count - 1, q));
    draw(board);
    clearTimeout(board.timer);
    board.timer = setTimeout(function () {
      if (!document.getElementById(board.id + "-strip")) return;
      lens.set(board.id + "-query", { data: { prefix: prefix(board, board.query), last: prefix(board, count - 1) } });
    }, SETTLE);
  }
  function queryAt(board, id, hit) {
    const figure = board.figures[id];
    const point = hit && hit.points && hit.points[0];
    let qx = null, qy = null;
    if (point) {
      const pattern = point.data ? point.data.name === "cells" : point.curveNumber === figure.pattern;
      if (pattern) qy = point.y; else qx = point.x;
    } else if (hit && hit.xvals) qx = hit.xvals[0];
    const v = qy !== null ? qy : qx;
    return v === null || v === undefined ? null : Math.max(0, Math.floor(Number(v) + 0.5));
  }

  function drawn() {
    const inputs = dc.callback_context.inputs_list.map((i) => i.id), given = arguments;
    const data = given[inputs.length - 1], board = boardOf();
    if (!board || !data || inputs[inputs.length - 1] !== board.id + "-tokens") return;
    const fresh = !board.data || board.data.tokens !== data.tokens && board.data.tokens.join("\u0000") !== data.tokens.join("\u0000");
    board.data = data;
    if (fresh || board.asked !== data.query) { board.query = data.query; board.asked = data.query; board.hovered = null; }
    board.figures = {};
    board.stretched = false;
    inputs.slice(0, -1).forEach(function (graph, i) {
      const figure = given[i];
      if (!figure || !figure.layout || !figure.layout.meta || !figure.layout.meta.rows) return;
      const at = figure.data.findIndex((trace) => trace.name === "cells");
      const cells = at < 0 || figure.layout.meta.part !== "clean" ? null : values(figure.data[at].customdata);
      board.figures[graph.replace(/-graph$/, "")] = { rows: figure.layout.meta.rows, margin: figure.layout.margin, cells, pattern: at };
    });
    requestAnimationFrame(() => draw(board));
  }
  /* The tokens of a hovered cell, where there are too many pairs to write each into the plot. */
  function names(board, from, to) {
    const shown = board.data.tokens.slice(from, Math.min(to, from + 16) + 1).join(" ");
    return shown + (to > from + 16 ? " \u2026" : "");
  }
  function cell(board, id, hit) {
    const node = document.getElementById(id + "-cell"), point = hit && hit.points && hit.points[0];
    if (!node) return;
    const { tokens, pool, queries, keys } = board.data;
    const far = pool > 1 || Math.max(queries[1] - queries[0], keys[1] - keys[0]) > NAMED;
    const inside = far && point && point.curveNumber === board.figures[id]?.pattern;
    if (!inside) { node.textContent = ""; return; }
    const said = ["y", "x"].map(function (axis, i) {
      const [start, end] = i ? keys : queries;
      const from = start + Math.floor((Number(point[axis]) + 0.5 - start) / pool) * pool, to = Math.min(from + pool, end) - 1;
      const where = pool === 1 ? prefix(board, from) : prefix(board, from) + " to " + prefix(board, to);
      return (i ? "key" : "query") + (pool > 1 ? "s " : " ") + where + " " + names(board, from, to);
    });
    node.textContent = said.join(" \u00b7 ");
  }
  function hovered() {
    const board = boardOf(), hit = dc.callback_context.triggered[0];
    if (!board || !board.data || !hit) return;
    cell(board, idOf(hit.prop_id), hit.value);
    const q = hit.value ? queryAt(board, idOf(hit.prop_id), hit.value) : null;
    board.hovered = q;
    draw(board);
  }
  function clicked() {
    const board = boardOf(), hit = dc.callback_context.triggered[0];
    if (!board || !board.data || !hit || !hit.value) return;
    const q = queryAt(board, idOf(hit.prop_id), hit.value);
    if (q !== null) choose(board, q);
  }

  document.addEventListener("keydown", function (e) {
    const target = e.target instanceof Element ? e.target.closest(".tokens[role=slider]") : null;
    if (!target || e.ctrlKey || e.metaKey || e.altKey) return;
    const board = boardOf();
    if (!board || !board.data) return;
    const by = e.shiftKey ? 10 : 1, q = board.query, last = board.data.tokens.length - 1;
    const to = { ArrowLeft: q - by, ArrowDown: q - by, ArrowRight: q + by, ArrowUp: q + by, Home: 0, End: last, PageUp: q + 10, PageDown: q - 10 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    e.stopPropagation();
    choose(board, to);
  }, true);
  document.addEventListener("click", function (e) {
    if (!(e.target instanceof Element)) return;
    const cancel = e.target.closest("[data-cancel]");
    if (cancel) return lens.set(cancel.dataset.cancel + "-cancel", { data: Date.now() });
    const drop = e.target.closest("[data-drop-edit]");
    if (drop) return lens.set("try-drop", { data: { edit: drop.dataset.dropEdit, at: Date.now() } });
    const token = e.target.closest(".tokens[role=slider] span"), board = token && boardOf();
    if (board && board.data) choose(board, Number(token.dataset.at));
  });
  document.addEventListener("mouseout", function (e) {
    const board = e.target instanceof Element && e.target.closest(".js-plotly-plot") ? boardOf() : null;
    if (board && board.data && board.hovered !== null && board.hovered !== undefined) { board.hovered = null; requestAnimationFrame(() => draw(board)); }
    if (board) for (const node of document.querySelectorAll(".hovered-cell")) node.textContent = "";
  });
  window.addEventListener("popstate", function () { for (const board of Object.values(boards)) board.data = null; });

  function settled(jobs, shown) {  // whether what is on screen answers the newest question
    if (!jobs) return true;
    return !!(shown && shown.final && shown.keys && shown.keys.look === jobs.keys.look && shown.keys.read === jobs.keys.read);
  }

  /* A sample stands in the input, to be changed: not while somebody is in it, and what was asked stays as typed. */
  function sampled(tokens, extras) {
    const field = document.activeElement;
    if (!tokens || extras.seq || (field && field.id === "try-text")) return dc.no_update;
    return tokens.text;
  }

  /* A strength between 0 and 1 needs a slider, one of two states a switch. */
  function graded(tokens) { return tokens ? "try-strength " + (tokens.graded ? "graded" : "whole") : dc.no_update; }

  lens.board = boardOf;
  lens.weights = weights;
  dc.sequence = { settled, drawn, hovered, clicked, sampled, graded };
})();
