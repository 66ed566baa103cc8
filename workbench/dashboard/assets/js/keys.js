/* Buttons, menus and keys, by delegation: one listener each, whatever the page draws. */
(function () {
  "use strict";
  const lens = window.lens, root = document.documentElement;
  const at = (id) => document.getElementById(id);

  lens.toast = function (text) {
    const node = at("toast");
    if (!node) return;
    node.textContent = text;
    node.classList.add("on");
    clearTimeout(lens.toasting);
    lens.toasting = setTimeout(() => node.classList.remove("on"), 2400);
  };
  lens.copy = async function (text, said) {
    try {
      await navigator.clipboard.writeText(text);
    } catch (e) {  // plain http on another host has no clipboard
      const area = document.createElement("textarea");
      area.value = text; document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
    }
    lens.toast(said);
  };

  function showTheme() {
    const button = at("theme-toggle");
    if (!button) return;
    const dark = lens.theme() === "dark", name = dark ? "Light theme" : "Dark theme";
    button.firstChild.className = "icon " + (dark ? "sun" : "moon");
    button.setAttribute("aria-label", name); button.title = name;
  }
  function setTheme(name) {
    root.setAttribute("data-mantine-color-scheme", name);
    try { localStorage.setItem("mantine-color-scheme-value", name); } catch (e) { /* private window */ }
    lens.set("look", { data: { theme: name, size: window.innerWidth >= 1900 ? 12 : 11 } });
    showTheme();
  }
  lens.toggleTheme = () => setTheme(lens.theme() === "dark" ? "light" : "dark");
  new MutationObserver(showTheme).observe(root, { attributes: true, attributeFilter: ["data-mantine-color-scheme"] });
  const waitForButton = setInterval(() => { if (at("theme-toggle")) { clearInterval(waitForButton); showTheme(); } }, 50);

  /* ---- panels ---------------------------------------------------------------------------------- */
  const modes = {};
  const PINS = new Set(["pin", "unpin", "pin-earlier", "pin-later"]);
  lens.act = function (action, id) {
    const panel = at(id + "-panel");
    if (!panel) return;
    if (action === "table") {
      modes[id] = panel.dataset.mode === "table" ? "figure" : "table";
      panel.dataset.mode = modes[id];
      lens.set(id + "-mode", { data: modes[id] });
    } else if (action === "max") lens.maximise(panel);
    else if (PINS.has(action)) lens.pin(action, id);
    else lens.export(action, id);
  };
  lens.maximise = function (panel) {
    const other = document.querySelector(".pan.max");
    if (other) other.classList.remove("max");
    if (other !== panel) panel.classList.add("max");
    document.body.classList.toggle("maximised", other !== panel);
    for (const one of [other, panel]) {
      const button = one && one.querySelector(".ib.expand");
      if (button) {
        const name = one.classList.contains("max") ? "Restore panel" : "Maximise panel";
        button.setAttribute("aria-label", name); button.title = name;
      }
    }
    window.dispatchEvent(new Event("resize"));
  };

  /* The list of pages, on screens too narrow for all their links. */
  function unfold(open) {
    const button = at("nav-toggle");
    button.closest(".header").classList.toggle("open", open);
    button.setAttribute("aria-expanded", String(open));
  }

  document.addEventListener("click", function (e) {
    const t = e.target;
    if (!(t instanceof Element)) return;
    if (!t.closest("#nav-toggle")) unfold(false);
    const anchor = t.closest("a[data-nav]");
    if (anchor && !e.metaKey && !e.ctrlKey && !e.shiftKey && e.button === 0) {
      e.preventDefault();
      const href = anchor.getAttribute("href");
      return lens.go(anchor.dataset.carry ? lens.carried(href) : href, anchor.dataset.nav === "replace");
    }
    const report = t.closest("[data-save-report]");
    if (report) return lens.report(report);
    const item = t.closest("[data-action]");
    if (item) return lens.act(item.dataset.action, item.dataset.panel);
    const copy = t.closest("[data-copy]");
    if (copy) return lens.copy(copy.dataset.copy, "Command copied");
    const cell = t.closest("[data-pick-head]");
    if (cell && !e.metaKey && !e.ctrlKey && !e.shiftKey) {
      e.preventDefault();
      return lens.set("head-select", { value: cell.dataset.pickHead });
    }
    const pin = t.closest("[data-pin]");
    if (pin) return lens.set("circuit-pin", { data: { node: pin.dataset.pin, at: Date.now() } });
    const keep = t.closest("[data-keep]");
    if (keep) { lens.set("keep-run", { data: Date.now() }); return; }
    const card = t.closest("[data-verdict]");
    if (card) {
      const on = card.getAttribute("aria-pressed") === "true";
      return lens.set("verdict", { data: on ? "" : card.dataset.verdict });
    }
    if (t.closest("#nav-toggle")) return unfold(!at("nav-toggle").closest(".header").classList.contains("open"));
    if (t.closest("#copy-link")) return lens.copy(location.href, "Link copied");
    if (t.closest("#theme-toggle")) return lens.toggleTheme();
    if (t.closest("#help-open")) return lens.set("help", { opened: true });
    if (t.closest("#play")) return lens.play();
    if (t.closest("#axis-toggle")) return lens.toggleAxis();
  });

  /* It does not bubble; what is open is asked for and kept up with, what is closed is not. */
  document.addEventListener("toggle", function (e) {
    if (e.target.id === "evidence") lens.set("ledger-open", { data: e.target.open });
  }, true);

  /* ---- keys ------------------------------------------------------------------------------------ */
  const own = "input, textarea, select, [contenteditable=true], [role=slider], [role=combobox], [role=radio], [role=menu], [role=menuitem], [role=dialog], [role=grid], [role=row], [role=gridcell], .ag-root, .mantine-Select-dropdown";
  const letters = () => { const box = at("letters"); return !box || box.checked; };
  let letterKeys = true;
  document.addEventListener("change", (e) => { if (e.target.id === "letters") letterKeys = e.target.checked; });

  document.addEventListener("keydown", function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
    const target = e.target instanceof Element ? e.target : document.body;
    if (e.key === "Escape") {
      if (document.querySelector(".header.open")) { unfold(false); at("nav-toggle").focus(); return; }
      const max = document.querySelector(".pan.max");
      if (max && !target.closest("[role=menu], [role=dialog]")) lens.maximise(max);
      return;
    }
    if (target.closest(own)) return;
    const panel = target.closest(".pan");
    const run = !!at("step-slider");
    const moves = {
      ArrowLeft: () => lens.moveStep(e.shiftKey ? -5 : -1), ArrowRight: () => lens.moveStep(e.shiftKey ? 5 : 1),
      ArrowDown: () => lens.moveLength(-1), ArrowUp: () => lens.moveLength(1),
      "[": () => lens.moveHead(-1), "]": () => lens.moveHead(1),
    };
    if (run && moves[e.key]) { e.preventDefault(); moves[e.key](); return; }
    if (run && e.key === " " && !target.closest("button, a")) { e.preventDefault(); lens.play(); return; }
    if (e.key === "/" && at("filter")) { e.preventDefault(); at("filter").focus(); return; }
    if (!letterKeys || !letters()) return;
    if (/^[1-9]$/.test(e.key)) {
      const wanted = [...document.querySelectorAll(".pan")].filter((pan) => pan.getClientRects().length)[Number(e.key) - 1];
      if (wanted) { e.preventDefault(); wanted.focus(); wanted.scrollIntoView({ block: "nearest" }); }
      return;
    }
    const key = e.key.toLowerCase(), id = panel && panel.id.replace(/-panel$/, "");
    if (panel && key === "t") lens.act("table", id);
    else if (panel && key === "m") lens.act("max", id);
    else if (panel && key === "e") panel.querySelector(".menu-button")?.click();
    else if (key === "c") lens.copy(location.href, "Link copied");
    else if (key === "d") lens.toggleTheme();
    else if (key === "x") lens.toggleAxis();
    else if (e.key === "?") lens.set("help", { opened: true });
    else return;
    e.preventDefault();
  });
})();
