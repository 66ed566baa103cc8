/* Cells of the runs grid. All numbers and paths come ready from the server; here they are only drawn. */
(function () {
  "use strict";
  const h = React.createElement;
  const cells = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {});
  const box = (cls, ...children) => h("div", { className: cls }, ...children);
  const none = () => box("cell-none", "–");

  /* Runs of one sweep are told apart by the ends of their names: a name without room loses its middle. */
  const ENDING = 12, LONG = 20;
  function middle(name) {
    if (name.length <= LONG) return [name];
    return [h("span", { key: 0, className: "begins" }, name.slice(0, -ENDING)), h("span", { key: 1 }, name.slice(-ENDING))];
  }
  cells.RunName = function ({ data }) {
    return box("cell-two",
      h("a", { href: data.href, "data-nav": "1", className: "strong middle", title: data.name, "aria-label": data.name }, ...middle(data.name)),
      data.liveText ? h("span", { className: "live-said num", title: "Step " + data.liveText }, h("span", { className: "dot live", role: "img", "aria-label": "training" }), data.liveText) :
      h("span", { className: "soft", title: data.note || data.question || undefined }, (data.tags || []).map((tag) => h("span", { key: tag, className: "tag" }, tag)), data.note || data.taskLabel));
  };
  cells.VerdictChip = function ({ data }) {
    /* Rows that cannot be read are no missing rows. */
    if (data.damage && data.verdict === "not measured") {
      return h("span", { className: "chip damaged", title: data.damage }, h("span", { className: "icon warn", "aria-hidden": "true" }), "Damaged");
    }
    const word = data.verdict.charAt(0).toUpperCase() + data.verdict.slice(1);
    const mark = data.damage ? h("span", { className: "icon warn", role: "img", title: data.damage, "aria-label": data.damage }) : null;
    const chip = h("span", { className: "chip " + data.slug },
      h("span", { className: "icon glyph " + data.slug, "aria-hidden": "true" }), word, mark);
    /* A tick per seed: what "4 of 5" hides is which one. */
    const seed = (one) => (one.seed === null || one.seed === undefined ? one.name : "seed " + one.seed) + ": " + one.verdict;
    const ticks = data.ticks && data.ticks.length ? h("span", { className: "seed-ticks", role: "img", "aria-label": data.ticks.map(seed).join("; "), title: data.ticks.map(seed).join("\n") },
      data.ticks.map((one) => h("span", { key: one.name, className: "seed-tick " + one.slug }))) : null;
    /* The column is too narrow for "seeds" beside near ties; the ticks say it. */
    const seeds = data.seeds ? data.of + (data.tiesText ? "" : " seeds") : data.runs ? data.of + " runs" : "";
    const beside = [seeds, data.tiesText || ""].filter(Boolean).join(" · ");
    return beside ? h("div", { className: "cell-chip", title: [data.counts, data.tiesNote].filter(Boolean).join("; ") }, chip, h("span", { className: "soft small num" }, ticks, beside)) : chip;
  };
  /* Cells of accuracies: length|accuracy|lowest highest|number, one per multiple of N (state/failure_strip.py). */
  const TEST_SETS = ["matched", "challenge"], UNTESTED = "~";
  const channel = (colour, at) => parseInt(colour.slice(1 + 2 * at, 3 + 2 * at), 16);
  function colourOf(value, chance, colours) {
    const share = Math.min(1, Math.max(0, (value - chance) / (1 - chance || 1))) * (colours.length - 1);
    const from = Math.min(colours.length - 2, Math.floor(share)), t = share - from;
    const mixed = [0, 1, 2].map((i) => Math.round(channel(colours[from], i) * (1 - t) + channel(colours[from + 1], i) * t));
    return "rgb(" + mixed.join() + ")";
  }
  function cellOf(text, times, testSet, data) {
    const where = (length) => data.stripItems ? length + " items" : (length.includes(" to ") ? "lengths " : "length ") + length + (times ? " (" + times + ")" : "");
    if (!text) return { said: times + ", " + testSet + " test set: not measured" };
    const untested = text.startsWith(UNTESTED), [length, value, limits, count] = text.slice(untested ? 1 : 0).split("|");
    const ends = /[a-z]/.test(limits) ? [] : limits.split(" ").filter(Boolean);
    const spread = data.stripMembers ? " (" + ends.join(" to ") + ")" : ends.length ? " [" + ends.join(", ") + "]" : limits && ", " + limits;
    const many = data.stripMembers ? ", median of " + count + " " + data.stripMembers : ends.length && count ? ", n = " + Number(count).toLocaleString("en-US") : "";
    const said = where(length) + (testSet ? ", " + testSet + " test set" : "") + ": " + value + spread + many + (untested ? ". The verdict does not use this cell" : "");
    return { value: Number(value), ends: data.stripMembers ? ends.map(Number) : null, untested, said };
  }
  cells.FailureStrip = function (params) {
    const data = params.data;
    if (data.liveAt) return h("div", { className: "cell-two num", title: "Accuracy " + data.liveAt }, h("span", null, data.liveInside), h("span", { className: "soft" }, data.liveOutside));
    if (!data.strip && data.damage) return h("span", { className: "cell-damage", title: data.damage }, data.damage);
    if (!data.strip && data.apart) return h("span", { className: "cell-damage" }, data.apart);
    if (!data.strip) {
      return h("span", { className: "cell-command" }, h("code", null, data.command),
        h("button", { className: "ib", type: "button", "data-copy": data.command, "aria-label": "Copy: " + data.command },
          h("span", { className: "icon copy" })));
    }
    const colour = (value) => colourOf(value, data.stripChance, params.colours);
    const drawn = data.strip.map(function (line, row) {
      const texts = line.split(";"), testSet = data.stripItems ? "" : TEST_SETS[row];
      return data.stripItems ? texts.map((text) => cellOf(text, "", testSet, data)) : params.places.map((place, i) => cellOf(texts[place], params.times[i], testSet, data));
    });
    const shown = (one, i) => one.value === undefined ? h("i", { key: i, className: "unmeasured", title: one.said }) :
      h("i", { key: i, className: one.untested ? "untested" : undefined, title: one.said, style: { background: colour(one.value) } },
        one.ends && h("b", { style: { background: colour(one.ends[1]) } }), one.ends && h("b", { style: { background: colour(one.ends[0]) } }));
    const said = drawn.flat().filter((one) => one.value !== undefined).map((one) => one.said).join("; ");
    const items = data.stripItems ? data.strip[0].split(";").map((text) => text.split("|")[0]) : null;
    return h("div", { className: "gel" + (items ? " items" : ""), role: "img", "aria-label": said },
      drawn.map((line, row) => h("div", { key: row, className: "gel-line" }, line.map(shown))),
      items ? h("span", { className: "soft small num" }, items[0] + " to " + items[items.length - 1] + " items") :
        h("span", { className: "trained", style: { left: 100 * params.trained / params.places.length + "%" } }));
  };
  /* The legend of the strips: the scale of colours above, and the multiples of N over their cells. */
  cells.StripHeader = function (params) {
    const count = params.places.length, tick = (text) => text.replace(/ .*/, "");
    const named = (text, i) => i === 0 || i === params.trained - 1 || i === count - 1 || (i >= params.trained && (i - params.trained) % 2 === 1);
    return h("div", { className: "gel-head" }, h("span", { className: "title" }, params.displayName),
      h("span", { className: "scale" }, "chance", h("i", { style: { background: "linear-gradient(to right, " + params.colours.join() + ")" } }), "1"),
      h("span", { className: "ticks num" }, params.times.map((text, i) => h("span", { key: i, className: i === params.trained - 1 ? "train" : undefined },
        named(text, i) ? (i === params.trained - 1 ? "N" : tick(text)) : null))));
  };
  /* The first failing length: runs that never fail come after all that do, and those of which it is not known last. */
  const order = window.dashAgGridFunctions = window.dashAgGridFunctions || {}, UNKNOWN = 1e13;
  order.byFirstFailure = (a, b) => (typeof a === "number" ? a : UNKNOWN) - (typeof b === "number" ? b : UNKNOWN);
  cells.ValueCell = function ({ data, colDef }) {
    const f = colDef.field;
    if (!data[f + "Text"]) return none();
    return h("div", { className: "cell-two right num", title: data[f + "Title"] || undefined }, h("span", null, data[f + "Text"]), h("span", { className: "soft small" }, data[f + "Interval"]));
  };
  cells.Reach = function (params) {
    return params.data.reachWhy ? h("div", { className: "cell-none", title: params.data.reachWhy }, "–") : cells.ValueCell(params);
  };
  cells.FailsAt = function ({ data }) {
    if (!data.failsText) return none();
    const kind = data.failed ? "strong" : "soft";
    if (!data.failsTimes) return box("cell-one right num " + kind, data.failsText);
    return box("cell-two right num", h("span", { className: kind }, data.failsTimes), h("span", { className: "soft small" }, data.failsText));
  };
  cells.DotPair = function ({ data }) {
    const s = data.summary, p = data.position;
    if (s === undefined && p === undefined) return none();
    const at = (v) => 8 + 100 * Math.min(1, Math.max(0, v));
    const both = s !== undefined && p !== undefined;
    /* Marks that would hide each other stand one above the other. */
    const near = both && Math.abs(at(s) - at(p)) < 10;
    const ys = near ? 15 : 10, yp = near ? 5 : 10, r = near ? 4 : 4.6, half = near ? 3.1 : 3.6;
    return h("svg", { className: "pair", width: 116, height: 20, viewBox: "0 0 116 20", role: "img", "aria-label": data.carries },
      h("title", null, data.carries),
      h("line", { x1: 8, y1: 10, x2: 108, y2: 10, className: "base" }),
      [8, 58, 108].map((x) => h("line", { key: x, x1: x, y1: 7, x2: x, y2: 13, className: "tick" })),
      both && h("line", { x1: at(s), y1: 10, x2: at(p), y2: 10, className: "span" }),
      p !== undefined && h("rect", { x: at(p) - half, y: yp - half, width: 2 * half, height: 2 * half, transform: "rotate(45 " + at(p) + " " + yp + ")", className: "position" }),
      s !== undefined && h("circle", { cx: at(s), cy: ys, r: r, className: "summary" }));
  };
  cells.ModelCell = ({ data }) => box("cell-two", h("span", { className: "num" }, data.model, data.seeds || data.runs ? h("span", { className: "soft" }, " · " + (data.seeds ? data.seeds + " seeds" : data.runs + (data.runs === 1 ? " run" : " runs"))) : data.seed === null || data.seed === undefined ? null : h("span", { className: "soft" }, " · seed " + data.seed)), h("span", { className: "soft" }, data.order));
  cells.Expects = function ({ data }) {
    if (!data.expects) return none();
    if (!data.theory) return box("cell-one soft", data.expects);
    return box("cell-two", h("span", { className: data.expects.startsWith("≠") ? "strong" : "" }, data.expects), h("span", { className: "soft", title: data.theory }, data.theory));
  };
  cells.Since = function ({ data }) {
    if (!data.sinceText) return none();
    return box("cell-two right num", h("span", null, data.sinceText), data.sinceAfter ? h("span", { className: "soft small" }, data.sinceAfter) : null);
  };
  cells.Steps = function ({ data }) {
    return box("cell-one right num",
      data.live ? h("span", { className: "dot live", role: "img", "aria-label": "training", title: "Training now" }) : null,
      data.steps.toLocaleString("en-US"));
  };

  /* Columns that are only shown in windows wider than so many pixels, the first to go first. */
  const ABOVE = { steps: 1434, since: 1358, model: 1264, expects: 1200 };
  async function fit() {
    const grids = window.dash_ag_grid;
    if (!grids || !document.getElementById("grid")) return;
    const api = await grids.getApiAsync("grid");
    if (api.isDestroyed()) return;
    for (const [column, width] of Object.entries(ABOVE)) api.setColumnsVisible([column], window.innerWidth > width);
  }
  window.addEventListener("resize", fit);
  window.dash_clientside.lens.fitted = function () { fit(); };

  /* A row opens its run: by click anywhere that is not a control, and by Enter. */
  const rowOf = (target) => target.closest("#grid .ag-row");
  const open = (row) => { const link = row.querySelector("a[data-nav]"); if (link) window.lens.go(link.getAttribute("href")); };
  document.addEventListener("click", function (e) {
    if (!(e.target instanceof Element) || e.target.closest("a, button, input, [col-id=ag-Grid-SelectionColumn]") || e.metaKey || e.ctrlKey) return;
    const row = rowOf(e.target);
    if (row && !String(getSelection())) open(row);
  });
  document.addEventListener("keydown", function (e) {
    if (e.key !== "Enter" || !(e.target instanceof Element) || e.target.closest("a, button")) return;
    const row = rowOf(e.target);
    if (row) { e.preventDefault(); open(row); }
  });
})();
