/* The guided tour: a card that goes along from page to page, names what to look at and outlines it. It never covers the
   page, takes no key but its own while it has the focus, and is left by Escape or its button at any time. */
(function () {
  "use strict";
  const lens = window.lens, WAIT = 120, ROUNDS = 250;
  const at = (id) => document.getElementById(id);
  let stops = [], now = 0, card = null, turn = 0, broken = null;

  function made(tag, props, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const get = async (url) => (await fetch(url)).json();

  function unmark() {
    for (const one of document.querySelectorAll(".toured")) one.classList.remove("toured");
  }
  async function mark(selector, mine) {  // what it is about may still be on its way, or on the page before
    while (mine === turn) {
      const node = document.querySelector("#page " + selector), pan = node && node.closest(".pan"), target = pan || node;
      if (target && !target.classList.contains("toured") && (!pan || pan.querySelector(".body.ready, .body.stated"))) {
        unmark();
        target.classList.add("toured");
        target.scrollIntoView({ block: "center" });
      }
      await pause(WAIT);
    }
  }
  async function wrong(mine) {  // a string that it gets wrong; the worker looks for it from the first stop on
    for (let i = 0; i < ROUNDS && mine === turn && !broken; i++) {
      const found = await get("/tour/string.json");
      if (found.state === "done") broken = found;
      else await pause(4 * WAIT);
    }
    return broken || { seq: "", said: "", edited: "" };
  }
  async function show(i) {
    const mine = ++turn, stop = stops[i];
    now = i;
    unmark();
    at("tour-place").textContent = "Stop " + (i + 1) + " of " + stops.length;
    at("tour-title").textContent = stop.title;
    at("tour-text").textContent = stop.text;
    at("tour-more").textContent = stop.string && !broken ? "Looking for such a string …" : "";
    at("tour-back").disabled = i === 0;
    at("tour-next").textContent = i === stops.length - 1 ? "Done" : "Next";
    let href = stop.href;
    if (stop.string) {
      const found = await wrong(mine);
      if (mine !== turn || !card) return;
      at("tour-more").textContent = stop.edited ? found.edited : found.said;
      if (found.seq) href += "&seq=" + encodeURIComponent(found.seq);
    }
    if (location.pathname + location.search !== href) lens.go(href);
    mark(stop.mark, mine);
  }
  function leave() {
    if (!card) return;
    turn++;
    unmark();
    card.remove();
    card = null;
  }
  lens.tour = async function () {
    if (card) return at("tour-next").focus();
    stops = (await get("/tour.json")).stops;
    if (!stops.length) return lens.toast("The tour needs a measured and diagnosed run that fails past its training length");
    const button = (id, text, act) => {
      const node = made("button", { type: "button", class: "button", id }, text);
      node.addEventListener("click", act);
      return node;
    };
    card = made("section", { class: "tour", role: "dialog", "aria-labelledby": "tour-title", "aria-describedby": "tour-text", tabindex: "-1" },
      made("p", { class: "num", id: "tour-place" }),
      made("h2", { id: "tour-title" }), made("p", { id: "tour-text", "aria-live": "polite" }), made("p", { id: "tour-more", role: "status" }),
      made("div", { class: "ways" }, button("tour-back", "Back", () => show(now - 1)),
        button("tour-next", "Next", () => now === stops.length - 1 ? leave() : show(now + 1)), button("tour-leave", "Leave the tour", leave)));
    card.addEventListener("keydown", function (e) {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.key === "ArrowRight" && now < stops.length - 1) show(now + 1);
      else if (e.key === "ArrowLeft" && now > 0) show(now - 1);
      else return;
      e.preventDefault();
      e.stopPropagation();
    });
    document.body.append(card);
    wrong(turn + 1);
    show(0);
    at("tour-next").focus();
  };
  document.addEventListener("keydown", function (e) {
    if (e.key === "Escape" && card && !document.querySelector("dialog[open], .pan.max, .popup-menu")) leave();
  });
  document.addEventListener("click", function (e) {
    if (e.target instanceof Element && e.target.closest("[data-tour]")) lens.tour();
  });
})();
