/* The command palette (Ctrl K): what is typed finds pages, runs, quantities and terms (/commands.json), and the heads,
   steps, lengths and commands of the page. The dialog is the browser's own, which keeps the focus inside. */
(function () {
  "use strict";
  const lens = window.lens, MOST = 60;
  const at = (id) => document.getElementById(id);
  const mac = /mac|iphone|ipad/i.test(navigator.platform);
  let dialog = null, input = null, list = null, entries = [], shown = [], active = 0, before = null;

  /* ---- what there is ----------------------------------------------------------------------------- */
  const press = (id) => () => at(id)?.click();
  function here() {
    const found = [], scale = lens.scale, under = !!document.querySelector(".cursor-page") && scale;
    const command = (name, hint, run) => found.push({ kind: "Command", name, hint, run });
    command(lens.theme() === "dark" ? "Light theme" : "Dark theme", "D", () => lens.toggleTheme());
    if (at("axis-toggle") || at("sweep-unit")) command("Lengths as multiples of N, or in tokens", "X", () => lens.toggleAxis());
    command("Copy the link to this view", "C", () => lens.copy(location.href, "Link copied"));
    if (under) command("Play through training", "Space", () => lens.play());
    if (document.querySelector("[data-save-report]:not([hidden])")) command("Save as one file", "", () => document.querySelector("[data-save-report]").click());
    for (const button of document.querySelectorAll("[data-command]")) {
      if (!button.hidden) command(button.dataset.command, "", () => button.click());
    }
    command("Guided tour: seven stops along one run", "", () => lens.tour());
    command("Help: verdicts, colours, keys", "?", press("help-open"));
    if (!under) return found;
    for (let l = 0; l < scale.layers; l++) {
      for (let h = 0; h < scale.heads; h++) found.push({ kind: "Head", name: "L" + l + "H" + h, hint: "layer " + l + ", head " + h, run: () => lens.set("head-select", { value: l + "." + h }) });
    }
    for (const step of scale.steps) found.push({ kind: "Step", name: "step " + lens.count(step), also: String(step), hint: "checkpoint", run: () => lens.set("step-slider", { value: lens.uStep(step) }) });
    for (const n of scale.lengths) found.push({ kind: "Length", name: "length " + lens.count(n), also: String(n), hint: lens.multiple(n / scale.trained) + " × trained", run: () => lens.set("length-slider", { value: lens.uLength(n) }) });
    return found;
  }
  function mark(id, patience) {  // the panel may still be on its way
    const panel = at(id + "-panel");
    if (!panel) { if (patience > 0) setTimeout(() => mark(id, patience - 1), 100); return; }
    for (const one of document.querySelectorAll(".pan.marked")) one.classList.remove("marked");
    panel.classList.add("marked");
    panel.scrollIntoView({ block: "center" });
    panel.focus({ preventScroll: true });
  }
  function toPanel(what) {
    const [id, measurement, quantity] = what.split("|"), own = id !== "more-training";
    const asked = new URLSearchParams(location.search), run = (document.querySelector(".cursor-page") && asked.get("run")) || lens.run || lens.last;
    if (own && at(id + "-panel") && location.pathname === "/run") return mark(id, 0);
    if (!run && !entries.some((one) => one.kind === "Run")) return lens.go("/glossary?quantity=" + encodeURIComponent(quantity));
    const name = run || entries.find((one) => one.kind === "Run").name;
    const keep = location.pathname === "/run" || document.querySelector(".cursor-page") ? lens.carried("/run") : "/run?run=" + encodeURIComponent(name).replace(/%2F/g, "/");
    lens.go(own ? keep : keep + "&quantity=" + encodeURIComponent(measurement + "|" + quantity));
    mark(id, 100);
  }
  const does = {
    go: (what) => () => lens.go(what),
    carry: (what) => () => lens.go(document.querySelector(".cursor-page") ? lens.carried(what) : what),
    panel: (what) => () => toPanel(what),
  };

  /* ---- finding ----------------------------------------------------------------------------------- */
  function within(word, text) {  // the letters in their order, the closer together the better
    let from = -1, first = -1;
    for (const letter of word) {
      from = text.indexOf(letter, from + 1);
      if (from < 0) return 0;
      if (first < 0) first = from;
    }
    return word.length > 1 ? word.length / (from - first + 1) : 0;
  }
  function score(words, one) {
    let sum = 0;
    for (const word of words) {
      const plain = one.text.indexOf(word);
      const of = plain === 0 ? 4 : plain > 0 && /[\s_\-./]/.test(one.text[plain - 1]) ? 3 : plain > 0 ? 2 : one.beside.includes(word) ? 1.2 : within(word, one.text) >= 0.5 ? within(word, one.text) : 0;
      if (!of) return 0;
      sum += of;
    }
    return sum / words.length + (words.join(" ") === one.text ? 2 : 0) - one.text.length / 1000;
  }
  function find(typed) {
    const words = typed.toLowerCase().trim().split(/\s+/).filter(Boolean);
    if (!words.length) return entries.filter((one) => !["Head", "Step", "Length", "Term", "Quantity"].includes(one.kind)).slice(0, MOST);
    return entries.map((one) => [score(words, one), one]).filter((pair) => pair[0] > 0)
      .sort((a, b) => b[0] - a[0]).slice(0, MOST).map((pair) => pair[1]);
  }

  /* ---- the dialog -------------------------------------------------------------------------------- */
  function made(tag, props, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }
  function draw() {
    shown = find(input.value);
    active = 0;
    list.replaceChildren(...shown.map((one, i) => made("li", { role: "option", id: "palette-" + i, "data-at": i, "aria-selected": "false" },
      made("span", { class: "kind" }, one.kind), made("span", { class: "name" }, one.name), made("span", { class: "hint" }, one.hint || ""))));
    at("palette-count").textContent = shown.length ? (shown.length === 1 ? "1 found" : shown.length + (shown.length === MOST ? " or more" : "") + " found") : "Nothing of that name";
    select(0);
  }
  function select(i) {
    active = shown.length ? (i + shown.length) % shown.length : -1;
    list.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
    const node = list.children[active];
    if (!node) return input.removeAttribute("aria-activedescendant");
    node.setAttribute("aria-selected", "true");
    node.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", node.id);
  }
  function choose(i) {
    const one = shown[i];
    if (!one) return;
    close();
    one.run();
  }
  function close() {
    if (!dialog) return;
    const node = dialog;
    dialog = null;
    node.close();
    node.remove();
    if (before && before.isConnected) before.focus({ preventScroll: true });
  }
  function ready(found) {
    entries = found.map((one) => Object.assign(one, { text: (one.name + (one.also ? " " + one.also : "")).toLowerCase().replace(/_/g, " "), beside: (one.kind + " " + (one.hint || "")).toLowerCase() }));
    if (dialog) draw();
  }
  lens.palette = async function () {
    if (dialog) return close();
    before = document.activeElement;
    input = made("input", { type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-autocomplete": "list", "aria-label": "Find a run, quantity, head, step, term or command", placeholder: "Run, quantity, L0H1, step 1000, term, command", autocomplete: "off", spellcheck: "false" });
    list = made("ul", { role: "listbox", id: "palette-list", "aria-label": "Found", tabindex: "-1" });
    dialog = made("dialog", { class: "palette", "aria-label": "Command palette" }, input, list,
      made("p", { class: "foot" }, made("span", { id: "palette-count", role: "status" }), made("span", { "aria-hidden": "true" }, "↑ ↓ choose · Enter open · Esc close")));
    document.body.append(dialog);
    input.addEventListener("input", draw);
    dialog.addEventListener("cancel", (e) => { e.preventDefault(); close(); });
    dialog.addEventListener("click", function (e) {
      if (e.target === dialog) return close();
      const option = e.target instanceof Element && e.target.closest("[role=option]");
      if (option) choose(Number(option.dataset.at));
    });
    dialog.addEventListener("keydown", function (e) {
      const to = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: Math.min(shown.length - 1, active + 8), PageUp: Math.max(0, active - 8) }[e.key];
      e.stopPropagation();
      if (to !== undefined) select(to);
      else if (e.key === "Enter") choose(active);
      else if (e.key === "Escape") close();
      else if (e.key !== "Tab") return opens(e) ? (e.preventDefault(), close()) : undefined;
      e.preventDefault();  // Tab stays where one types
    });
    dialog.showModal();
    input.focus();
    ready(here());
    try {
      const answer = await fetch("/commands.json");
      const found = (await answer.json()).entries.map(([kind, name, hint, act, what]) => ({ kind, name, hint, run: does[act](what) }));
      ready([...here(), ...found]);
    } catch (error) { /* the page's own stay */ }
  };
  const opens = (e) => (e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === "k";
  document.addEventListener("keydown", function (e) {
    if (!opens(e)) return;
    e.preventDefault();
    lens.palette();
  });
  document.addEventListener("click", function (e) {
    if (e.target instanceof Element && e.target.closest("#palette-open")) lens.palette();
  });
  const hint = setInterval(function () {
    const key = document.querySelector("#palette-open kbd");
    if (!key) return;
    clearInterval(hint);
    if (mac) key.textContent = "⌘ K";
  }, 100);
})();
