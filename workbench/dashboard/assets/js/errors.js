/* The table of the most confident errors opens by itself, once per page and only after all of its panels are drawn: its
   button is marked "soon" where the search takes no long time. */
(function () {
  "use strict";
  const EVERY = 500;
  let asked = null;  // the button that was pressed, of the page that is shown
  setInterval(function () {
    const button = document.getElementById("wrong-strings-ask");
    if (!button || button === asked || button.hidden || !button.classList.contains("soon")) return;
    if (document.hidden || document.querySelector(".matrix:not(.lazy) > .matrix-row .body.first")) return;
    asked = button;
    button.click();
  }, EVERY);
})();
