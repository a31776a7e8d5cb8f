// Building blocks of the cards. Text from a run enters the page as text, never as HTML.
Mobilenet.parts = () => {
  const attribute = (node, values) => {
    for (const [name, value] of Object.entries(values)) node.setAttribute(name, value);
  };
  // `what` is a tag with its classes, as in a selector; inside are nodes, strings, which become text, and attributes.
  const el = (what, ...inside) => {
    const [tag, ...classes] = what.split("."),
      node = document.createElement(tag);
    if (classes.length) node.className = classes.join(" ");
    for (const each of inside)
      if (typeof each === "string" || each instanceof Node) node.append(each);
      else attribute(node, each || {});
    return node;
  };
  const SHAPES = {
    play: "M6 4l11 7-11 7z",
    pause: "M5 4h4v14H5zM13 4h4v14h-4z",
    next: "M4 5l7 6-7 6zM11 5l7 6-7 6z",
    previous: "M18 5l-7 6 7 6zM11 5l-7 6 7 6z",
    forward: "M7 5l8 6-8 6z",
    back: "M15 5l-8 6 8 6z",
    fit: "M3 8V3h5v2H5v3zM14 3h5v5h-2V5h-3zM19 14v5h-5v-2h3v-3zM8 19H3v-5h2v3h3z",
    help:
      "M8 8a3 3 0 1 1 4.5 2.6c-.9.6-.9 1-.9 2.1h-1.7c0-1.7.3-2.4 1.5-3.2A1.3 1.3 0 1 0 9.700 8zM9.800 " +
      "14.500h1.800v1.900H9.800z",
  };
  const icon = (name) => {
    const [svg, path] = ["svg", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
    attribute(svg, { viewBox: "0 0 22 22", width: "20", height: "20", "aria-hidden": "true" });
    attribute(path, { d: SHAPES[name], fill: "currentColor" });
    svg.append(path);
    return svg;
  };
  const row = (name, value) =>
    el("div.mn-row", el("span", name), value instanceof Node ? value : el("b", String(value)));
  // After a click Space should play; after a key the focus should stay.
  let byKeyboard = false;
  for (const kind of ["keydown", "pointerdown"])
    document.addEventListener(kind, () => (byKeyboard = kind === "keydown"), true);
  const keyboard = () => byKeyboard,
    release = (node) => {
      if (!byKeyboard) node.blur();
    };
  const onClick = (button, act) => {
    button.addEventListener("click", () => {
      act();
      release(button);
    });
    return button;
  };
  const link = (words, act, title) => onClick(el("button.mn-link", title && { title }, words), act);
  const action = (words, act) => onClick(el("button.mn-action", words), act);
  // A list shows these items: lines that stay are the same nodes, so that the focus stays; if its line goes, the
  // next one has it. `none` is shown for an empty list.
  const keep = (list, items, make, none, keyOf = (item) => item) => {
    const old = list.mnLines || new Map(),
      fresh = new Map(),
      at = [...list.children].findIndex((node) => node.contains(document.activeElement));
    for (const item of items) {
      const key = String(keyOf(item));
      fresh.set(key, old.get(key) || make(item));
    }
    if (!items.length && none) fresh.set("none", old.get("none") || note(none));
    const wanted = new Set(fresh.values());
    for (const node of [...list.children]) if (!wanted.has(node)) node.remove();
    let here = list.firstChild;
    for (const node of wanted)
      if (node === here) here = here.nextSibling;
      else list.insertBefore(node, here);
    list.mnLines = fresh;
    if (at < 0 || list.contains(document.activeElement)) return;
    const places = [...list.querySelectorAll("button")],
      next = places[Math.min(at, places.length - 1)] || list.closest("aside").querySelector("h2");
    next.focus({ preventScroll: true });
  };
  // Fields whose values were taken are empty again.
  const emptyIf = async (asked, ...inputs) => {
    if (!(await asked).error) for (const input of inputs) input.value = "";
  };
  const heading = (words, level = "h3") => el(level, words);
  const note = (...words) => el("p.mn-note", ...words);
  const symbol = (draw, width = 22, height = 18) => {
    const c = Mobilenet.canvas(document.createElement("span"), "mn-symbol");
    c.fit(width, height);
    draw(c.g, width / 2, height / 2);
    return c.canvas;
  };
  const pluralize = (n, one, many) => n + " " + (n === 1 ? one : many || one + "s");
  const minus = (number) => String(number).replace("-", "−");
  const duration = (s) =>
    Number.isNaN(s) || s === null || s === undefined
      ? "–"
      : s < 1
        ? (s * 1000).toFixed(s < 0.1 ? 1 : 0) + " ms"
        : s.toFixed(s < 10 ? 2 : 1) + " s";
  return {
    el,
    icon,
    row,
    link,
    action,
    heading,
    note,
    symbol,
    pluralize,
    minus,
    duration,
    keyboard,
    release,
    onClick,
    keep,
    emptyIf,
  };
};
