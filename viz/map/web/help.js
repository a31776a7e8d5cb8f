// Help next to the map: the keys, and a line that comes and goes.
Mobilenet.help = (app) => {
  const { run } = app,
    { el } = app.parts,
    toast = el("div.mn-toast", { role: "status" });
  const KEYS = [
    ["Space", "play or pause"],
    ["← →", "one second back or forward; ten with Shift"],
    ["+ − or ↑ ↓", "faster, slower"],
    ["n  p", "next, previous event"],
    ["h  H", "next, previous handoff"],
    ["o  O", "next, previous host"],
    ["s  S", "next, previous station"],
    ["f", "follow the selected host"],
    ["z", "show the whole field"],
    ["d", "dark or light"],
    ["/", "find a host, a station or a message"],
    ["Home End", "to the beginning, to the end"],
    ["Esc", "close the card"],
  ];
  const help = el(
    "dialog.mn-help",
    el("h2", "Keys"),
    ...KEYS.map(([key, does]) => el("div.mn-row", el("kbd", key), el("span", does))),
    el(
      "p.mn-note",
      "Drag to move the map, and use the wheel to zoom. Click or drag on the timeline to go to a moment. " +
        "Positions are rounded to a centimetre, with straight lines between positions " +
        (run.live ? "a frame" : app.interval + " s") +
        " apart; buffers show their largest value in each " +
        run.buffers.stations.bin_s.toFixed(2) +
        " s" +
        (run.origin ? "." : "; the scenario's plane has no position on Earth.") +
        " mobilenet " +
        run.about.version +
        (run.live
          ? ". Interventions are on the left, and on the card of the host or station that you select; drag a host " +
            "to move it."
          : ", fingerprint " + run.about.fingerprint),
    ),
  );
  app.help = (wanted) => {
    const was = help.open;
    if (wanted === false || was) help.close();
    else help.show();
    return was;
  };
  help.addEventListener("click", () => help.close());
  let toastOff = 0;
  app.say = (words) => {
    toast.textContent = words;
    toast.classList.add("mn-on");
    clearTimeout(toastOff);
    toastOff = setTimeout(() => toast.classList.remove("mn-on"), 1500 + 40 * words.length);
  };
  return [help, toast];
};
