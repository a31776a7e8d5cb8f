// The panels at the sides: what run this is, layers and legend on the left; what happens, or the chosen card, on the
// right.
Mobilenet.panels = (app) => {
  const { run, clock } = app,
    { el, link, pluralize, release, keyboard } = app.parts;
  const about = run.about,
    verdict = el(
      "span",
      {
        class:
          "mn-verdict mn-" + (["valid", "violated", "unknown"].includes(about.verdict) ? about.verdict : "unknown"),
        title: Object.entries(about.checks)
          .map(([k, v]) => k + ": " + v)
          .join("\n"),
      },
      about.verdict,
    );
  app.badge = verdict;
  const size = () =>
    [
      about.protocol,
      pluralize(run.count, "host"),
      pluralize(run.stationCount, "station"),
      "seed " + about.seed,
    ].join(", ");
  const sizes = el("p", size());
  run.onAdded.push(() => (sizes.textContent = size()));
  const head = el(
    "header.mn-head",
    el("h1", { title: about.name }, el("bdi", about.name)),
    verdict,
    sizes,
    about.description ? el("p.mn-note", el("bdi", about.description)) : null,
    ...about.warnings.map((line) => el("p.mn-note", "warning: " + line)),
    Mobilenet.finder(app),
  );

  const layers = Mobilenet.layers(app);
  const narrow = window.matchMedia("(max-width: 900px)");
  if (narrow.matches || (app.tiles === false && window.innerHeight < 700)) layers.box.removeAttribute("open");
  const touch = app.live ? Mobilenet.livePanel(app) : null;
  if (touch) layers.box.removeAttribute("open");
  const left = el("aside.mn-left", { "aria-label": "Run and layers" }, head, touch && touch.box, layers.box);
  left.classList.toggle("mn-wide", Boolean(touch));

  const title = el("h2", { tabindex: "-1" }),
    actions = el("div.mn-actions"),
    content = el("div.mn-content");
  const close = link("×", () => app.select(null), "Close (Esc)");
  close.classList.add("mn-close");
  close.setAttribute("aria-label", "Close");
  const fold = el("button.mn-fold", { "aria-label": "Show or hide the details" });
  const right = el(
    "aside.mn-right-side",
    { "aria-live": "off", "aria-label": "Details" },
    el("div.mn-title", title, fold, close),
    actions,
    content,
  );
  let folded = narrow.matches; // of the overview, in a narrow window
  const refold = () => {
    const now = folded && !app.selected;
    right.classList.toggle("mn-folded", now);
    left.classList.toggle("mn-brief", !now); // where there is little room, it leaves that to the map
    fold.textContent = now ? "▴" : "▾";
    fold.setAttribute("aria-expanded", String(!now));
  };
  fold.addEventListener("click", () => {
    folded = !folded;
    refold();
    release(fold);
  });

  let card = null,
    last = 0;
  const open = () => {
    const s = app.selected;
    if (!s) card = Mobilenet.overview(app);
    else card = s.kind === "message" ? Mobilenet.messageCard(app, s.id) : app.cards[s.kind](s.id);
    title.replaceChildren(card.title, ...(card.summary ? [card.summary] : []));
    close.hidden = !s;
    fold.hidden = Boolean(s);
    refold();
    actions.replaceChildren(...card.actions);
    content.replaceChildren(card.body);
    content.scrollTop = 0;
    right.dataset.card = s ? s.kind : "overview";
    card.update(clock.t);
    const isWhole = narrow.matches && app.refit() && app.isRoomy; // between the panels, which have other sizes now
    if (s && narrow.matches && !isWhole) {
      // the card must not lie over what it describes
      const isStation = s.kind === "station",
        { x_m, y_m } = run.stations,
        at = isStation ? { x: x_m[s.id], y: y_m[s.id] } : run.lastPlace(app.followedHost(), clock.t);
      if (at) app.intoView({ x: at.x, y: at.y });
    }
    if (keyboard() && !(document.activeElement && document.activeElement.closest(".mn-bar")))
      title.focus({ preventScroll: true });
  };
  const update = (stamp, force) => {
    if (touch) touch.update(stamp);
    if (!card || (!force && clock.playing && stamp - last < 240)) return;
    last = stamp;
    card.update(clock.t);
    layers.update();
  };
  return { left, right, open, update };
};
