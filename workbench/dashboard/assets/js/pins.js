/* Panels pinned to the top of the Run page. The address keeps them and their order, and the server draws them there. */
(function () {
  "use strict";
  const lens = window.lens, KEY = "panels";
  const SAID = { pin: "Panel pinned to the top", unpin: "Panel is back in its row", "pin-earlier": "Panel moved", "pin-later": "Panel moved" };

  function pinned() {
    const text = new URLSearchParams(location.search).get(KEY);
    return text ? text.split(",") : [];
  }
  /* What the menu of a panel offers: actions with their words. */
  lens.pinItems = function (id) {
    if (!document.querySelector(".run-page")) return [];
    const all = pinned(), at = all.indexOf(id);
    if (at < 0) return [["pin", "Pin to the top"]];
    const earlier = at > 0 ? [["pin-earlier", "Move earlier"]] : [];
    const later = at < all.length - 1 ? [["pin-later", "Move later"]] : [];
    return [["unpin", "Unpin"], ...earlier, ...later];
  };
  lens.pin = function (action, id) {
    const all = pinned(), at = all.indexOf(id);
    if (at >= 0) all.splice(at, 1);
    if (action === "pin") all.push(id);
    else if (action !== "unpin") all.splice(at + (action === "pin-later" ? 1 : -1), 0, id);
    const parts = location.search.slice(1).split("&").filter((part) => part && !part.startsWith(KEY + "="));
    if (all.length) parts.push(KEY + "=" + all.map(encodeURIComponent).join("%2C"));
    lens.go(location.pathname + "?" + parts.join("&"));
    lens.toast(SAID[action]);
  };
})();
