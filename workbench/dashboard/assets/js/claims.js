/* Cells of the table of claims. Places come in percent from the server (components/interval_chart.py). */
(function () {
  "use strict";
  const h = React.createElement;
  const cells = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {});
  let table = null;
  cells.ClaimText = function ({ data, api }) {
    if (table !== api) {
      table = api;
      setTimeout(ready);
      api.addEventListener("selectionChanged", ({ source }) => { if (source === "api") ready(); });  // that of the link
    }
    return h("div", { className: "claim-cell", title: data.prediction },
      h("span", { className: "claim-line" }, h("strong", null, data.claim), h("span", { className: "narrow chip " + data.slug }, data.verdict), h("span", { className: "soft" }, data.papers)),
      h("span", { className: "claim-text" }, data.prediction));
  };
  cells.ClaimVerdict = ({ data }) => h("span", { className: "chip " + data.slug, title: data.verdict }, data.verdict);
  const percent = (value) => value + "%";
  cells.ClaimSeeds = function ({ data }) {
    if (!data.strip) return h("div", { className: "cell-none" }, "–");
    const { dots, lines, side, said } = data.strip;
    return h("div", { className: "claim-strip-cell" },
      h("div", { className: "claim-strip", role: "img", "aria-label": said, title: said },
        side.length ? h("i", { className: "side", style: { left: percent(side[0]), width: percent(side[1] - side[0]) } }) : null,
        lines.map((at, i) => h("i", { key: "t" + i, className: "threshold", style: { left: percent(at) } })),
        dots.map((dot, i) => h("span", { key: i, className: "dot-line " + dot.kind, style: { top: percent(100 * (i + .5) / dots.length) } },
          h("i", { className: "interval", style: { left: percent(dot.from), width: percent(dot.to - dot.from) } }),
          h("i", { className: "mark", style: { left: percent(dot.at) } })))),
      data.seeds ? h("span", { className: "soft small num" }, data.seeds) : null);
  };

  /* In a narrow window the list has one column, and the numbers are shown with the selected claim. */
  const NARROW = 700;
  const there = () => table && !table.isDestroyed();
  function fit() { if (there()) table.setColumnsVisible(["verdict", "share"], window.innerWidth > NARROW); }
  function ready() {
    fit();
    const [node] = there() ? table.getSelectedNodes() : [];
    if (node) table.ensureNodeVisible(node);
  }
  window.addEventListener("resize", fit);

  document.addEventListener("keydown", function (e) {
    if (e.key !== "Enter" || !(e.target instanceof Element)) return;
    const row = e.target.closest("#claims-grid .ag-row");
    if (!row || !there()) return;
    e.preventDefault();
    table.getRowNode(row.getAttribute("row-id")).setSelected(true, true);
  });
})();
