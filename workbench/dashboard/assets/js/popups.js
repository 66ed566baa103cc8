/* One menu and one explanation for all panels, filled when opened: a component for each item of each panel would
   be looked at on every change of anything on the page. */
(function () {
  "use strict";
  const DELAY = 150, GRACE = 120, GAP = 4, EDGE = 8;
  const MENU = {
    Data: [["table", "Data as table", "T"], ["csv", "CSV"], ["parquet", "Parquet"], ["md", "Markdown"], ["tex", "LaTeX"]],
    Picture: [["png", "PNG, 2×"], ["svg", "SVG"], ["gif", "GIF over training"]],
    "For papers": [["svg single", "SVG, 3.25 in"], ["pdf single", "PDF, 3.25 in"], ["png single", "PNG, 3.25 in"],
      ["svg double", "SVG, 6.75 in"], ["pdf double", "PDF, 6.75 in"], ["png double", "PNG, 6.75 in"]],
    Notebook: [["snippet", "Python snippet"], ["panel-link", "Link to these data"]],
  };

  function made(tag, props, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }
  /* Below the button where there is room, else above it; never beyond the window. */
  function open(node, button, align) {
    document.body.append(node);
    if (node.showPopover) node.showPopover();
    const at = button.getBoundingClientRect(), box = node.getBoundingClientRect();
    const left = align === "end" ? at.right - box.width : at.left + at.width / 2 - box.width / 2;
    const below = at.bottom + GAP, above = at.top - GAP - box.height;
    node.style.left = Math.max(EDGE, Math.min(left, root().clientWidth - box.width - EDGE)) + "px";
    const lowest = Math.max(EDGE, root().clientHeight - box.height - EDGE);
    node.style.top = (below <= lowest ? below : above > EDGE ? above : lowest) + "px";
  }
  const root = () => document.documentElement;

  /* ---- the menu ---------------------------------------------------------------------------------- */
  let menu = null, owner = null;
  function close(focus) {
    if (!menu) return;
    const [node, button] = [menu, owner];
    menu = owner = null;
    button.setAttribute("aria-expanded", "false");
    if (focus) button.focus();
    node.remove();
  }
  function show(button) {
    close(false);
    hide();
    const panel = button.dataset.menu;
    const pins = window.lens.pinItems(panel);
    const { Data, ...others } = MENU;
    const offered = pins.length ? { Data, "This page": pins, ...others } : MENU;
    const groups = Object.entries(offered).map(([name, items]) => made("div", { role: "group", "aria-label": name },
      made("p", { "aria-hidden": "true" }, name),
      ...items.map(([action, text, key]) => made("button",
        { type: "button", role: "menuitem", tabindex: "-1", "data-action": action, "data-panel": panel },
        text, ...(key ? [made("kbd", { "aria-hidden": "true" }, key)] : [])))));
    menu = made("div", { role: "menu", class: "popup-menu", popover: "manual", "aria-label": button.getAttribute("aria-label") }, ...groups);
    owner = button;
    button.setAttribute("aria-expanded", "true");
    open(menu, button, "end");
    items()[0].focus();
  }
  const items = () => Array.from(menu.querySelectorAll("[role=menuitem]"));

  document.addEventListener("click", function (e) {
    const t = e.target instanceof Element ? e.target : null;
    const button = t && t.closest(".menu-button");
    if (button) return owner === button ? close(true) : show(button);
    if (menu) close(!!t && menu.contains(t));  // an item: assets/js/keys.js does what it says
  });
  document.addEventListener("pointerdown", function (e) {
    if (menu && !menu.contains(e.target) && !owner.contains(e.target)) close(false);
  });
  document.addEventListener("keydown", function (e) {
    if (!menu || e.ctrlKey || e.metaKey || e.altKey) return;
    const all = items(), at = all.indexOf(document.activeElement), last = all.length - 1;
    const to = { ArrowDown: at < last ? at + 1 : 0, ArrowUp: at > 0 ? at - 1 : last, Home: 0, End: last }[e.key];
    if (to !== undefined) all[to].focus();
    else if (e.key === "Escape") close(true);
    else if (e.key === "Tab") return close(true);  // and on to what follows the button
    else return;
    e.preventDefault();
    e.stopPropagation();
  }, true);

  /* ---- the explanation: hover, focus and touch show it; it stays while the pointer is on it ------- */
  let about = null, explained = null, timer = 0;
  function hide() {
    clearTimeout(timer);
    if (!about) return;
    explained.removeAttribute("aria-describedby");
    about.remove();
    about = explained = null;
  }
  function explain(button) {
    clearTimeout(timer);
    if (explained === button) return;
    hide();
    const lines = JSON.parse(button.dataset.about).map(([term, text]) =>
      made("p", {}, ...(term ? [made("strong", {}, term), ": "] : []), text));
    about = made("div", { id: "about", role: "tooltip", class: "popup-about", popover: "manual" }, ...lines);
    explained = button;
    button.setAttribute("aria-describedby", "about");
    open(about, button, "middle");
  }
  const within = (e, selector) => e.target instanceof Element && e.target.closest(selector);
  document.addEventListener("pointerover", function (e) {
    if (e.pointerType === "touch") return;
    const button = within(e, "[data-about]");
    clearTimeout(timer);
    if (button) timer = setTimeout(() => explain(button), DELAY);
    else if (about && !within(e, "#about")) timer = setTimeout(hide, GRACE);
  });
  document.addEventListener("focusin", function (e) {
    const button = within(e, "[data-about]");
    if (button) explain(button); else hide();
  });
  document.addEventListener("click", function (e) {
    const button = within(e, "[data-about]");
    if (button) explain(button); else if (!within(e, "#about")) hide();
  });
  document.addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });
  for (const event of ["scroll", "resize"]) {
    window.addEventListener(event, function (e) {
      const inside = e.target instanceof Element && e.target.closest(".popup-menu, .popup-about");
      if (!inside) { close(false); hide(); }
    }, true);
  }
})();
