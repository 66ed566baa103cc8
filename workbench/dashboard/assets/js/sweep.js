/* The sliders of the Sweep page: their words at once, the server at most every 120 ms (lens.send). What is said at
   each stop comes with the slider's scale, made on the server. */
(function () {
  "use strict";
  const dc = (window.dash_clientside = window.dash_clientside || {}), lens = window.lens;
  const sliders = {};  // id -> { scale, index }

  function moved(id, u, scale) {
    if (!scale || u === undefined || u === null) return dc.no_update;
    const one = (sliders[id] = sliders[id] || {}), store = id + "-at";
    if (one.scale !== scale) { one.scale = scale; lens.known[store] = scale.at; }  // the server knows its own
    one.index = lens.nearest(scale.places, u, (place) => place);
    const text = scale.texts[one.index], where = scale.where[one.index];
    requestAnimationFrame(() => lens.say(id, where ? text + ", " + where : text));
    lens.send(store, scale.values[one.index]);
    return [text, where, scale.kinds[one.index]];
  }

  /* Another unit, or other lengths: the slider takes its stops from a scale of this page. It stays at its stop if the
     scale has it, even if the server does not know of it yet, and moves to the last stop otherwise. */
  function scaled(id, unit, scales, at) {
    const scale = scales && scales[unit], store = id + "-at";
    if (!scale) return dc.no_update;
    const known = sliders[id] && store in lens.known ? lens.known[store] : at;
    const found = scale.values.indexOf(known), index = found < 0 ? scale.values.length - 1 : found, stop = scale.values[index];
    const s = scale.slider, moves = JSON.stringify(stop) === JSON.stringify(at) ? dc.no_update : stop;
    return [s.min, s.max, s.marks, s.disabled, scale.places[index], Object.assign({}, scale, { at: stop }), moves];
  }

  /* The arrow keys of the other pages' cursor, where no control has the focus. */
  const own = "input, textarea, select, [role=slider], [role=combobox], [role=menu], [role=menuitem], [role=dialog], [role=option]";
  document.addEventListener("keydown", function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || !document.getElementById("sweep-step")) return;
    if (e.target instanceof Element && e.target.closest(own)) return;
    const far = e.shiftKey ? 5 : 1;
    const move = { ArrowLeft: ["sweep-step", -far], ArrowRight: ["sweep-step", far], ArrowDown: ["sweep-length", -1], ArrowUp: ["sweep-length", 1] }[e.key];
    const one = move && sliders[move[0]];
    if (!one) return;
    e.preventDefault();
    const last = one.scale.places.length - 1, to = Math.min(last, Math.max(0, one.index + move[1]));
    lens.set(move[0], { value: one.scale.places[to] });
  });

  /* A dot of a cell is a run, which a click opens. */
  function opened(click) {
    const run = click && click.points && click.points[0] && click.points[0].customdata;
    if (typeof run === "string" && document.getElementById("phase-graph")) lens.go("/run?run=" + encodeURIComponent(run).replace(/%2F/g, "/"));
  }

  dc.sweep = {
    opened,
    step: (u, scale) => moved("sweep-step", u, scale),
    length: (u, scale) => moved("sweep-length", u, scale),
    stepScale: (pace, scales, at) => scaled("sweep-step", pace, scales, at),
    lengthScale: function (unit, scales, at) {
      const props = scaled("sweep-length", unit, scales, at);
      return props === dc.no_update ? props : [...props, scales[unit].tint];
    },
  };
})();
