/* What a click on a page asks for beyond the cursor: the same page with some of its address changed, a measurement. */
(function () {
  "use strict";
  const lens = window.lens, dc = window.dash_clientside;

  lens.visit = function (changes, path) {
    const asked = new URLSearchParams(location.search);
    for (const [key, value] of Object.entries(changes)) {
      if (value === "" || value === null || value === undefined) asked.delete(key); else asked.set(key, value);
    }
    const text = [...asked].map(([k, v]) => k + "=" + encodeURIComponent(v).replace(/%2F/g, "/")).join("&");
    lens.go((path || location.pathname) + (text ? "?" + text : ""));
  };
  dc.lens.picked = function (rows) {
    const names = (rows || []).map((row) => row.first || row.name);
    const said = ["Pick two to compare", "Pick another to compare", "Compare the two"][names.length] || "Pick only two to compare";
    return [said, names.length !== 2, names.join("\n")];
  };
  dc.lens.openTheory = function (name) { if (name) lens.go("/theory?run=" + encodeURIComponent(name).replace(/%2F/g, "/")); };
  dc.lens.openOther = function (name) { if (name) lens.visit({ run2: name }); };

  document.addEventListener("click", function (e) {
    if (!(e.target instanceof Element)) return;
    const asked = new URLSearchParams(location.search);
    const measure = e.target.closest("[data-measure]");
    if (measure) lens.set("measure-ask", { data: { run: measure.dataset.run, only: measure.dataset.measure, step: measure.dataset.measureStep || "", at: Date.now() } });
    if (e.target.closest("[data-measure-cancel]")) lens.set("measure-ask", { data: { cancel: Date.now() } });
    if (e.target.closest("[data-measure-close]")) lens.set("measure-job", { data: null });
    const picked = e.target.closest("#compare-picked");
    if (picked && !picked.disabled) {
      const [a, b] = picked.dataset.compare.split("\n").map((name) => encodeURIComponent(name).replace(/%2F/g, "/"));
      lens.go("/compare?run=" + a + "&run2=" + b);
    }
    if (e.target.closest("[data-swap]")) {
      const select = document.getElementById("run2-select");
      if (select) lens.visit({ run: select.value, run2: asked.get("run") });
    }
    if (e.target.closest("[data-shares]")) lens.visit({ steps: asked.get("steps") === "step" ? "" : "step" });
    if (e.target.closest("[data-seeds]")) lens.visit({ seeds: asked.get("seeds") === "1" ? "" : "1" });
  });
})();
