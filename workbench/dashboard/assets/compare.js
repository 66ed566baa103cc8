/* Pages whose address says more than the cursor: going to the same page with some of it changed. */
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
  dc.lens.openOther = function (name) { if (name) lens.visit({ run2: name }); };

  document.addEventListener("click", function (e) {
    if (!(e.target instanceof Element)) return;
    const asked = new URLSearchParams(location.search);
    if (e.target.closest("[data-swap]")) {
      const select = document.getElementById("run2-select");
      if (select) lens.visit({ run: select.value, run2: asked.get("run") });
    }
    if (e.target.closest("[data-seeds]")) lens.visit({ seeds: asked.get("seeds") === "1" ? "" : "1" });
  });
})();
