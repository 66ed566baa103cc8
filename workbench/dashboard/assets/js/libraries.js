/* Libraries that only some pages need: the charts and the table of runs. Each is loaded when a page first shows one.

Dash would give up on its chart library after 30 seconds and leave every panel blank. Here a slow load goes on, a failed
one is tried again, and the page says what it waits for. */
(function () {
  "use strict";
  const TRIES = 4, RETRY_MS = 1000, QUIET_MS = 1500;
  const waiting = new Set();
  let failed = false;

  function show() {
    const node = document.getElementById("library-note");
    if (!node) return;
    const names = Array.from(waiting).join(" and ");
    node.hidden = !names && !failed;
    node.firstChild.textContent = failed
      ? "A part of this page could not be loaded. Check the connection to the server, then reload the page."
      : "Loading " + names + ". Over a slow connection this takes up to half a minute.";
    node.lastChild.hidden = !failed;
  }
  function attempt(url, tries, done, gaveUp) {
    const script = document.createElement("script");
    script.src = url;
    script.onload = done;
    script.onerror = function () {
      script.remove();
      if (tries <= 1) return gaveUp(new Error(url + " could not be loaded"));
      setTimeout(attempt, RETRY_MS * (TRIES - tries + 1), url, tries - 1, done, gaveUp);
    };
    document.body.appendChild(script);
  }
  /* A function that loads the script named in the head's meta element when first called, and answers with a promise. */
  function loader(meta, name) {
    let promise = null;
    return function () {
      if (promise) return promise;
      const url = document.querySelector("meta[name=" + meta + "]").content;
      const late = setTimeout(function () { waiting.add(name); show(); }, QUIET_MS);
      promise = new Promise(function (done, gaveUp) { attempt(url, TRIES, done, gaveUp); });
      promise.then(null, function () { failed = true; }).then(function () {
        clearTimeout(late);
        waiting.delete(name);
        show();
      });
      return promise;
    };
  }

  /* Dash waits for window.Plotly where it is there already: this one loads the library as soon as a panel waits. */
  const charts = loader("chart-library", "the chart library");
  window.Plotly = { then: function (done, gaveUp) { charts().then(function () { done(window.Plotly); }, gaveUp); } };

  /* The table's component, under the name by which Dash finds it, until its library is there and behind it then. */
  const table = loader("table-library", "the table of runs");
  let library = null;
  function loadGrid() {
    return table().then(function () {
      if (!library) {
        library = window.dash_ag_grid;
        window.dash_ag_grid = Object.assign({}, library, { AgGrid: AgGrid });
      }
      return library;
    });
  }
  const Inner = React.lazy(function () { return loadGrid().then(function (it) { return { default: it.AgGrid }; }); });
  function AgGrid(props) {
    return React.createElement(React.Suspense, { fallback: null }, React.createElement(Inner, props));
  }
  window.dash_ag_grid = {
    AgGrid: AgGrid,
    getApiAsync: function (id) { return loadGrid().then(function (it) { return it.getApiAsync(id); }); },
  };
})();
