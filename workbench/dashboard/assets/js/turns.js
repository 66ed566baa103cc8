/* One turn of Dash over all components for what happens at once.

Dash hands every action to every component on the page, also an action that changes nothing, and a step of the cursor is
some 350 of them. React draws at the end of the turn anyway, so it is told then, once, and only of a new state. While a
reader types it is told at once: a field that shows its value late loses the place in it. Dash's own observers are there
before the store is announced, and are told as before. */
(function () {
  "use strict";
  const stores = window.dash_stores = window.dash_stores || [];
  let typing = false;

  function once(store) {
    const subscribe = store.subscribe;
    store.subscribe = function (listener) {
      let told = store.getState(), waiting = false;
      function tell() {
        const state = store.getState();
        if (state === told) return;
        told = state;
        listener();
      }
      return subscribe(function () {
        if (typing) return tell();
        if (waiting || store.getState() === told) return;
        waiting = true;
        queueMicrotask(function () {
          waiting = false;
          tell();
        });
      });
    };
  }
  stores.push = function (...made) {
    made.forEach(once);
    return Array.prototype.push.apply(stores, made);
  };
  document.addEventListener("input", function () {
    typing = true;
    setTimeout(function () { typing = false; });
  }, true);
})();
