/* While the server does not answer, the page says so, and goes on once it does. */
(function () {
  "use strict";
  const lens = window.lens, EVERY = 2000, SILENT = 5000;
  let asking = false;

  function show(gone) {
    const node = document.getElementById("offline");
    if (node) node.hidden = !gone;
  }
  /* A page in the background asks rarely, and a server may be busy: only one that refuses, or is not there, is gone. */
  async function look() {
    if (asking || !lens.readAt) return;
    if (Date.now() - lens.readAt < SILENT) return show(false);
    asking = true;
    try {
      const answer = await fetch("/_favicon.ico", { method: "HEAD", cache: "no-store" });
      show(answer.status >= 502);
    } catch (e) {
      show(true);
    }
    asking = false;
  }
  setInterval(look, EVERY);
})();
