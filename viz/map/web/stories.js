// Where a message spent its time until a host delivered it: from the page, or of a run that goes on from its server.
Mobilenet.stories = (app) => {
  const { run } = app,
    { el, note, heading, link, duration } = app.parts,
    { colours, of } = run.stories;
  const about = (m, h) => run.messages.label(m) + " at " + run.hostLabel(h);
  const storyOf = (m, h) => (of[run.messages.label(m)] || {})[run.hostLabel(h)];
  // After a rewind the same message may take another time: then a story is an old one.
  const isCurrent = (job, m, h) => {
    const at = run.messages.deliveredAt(m).get(h);
    if (job.state !== "done" || at === undefined) return true;
    return Math.abs(job.result.delay_ns / 1e9 - (at - run.messages.time[m])) < 1e-6;
  };
  const jobOf = (m, h) =>
    app.live &&
    app.live.jobs.findLast((job) => job.kind === "why" && job.about === about(m, h) && isCurrent(job, m, h));
  // `opened`: the host whose story the next card of a message shows.
  const stories = { opened: -1, isPartial: !app.live && Object.keys(of).length > 0 };
  // No run in real time can be repeated.
  stories.isKnown = (m, h) => Boolean((app.live && !run.live.is_real_time) || storyOf(m, h));
  stories.open = (m, h) => {
    stories.opened = h;
    app.select({ kind: "message", id: m });
  };
  stories.ask = (m, h) => {
    const job = jobOf(m, h);
    if (app.live && (!job || job.state === "failed"))
      app.live.tell({ command: "why", message: run.messages.label(m), host: run.hostLabel(h) });
  };
  // What there is of a story, so that a card knows when to draw it again.
  stories.key = (m, h) => {
    const job = jobOf(m, h);
    return h + " " + (job ? job.state + job.text : "");
  };
  stories.link = (m, h, words) => link(words, () => stories.open(m, h), "What did this delivery wait for?");
  const line = ([, length, kind, sentence, isHeld]) =>
    el(
      "div.mn-story-line",
      el("i" + (isHeld ? ".mn-held" : ""), { style: "background-color: " + colours[kind] }),
      el("span", sentence),
      el("span.mn-right", duration(length / 1000)),
    );
  stories.view = (m, h) => {
    const job = jobOf(m, h),
      title = heading("Why " + about(m, h) + " was late"),
      stretches = storyOf(m, h) || (job && job.result.stretches);
    if (!stretches) return el("div", title, note((job && job.text) || "in progress …"));
    const all = stretches.reduce((sum, [, length]) => sum + length, 0),
      bar = el("div.mn-story");
    for (const [, length, kind, sentence, isHeld] of stretches)
      bar.append(
        el("i" + (isHeld ? ".mn-held" : ""), {
          style: "background-color: " + colours[kind] + "; flex-grow: " + length,
          title: sentence + ", " + duration(length / 1000),
        }),
      );
    return el(
      "div",
      title,
      all ? bar : note("It was delivered at once."),
      el("div.mn-list", ...stretches.map(line)),
      stretches.some(([, , , , isHeld]) => isHeld) ? note("Hatched: behind another message.") : "",
    );
  };
  return stories;
};
