/* Zooming into the pattern of a board: a dragged rectangle, buttons, or keys name a part; the worker pools it anew.
   A part is [first, end) of queries and of keys; positions are integers, cells reach half a position to both sides. */
(function () {
  "use strict";
  const dc = (window.dash_clientside = window.dash_clientside || {}), lens = window.lens;
  const LEAST = 8;  // positions along a side

  function current() {
    const board = lens.board();
    return board && board.data && board.data.queries ? board : null;
  }
  /* A range of at least LEAST positions within the sequence, moved rather than cut at its ends. */
  function within(start, end, count) {
    const size = Math.min(count, Math.max(LEAST, end - start));
    const first = Math.max(0, Math.min(count - size, Math.round((start + end - size) / 2)));
    return [first, first + size];
  }
  function ask(board, queries, keys) {
    const count = board.data.tokens.length;
    const q = within(...queries, count), k = within(...keys, count);
    const whole = q[1] - q[0] === count && k[1] - k[0] === count;
    const same = String([q, k]) === String([board.data.queries, board.data.keys]);
    const part = whole ? "" : `q${q[0]}-${q[1] - 1}k${k[0]}-${k[1] - 1}`;
    if (same) restore(board);
    lens.set(board.id + "-zoom", { data: { part: part, at: Date.now() } });
  }
  /* A drag that names what is in view already has stretched the plot all the same. */
  function restore(board) {
    const { queries, keys } = board.data;
    board.stretched = false;
    for (const [id, figure] of Object.entries(board.figures)) {
      const plot = document.querySelector("#" + id + "-graph .js-plotly-plot");
      if (!plot || !window.Plotly || figure.pattern < 0) continue;
      window.Plotly.relayout(plot, { "xaxis.range": [keys[0] - 0.5, keys[1] - 0.5], [vertical(figure) + ".range"]: [queries[1] - 0.5, queries[0] - 0.5] });
    }
  }
  function vertical(figure) {  // the pattern's own axis
    const at = Object.keys(figure.rows).indexOf("pattern");
    return at > 0 ? "yaxis" + (at + 1) : "yaxis";
  }
  function dragged() {
    const board = current(), hit = dc.callback_context.triggered[0];
    if (!board || !hit || !hit.value) return;
    const id = hit.prop_id.split(".")[0].replace(/-graph$/, ""), figure = board.figures[id];
    if (!figure || figure.pattern < 0) return;
    function span(axis, known) {
      const a = hit.value[axis + ".range[0]"], b = hit.value[axis + ".range[1]"];
      if (a === undefined || b === undefined) return known;
      const low = Math.max(known[0], Math.floor(Math.min(a, b) + 0.5)), high = Math.min(known[1], Math.floor(Math.max(a, b) + 0.5) + 1);
      return [Math.min(low, high - 1), high];
    }
    const { queries, keys } = board.data;
    const k = span("xaxis", keys), q = span(vertical(figure), queries);
    if (k === keys && q === queries) return;  // another change of the layout, a resize for one
    board.stretched = true;  // marks would stand in the wrong place until the part is drawn
    for (const node of document.querySelectorAll(".query-marks")) node.replaceChildren();
    ask(board, q, k);
  }
  const heard = new WeakSet();
  function listen() {  // Plotly keeps double clicks to itself, and tells those who ask
    const board = current();
    for (const id of Object.keys(board ? board.figures : {})) {
      const plot = document.querySelector("#" + id + "-graph .js-plotly-plot");
      if (!plot || !plot.on || heard.has(plot)) continue;
      heard.add(plot);
      plot.on("plotly_doubleclick", () => { if (current() && !current().data.whole) act("all"); });
    }
  }
  function shown(data) {
    requestAnimationFrame(() => requestAnimationFrame(listen));  // the frame before, the figures were taken in
    return data && data.said !== undefined ? [data.said, data.class, !!data.whole] : ["", "sr", true];
  }

  /* ---- buttons and keys ---------------------------------------------------------------------------------- */
  function scaled(range, centre, factor) {
    const size = Math.max(LEAST, Math.round((range[1] - range[0]) * factor));
    return [Math.round(centre - size / 2), Math.round(centre - size / 2) + size];
  }
  const middle = (range) => (range[0] + range[1]) / 2;
  const inside = (at, range) => at >= range[0] && at < range[1];
  function act(action) {
    const board = current();
    if (!board) return;
    const { queries, keys, tokens } = board.data, all = [0, tokens.length];
    if (action === "all") return ask(board, all, all);
    if (action === "out") return ask(board, scaled(queries, middle(queries), 2), scaled(keys, middle(keys), 2));
    // Closer: around the chosen query and the key that it attends to most, where they are in view.
    const q = board.query, row = lens.weights(board, q) || [];
    let top = -1;
    for (let k = keys[0]; k < Math.min(keys[1], q + 1); k++) if (row[k] > (top < 0 ? 0 : row[top])) top = k;
    const at = inside(q, queries) ? q : middle(queries), to = top >= 0 && inside(q, queries) ? top : middle(keys);
    ask(board, clipped(scaled(queries, at, 0.5), queries), clipped(scaled(keys, to, 0.5), keys));
  }
  function clipped(range, outer) {  // what is zoomed into stays inside of what was in view
    const by = Math.max(0, outer[0] - range[0]) - Math.max(0, range[1] - outer[1]);
    return [range[0] + by, range[1] + by];
  }
  function move(key) {
    const board = current(), step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[key];
    if (!board || !step || board.data.whole) return false;
    const { queries, keys } = board.data;
    const moved = (range, by) => { const d = Math.round((by * (range[1] - range[0])) / 2); return [range[0] + d, range[1] + d]; };
    ask(board, moved(queries, step[0]), moved(keys, step[1]));
    return true;
  }
  document.addEventListener("click", function (e) {
    const button = e.target instanceof Element ? e.target.closest("[data-zoom]") : null;
    if (button && !button.disabled) act(button.dataset.zoom);
  });
  const own = "input, textarea, select, [role=combobox], [role=radio], [role=menu], [role=dialog], .mantine-Select-dropdown";
  document.addEventListener("keydown", function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey || !(e.target instanceof Element) || e.target.closest(own) || !current()) return;
    const action = { "+": "in", "=": "in", "-": "out", "0": "all" }[e.key];
    if (action) act(action);
    else if (!e.target.closest(".zoom-tools") || !move(e.key)) return;
    e.preventDefault();
    e.stopPropagation();
  }, true);

  dc.zoom = { dragged, shown };
})();
