// What is selected has a name that one can type, and an address in the page: map.html#h3:17@12.5 opens that message at
// that time.
Mobilenet.find = (app, words) => {
  const { run } = app,
    name = words.trim(),
    label = name.toLowerCase(); // labels are in small letters; names are as in their file
  for (let m = 0; label.includes(":") && m < run.messages.time.length; m++)
    if (run.messages.label(m) === label) return { kind: "message", id: m };
  for (let h = 0; h < run.count; h++)
    if (run.hostLabel(h) === label || (name && run.hostName(h) === name)) return { kind: "host", id: h };
  for (let s = 0; s < run.stationCount; s++)
    if (run.stationLabel(s) === label || (name && run.stationName(s) === name)) return { kind: "station", id: s };
  return null;
};

Mobilenet.finder = (app) => {
  const { el } = app.parts,
    { run, clock } = app;
  const input = el("input.mn-find", {
    type: "search",
    placeholder: "Find: h3, s1, h3:17",
    "aria-label": "Find a host, a station or a message",
    title: "A host (h3), a station (s1) or a message (h3:17), or a name in the imported file (/)",
  });
  const go = () => {
    const match = Mobilenet.find(app, input.value);
    if (!match) {
      const sampleNote = run.messages.every > 1 ? "; this page contains only a sample of the messages" : "";
      app.say("Not found: " + input.value.trim() + sampleNote + ".");
      return;
    }
    input.blur();
    if (match.kind === "message" && clock.t < run.messages.time[match.id]) clock.seek(run.messages.time[match.id]);
    app.select(match);
    const at =
      match.kind === "host"
        ? run.place(match.id, clock.t)
        : match.kind === "station"
          ? { x: run.stations.x_m[match.id], y: run.stations.y_m[match.id] }
          : null;
    if (at) app.intoView({ x: at.x, y: at.y });
  };
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && input.value.trim()) go();
    else if (event.key === "Escape") input.blur();
  });
  app.focusFinder = () => input.focus();
  return input;
};

Mobilenet.address = (app) => {
  const { run, clock } = app,
    hasAddress = location.protocol !== "about:"; // a page inside a report has none
  const nameOf = ({ kind, id }) =>
    kind === "message"
      ? run.messages.label(id)
      : kind === "host"
        ? run.hostLabel(id)
        : kind === "station"
          ? run.stationLabel(id)
          : "";
  let own = "";
  const renew = () => {
    if (!hasAddress || run.live) return;
    const name = app.selected ? nameOf(app.selected) : "";
    own = name ? "#" + name + "@" + Number(clock.t.toFixed(3)) : "";
    history.replaceState(null, "", own || location.pathname + location.search);
  };
  // Whether the address named something, which is then selected.
  const follow = () => {
    const [name, time] = decodeURIComponent(location.hash.slice(1)).split("@"),
      match = hasAddress && !run.live && name ? Mobilenet.find(app, name) : null;
    if (!match) return false;
    const t = Number(time);
    clock.pause();
    clock.seek(time && Number.isFinite(t) ? t : match.kind === "message" ? run.messages.time[match.id] : app.opening());
    app.select(match);
    return true;
  };
  window.addEventListener("hashchange", () => {
    if (location.hash !== own) follow();
  });
  return { renew, follow };
};
