/* What a click on a page asks for beyond the cursor: the same page with some of its address changed, a measurement. */
(function () {
  "use strict";
  const lens = window.lens, dc = window.dash_clientside;

  const MOST = 8;  // configurations beside each other
  const encoded = (text) => encodeURIComponent(text).replace(/%2F/g, "/");
  const unbarred = (name) => name.replace(/%/g, "%25").replace(/\|/g, "%7C");

  lens.visit = function (changes, path) {
    const asked = new URLSearchParams(location.search);
    for (const [key, value] of Object.entries(changes)) {
      if (value === "" || value === null || value === undefined) asked.delete(key); else asked.set(key, value);
    }
    const text = [...asked].map(([k, v]) => k + "=" + encodeURIComponent(v).replace(/%2F/g, "/")).join("&");
    lens.go((path || location.pathname) + (text ? "?" + text : ""));
  };
  dc.lens.picked = function (rows) {
    const names = (rows || []).map((row) => row.first || row.name), count = names.length;
    const groups = count > 2 || (rows || []).some((row) => row.first);  // lines of all seeds: configurations, not two runs
    const said = ["Pick runs to compare", "Pick another to compare", "Compare the two"][count]
      || (count <= MOST ? "Compare " + count + " configurations" : "Pick at most " + MOST + " to compare");
    const beside = groups ? "&configs=" + encoded(names.slice(1).map(unbarred).join("|")) : "&run2=" + encoded(names[1] || "");
    return [said, count < 2 || count > MOST, "/compare?run=" + encoded(names[0] || "") + beside];
  };
  /* The configurations of a link: one run of each, a bar between two. */
  dc.lens.openConfigurations = function (names) {
    const asked = new URLSearchParams(location.search);
    if (!names || !asked.get("configs")) return;
    const run = names[0] || asked.get("run");
    lens.visit({ run, configs: (names.slice(1).length ? names.slice(1) : [run]).map(unbarred).join("|") });
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
      lens.go(picked.dataset.compare);
    }
    const configs = e.target.closest("[data-configs]");
    if (configs) lens.visit({ configs: configs.dataset.configs, run2: asked.get("run2") });
    if (e.target.closest("[data-swap]")) {
      const select = document.getElementById("run2-select");
      if (select) lens.visit({ run: select.value, run2: asked.get("run") });
    }
    if (e.target.closest("[data-shares]")) lens.visit({ steps: asked.get("steps") === "step" ? "" : "step" });
    if (e.target.closest("[data-seeds]")) lens.visit({ seeds: asked.get("seeds") === "1" ? "" : "1" });
  });
})();
