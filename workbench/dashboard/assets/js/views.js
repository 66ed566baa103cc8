/* Saved views: opened, saved and deleted by asking the server, which answers with the list. */
(function () {
  "use strict";
  const lens = window.lens;
  let asked = 0;
  const ask = (what) => lens.set("views-ask", { data: Object.assign({ at: ++asked }, what) });
  const save = () => ask({ do: "save", name: document.getElementById("views-name").value, link: location.pathname + location.search });

  document.addEventListener("click", function (e) {
    const t = e.target instanceof Element ? e.target : null;
    if (!t) return;
    if (t.closest("#views-open")) { lens.set("views", { opened: true }); return ask({ do: "list" }); }
    if (t.closest("[data-view-save]")) return save();
    const gone = t.closest("[data-view-delete]");
    if (gone) return ask({ do: "delete", file: gone.dataset.viewDelete });
    if (t.closest("[data-view-open]")) lens.set("views", { opened: false });
  });
  document.addEventListener("keydown", function (e) {
    if (e.key === "Enter" && e.target.id === "views-name") { e.preventDefault(); save(); }
  });
})();
