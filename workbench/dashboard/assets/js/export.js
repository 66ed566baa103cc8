/* Files and text of a panel: rows as CSV, the figure as SVG or PNG with its fonts inside, the snippet. */
(function () {
  "use strict";
  const lens = window.lens, HEAD = 46, PAPER_HEAD = 18, CAPTION_LINE = 12, INCH = 96, PAPER_DOTS = 600;
  const address = (id, kind, paper) => "/data/" + id + "." + kind + location.search + (location.search ? "&" : "?") + "theme=" + lens.theme() + (paper ? "&paper=" + paper : "");

  function save(url, name) {
    const a = document.createElement("a");
    a.href = url; a.download = name; document.body.append(a); a.click(); a.remove();
  }
  async function fetched(url) {
    const answer = await fetch(url);
    if (!answer.ok) throw new Error((await answer.text()).trim());
    return answer;
  }
  /* The page's own font, of any weight; for papers instances of it, which every program takes. */
  const FACES = { screen: [["100 900", "inter"]], paper: [["400", "inter-400"], ["600", "inter-600"]] };
  const faces = {};
  async function fontFace([weight, file]) {
    const buffer = new Uint8Array(await (await fetched("/assets/fonts/" + file + ".woff2")).arrayBuffer());
    let text = "";
    for (let i = 0; i < buffer.length; i += 32768) text += String.fromCharCode(...buffer.subarray(i, i + 32768));
    return "@font-face{font-family:Inter;font-weight:" + weight + ";src:url(data:font/woff2;base64," + btoa(text) + ") format('woff2')}";
  }
  async function fontFaces(kind) {
    faces[kind] = faces[kind] || (await Promise.all(FACES[kind].map(fontFace))).join("");
    return faces[kind];
  }
  const escape = (t) => t.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  async function svg(id, paper) {
    const made = await (await fetched(address(id, "json", paper))).json();
    const { width, height } = made, css = getComputedStyle(document.documentElement);
    const colour = (name) => css.getPropertyValue("--" + name).trim();
    const figure = made.figure;
    const layout = Object.assign({}, figure.layout, { width, height, autosize: false });
    const url = await Plotly.toImage({ data: figure.data, layout }, { format: "svg", width, height });
    const inner = decodeURIComponent(url.slice(url.indexOf(",") + 1)).replace(/^<svg/, '<svg x="0" y="' + (paper ? PAPER_HEAD : HEAD) + '"');
    const text = (y, size, weight, fill, content) =>
      `<text x="14" y="${y}" font-family="Inter, sans-serif" font-size="${size}" font-weight="${weight}" fill="${fill}">${escape(content)}</text>`;
    if (paper) {
      const lines = made.caption || [], all = height + PAPER_HEAD + CAPTION_LINE * lines.length;
      const below = lines.map((line, i) => text(PAPER_HEAD + height + CAPTION_LINE * i + 9, 9, 400, "#4A5160", line).replace('x="14"', 'x="6"')).join("");
      const page = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="${width / INCH}in" height="${all / INCH}in" viewBox="0 0 ${width} ${all}">` +
        `<defs><style>${await fontFaces("paper")}</style></defs><rect width="100%" height="100%" fill="#FFFFFF"/>` +
        text(13, 11, 600, "#14181F", made.title).replace('x="14"', 'x="6"') + inner + below + "</svg>";
      return { text: page, made, height: all };
    }
    const whole = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="${width}" height="${height + HEAD}" viewBox="0 0 ${width} ${height + HEAD}">` +
      `<defs><style>${await fontFaces("screen")}</style></defs><rect width="100%" height="100%" fill="${colour("surface")}"/>` +
      text(21, 14, 600, colour("ink"), made.title + "  ·  " + made.slice) + text(38, 11, 400, colour("ink3"), made.where) + inner + "</svg>";
    return { text: whole, made, height: height + HEAD };
  }
  async function png(id, paper) {
    const { text, made, height } = await svg(id, paper), scale = paper ? PAPER_DOTS / INCH : 2;
    const image = new Image();
    const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    await new Promise((done, fail) => { image.onload = done; image.onerror = fail; image.src = url; });
    const canvas = document.createElement("canvas");
    canvas.width = scale * made.width; canvas.height = scale * height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(url);
    return { blob: await new Promise((done) => canvas.toBlob(done, "image/png")), made };
  }

  const named = function (answer) {
    const name = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") || "");
    return name && name[1];
  };
  lens.report = async function (button) {
    button.disabled = true;
    lens.toast("Making the page …");
    try {
      const answer = await fetched("/report.html" + location.search);
      save(URL.createObjectURL(await answer.blob()), named(answer) || "report.html");
      lens.toast("Page saved");
    } catch (error) {
      lens.toast(error.message || "No page could be made");
    }
    button.disabled = false;
  };

  const FILES = { csv: "CSV", parquet: "Parquet", md: "Markdown", tex: "LaTeX", pdf: "PDF", gif: "GIF" };
  lens.export = async function (action, id) {
    const [kind, paper] = action.split(" "), ending = (paper ? "-" + paper : "") + "." + kind;
    try {
      if (FILES[kind]) {
        if (kind === "pdf") lens.toast("Printing the PDF …");
        if (kind === "gif") lens.toast("Drawing a frame for each checkpoint …");
        const answer = await fetched(address(id, kind, paper));
        save(URL.createObjectURL(await answer.blob()), named(answer) || id + ending);
        lens.toast(FILES[kind] + " saved");
      } else if (kind === "svg") {
        const { text, made } = await svg(id, paper);
        save(URL.createObjectURL(new Blob([text], { type: "image/svg+xml" })), made.file + ending);
        lens.toast("SVG saved");
      } else if (kind === "png") {
        const { blob, made } = await png(id, paper);
        save(URL.createObjectURL(blob), made.file + ending);
        lens.toast("PNG saved");
      } else if (kind === "snippet") {
        await lens.copy(await (await fetched(address(id, "py"))).text(), "Python snippet copied");
      } else if (kind === "panel-link") {
        await lens.copy(location.origin + "/data/" + id + ".csv" + location.search, "Link to these data copied");
      }
    } catch (error) {
      lens.toast(error.message || "Nothing to export");
    }
  };
})();
