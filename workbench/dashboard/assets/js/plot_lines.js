/* The lines and dots of the cursor over the plots, placed by CSS from each figure's own margins and ranges, and the
   panel that a clause of the evidence marks: on the dashboard's pages and in reports. */
(function () {
  "use strict";
  const lens = (window.lens = { at: { step: 0, length: 0 }, beside: null, figures: {} });

  lens.count = function (x) { return Math.round(x).toLocaleString("en-US"); };
  lens.uStep = (s) => Math.log2(1 + s);
  lens.uLength = (n) => Math.log2(n);
  lens.nearest = function (values, u, where) {
    let best = 0;
    for (let i = 1; i < values.length; i++) {
      if (Math.abs(where(values[i]) - u) < Math.abs(where(values[best]) - u)) best = i;
    }
    return best;
  };
  lens.multiple = function (times) {  // as labels.multiple writes it
    if (times >= 10) return Math.round(times).toLocaleString("en-US");
    return String(times < 1 ? Number(times.toPrecision(2)) : Math.round(times * 10) / 10);
  };

  function put(node, name, value) {  // only what changes: whatever stands below is styled anew
    if (node.style.getPropertyValue(name) !== String(value)) node.style.setProperty(name, value);
  }
  function standing(id) {  // in what Compare draws of B, at what B is paired at
    return lens.beside && /^cmp-.*-b(-body)?$/.test(id) ? lens.beside : lens.at;
  }
  lens.follow = function () {  // on the lines themselves, not above: a page has thousands of nodes to style
    for (const node of document.querySelectorAll(".body > .line, .body > .dots")) {
      const at = standing(node.parentNode.id);
      put(node, "--su", at.step);
      put(node, "--lu", at.length);
    }
  };
  lens.frame = function (figure, id) {
    lens.figures[id] = figure;
    const body = document.getElementById(id + "-body");
    if (!body || !figure || !figure.layout || !figure.layout.margin) return;
    if (!body.querySelector(":scope > .dots")) {
      for (const name of ["line line-x", "line line-y", "dots"]) {
        body.append(Object.assign(document.createElement("div"), { className: name }));
      }
    }
    const m = figure.layout.margin, meta = figure.layout.meta || {};
    for (const side of ["l", "r", "t", "b"]) put(body, "--" + side, m[side] + "px");
    for (const axis of ["x", "y"]) {
      const span = meta[axis];
      body.dataset[axis] = span ? span.kind : "";
      if (!span) continue;
      put(body, "--" + axis + "0", span.low);
      put(body, "--" + axis + "1", span.high);
    }
  };
  function values(a) {  // plotly.py sends numbers as base64 typed arrays
    if (!a || Array.isArray(a)) return a || [];
    if (a.bdata === undefined) return Array.from(a);
    const kinds = { f8: Float64Array, f4: Float32Array, i4: Int32Array, i2: Int16Array, i1: Int8Array, u1: Uint8Array, u4: Uint32Array, u2: Uint16Array };
    const bytes = Uint8Array.from(atob(a.bdata), (c) => c.charCodeAt(0));
    return Array.from(new kinds[a.dtype](bytes.buffer));
  }
  lens.dots = function () {
    for (const [id, figure] of Object.entries(lens.figures)) {
      const holder = document.querySelector("#" + id + "-body > .dots");
      if (!holder || !figure || !figure.data) continue;
      const x = figure.layout.meta && figure.layout.meta.x, y = figure.layout.yaxis && figure.layout.yaxis.range;
      const u = x && standing(id)[x.kind];
      const marks = [];
      if (x && y && !(figure.layout.meta && figure.layout.meta.y)) {
        for (const trace of figure.data) {
          if (!trace.line || !(trace.line.width >= 2) || !(trace.mode || "").includes("markers")) continue;
          const xs = values(trace.x), ys = values(trace.y);
          const i = xs.findIndex((v) => Math.abs(v - u) < 1e-6);
          if (i < 0 || ys[i] === null || !isFinite(ys[i])) continue;
          const shape = trace.name === "position" ? " diamond" : "";
          marks.push([shape, trace.line.color, 1 - (ys[i] - y[0]) / (y[1] - y[0])]);
        }
      }
      const html = marks.map(([s, c, f]) => `<i class="dot${s}" style="--f:${f};--c:${c}"></i>`).join("");
      if (holder.dataset.html !== html) { holder.dataset.html = html; holder.innerHTML = html; }
    }
  };
  document.addEventListener("click", function (event) {
    const clause = event.target instanceof Element && event.target.closest("[data-mark]");
    if (!clause) return;
    const panel = document.getElementById(clause.dataset.mark + "-panel");
    for (const one of document.querySelectorAll(".pan.marked")) one.classList.remove("marked");
    if (!panel) return;
    panel.classList.add("marked");
    panel.scrollIntoView({ block: "nearest" });
  });
})();
