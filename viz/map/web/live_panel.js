// Controls of a live run: step, intervene, look back, keep, and ask for the effect of an intervention.
Mobilenet.livePanel = (app) => {
  const { run, clock, live } = app,
    { el, action, link, heading, note, keep, release } = app.parts,
    isReal = run.live.is_real_time; // time does not stop, and no world can be repeated
  const text = (node, words) => {
    if (node.textContent !== words) node.textContent = words;
  };
  const status = el("p.mn-live-status", { role: "status" }),
    violation = el("pre.mn-violation", { hidden: "" }),
    culprits = el("p.mn-violation-links", { hidden: "" }),
    past = el("div.mn-past", { hidden: "" }),
    pastWords = el("p");
  past.append(
    pastWords,
    el(
      "div.mn-actions",
      action("Back to now", () => live.toNow()),
      isReal ? null : action("Continue from here", () => live.goOnFromHere()),
    ),
  );

  const what = el(
    "select",
    { "aria-label": "What to step to" },
    ...["event", "frame", "handoff", "delivery", "violation"].map((kind) => el("option", { value: kind }, kind)),
  );
  const step = action("Step to the next", () => live.step(what.value));
  step.classList.add("mn-step");

  // A value that can be set; the one that holds now stands in the empty field.
  const settings = [];
  const field = (label, name, unit, scale, attributes, make) => {
    const title = label + "," + unit,
      input = el("input", { type: "number", "aria-label": title, "data-live": name, step: "any", ...attributes }),
      set = action("Set", () => {
        if (input.value === "") app.say("Enter a number.");
        else if (input.reportValidity()) app.parts.emptyIf(live.touch(make(Number(input.value))), input);
      });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") set.click();
    });
    settings.push({ input, name, unit, scale });
    return el("div.mn-field", el("label", label), input, set);
  };
  const showSettings = () => {
    for (const { input, name, unit, scale } of settings) {
      const isIt = (one) => name in one && one.delay_s === undefined && one.at_s <= clock.t + 1e-9,
        last = live.interventions.filter(isIt).at(-1),
        value = (last || run.live)[name],
        words = value === null ? "none" : +(scale * value).toPrecision(6) + unit;
      if (input.placeholder !== words) input.placeholder = words;
    }
  };
  const add = action("Add a host", () => {
    app.placing = !app.placing;
    app.say(app.placing ? "Click on the map to place the new host." : "No host will be added.");
  });
  const touch = el(
    "details.mn-touch",
    window.matchMedia("(max-width: 900px)").matches ? {} : { open: "" },
    el("summary", "Intervene"),
    note("Select a host or a station to see more interventions. Drag a host to move it."),
    field("Random loss", "loss", " %", 100, { min: "0", max: "100" }, (percent) => ({
      do: "loss",
      loss: percent / 100,
    })),
    ...(isReal
      ? []
      : [
          field("Broadcast interval", "interval_s", " s", 1, { min: "0.001", max: "1000000" }, (interval_s) => ({
            do: "interval",
            interval_s,
          })),
          el("div.mn-actions", add),
        ]),
  );

  const list = el("div.mn-list", { "data-list": "interventions" });
  const isToCome = (one) => one.at_s > run.now_s + 1e-9; // an intervention that the scenario declares for later
  const interventionLine = ({ one, i }) => {
    const when = link(app.clockText(one.at_s, true, 2), () => clock.seek(one.at_s), "Look at that moment"),
      ask = link(
        "what effect did it have?",
        () => live.tell({ command: "effect", intervention: i }),
        "Compare thirty pairs of runs with and without this intervention, in the background",
      );
    ask.dataset.effect = String(i);
    const words = Mobilenet.sayByHand(one) + (isToCome(one) ? ", to come" : "");
    return el("div.mn-intervention", when, el("span", words), isReal ? null : ask);
  };
  const fillList = app.cards.some(
    list,
    50,
    interventionLine,
    "nothing yet",
    ({ one, i }) => [live.branch, i, one.at_s, isToCome(one)].join(" "),
  );
  const branches = el("div.mn-list", { "data-list": "branches" });
  const branchLine = ({ one, i, isHere }) =>
    el(
      "div.mn-intervention",
      el("span", "Branch " + i + (isHere ? " (here)" : "")),
      el(
        "span",
        app.parts.pluralize(one.interventions, "intervention") +
          (isHere ? "" : ", to " + app.clockText(one.reached_ns / 1e9, true)),
      ),
      isHere ? "" : link("continue there", () => live.tell({ command: "switch", branch: i })),
    );
  const name = el("input", { type: "text", placeholder: "name (optional)", "aria-label": "Name of the saved run" });
  const save = action("Save this run", async () => {
    const wanted = name.value.trim();
    await live.tell({ command: "save", ...(wanted ? { name: wanted } : {}) });
    release(save);
  });
  save.classList.add("mn-save");
  const jobs = el("div.mn-list", { "data-list": "jobs" });
  const jobWords = (job) => (job.state === "running" ? "in progress" + (job.text && "; " + job.text) + " " : job.text);
  const jobLine = (job) =>
    el(
      "div",
      { class: "mn-job mn-job-" + job.state },
      job.kind === "save"
        ? el("b", "Save: ")
        : job.kind === "why" && job.state !== "done"
        ? el("b", "Why " + job.about + " was late: ")
        : job.state === "done"
          ? null // the answer begins with it
          : el("b", "Effect of " + job.about + ": "),
      el("span", jobWords(job)),
      job.state === "running" ? link("cancel", () => live.ask({ command: "cancel", job: job.number })) : "",
    );

  const curve = (label, colour, column, show) => {
    const { canvas, g, width, height } = app.charts.make(44, label, 236);
    const draw = () => {
      const { time } = live.curves,
        values = live.curves[column],
        every = Math.max(1, Math.floor(time.length / 400));
      const top = values.reduce((most, value) => (value > most ? value : most), 0);
      g.clearRect(0, 0, width, height);
      Mobilenet.text(g, label, 0, 9);
      const last = values.at(-1) ?? NaN;
      const now = Number.isNaN(last) ? "–" : show(last),
        most = top > 0 || last === 0 ? ", maximum " + show(top) : "";
      Mobilenet.text(g, now + most, width, 9, "right");
      g.strokeStyle = "#e3e1da";
      g.strokeRect(0.5, 13.5, width - 1, height - 16);
      g.beginPath();
      for (let i = 0; i < values.length; i += every)
        if (!Number.isNaN(values[i]))
          g.lineTo((time[i] / app.span()) * width, height - 4 - ((height - 19) * values[i]) / (top || 1));
      Mobilenet.stroke(g, colour, 1.3);
    };
    return { canvas, draw };
  };
  const curves = [
    curve("Delivery delay", "#0072B2", "delay", app.parts.duration),
    curve("In stations' buffers", "#b24c0e", "held", (v) => String(Math.round(v))),
    curve("Receptions lost", "#7a4b9e", "lost", (v) => (100 * v).toFixed(1) + " %"),
  ];
  const box = el(
    "section.mn-live-box",
    { "aria-label": "The live run" },
    status,
    violation,
    culprits,
    past,
    isReal ? null : el("div.mn-field", step, what),
    el("div.mn-field", save, name),
    jobs,
    touch,
    el("div", ...curves.map(({ canvas }) => canvas)),
    heading("Done by hand", "h2"),
    list,
    branches,
  );

  let foundRow = -1, // of the violation that is shown
    drawn = -Infinity, // when the curves were
    listed = "",
    lined = "",
    worked = "",
    latest = ""; // the state of the last job
  const words = () => {
    if (live.kept !== undefined) return "mobilenet live has ended: " + live.kept + ".";
    if (live.isBroken) return "No connection to mobilenet live; trying to connect again.";
    if (live.busy)
      return (
        "Running again from the beginning: " +
        app.clockText(live.busy.at_s, true) +
        " of " +
        app.clockText(live.busy.to_s, true)
      );
    const s = live.state;
    if (!s) return "Connecting";
    if (s.is_over) return "The run is over: it has come to rest.";
    if (s.violation) return "Stopped by a violation.";
    if (s.is_held) return "Paused while a page looks back.";
    if (isReal && !s.is_playing && run.now_s === 0) return "Press play to start the programs.";
    if (!s.is_playing) return "Paused" + (s.stopped_because ? ": " + s.stopped_because : "") + ".";
    if (isReal) return "Playing in real time, recently up to " + s.late_ms.toFixed(1) + " ms late.";
    return "Playing, " + s.rate.toFixed(s.rate < 10 ? 1 : 0) + " simulated seconds per second.";
  };
  const update = (stamp) => {
    const s = live.state;
    text(status, words());
    text(app.badge, live.kept !== undefined ? "ended" : live.isBroken ? "offline" : "live");
    save.disabled = isReal && !(s && s.is_over);
    showSettings();
    const report = s && s.violation;
    violation.hidden = !report;
    culprits.hidden = !report;
    if (report) text(violation, "Violated: " + report.check.replace("_", " ") + "\n" + report.explanation);
    if (report && report.row !== foundRow) {
      foundRow = report.row;
      const mentions = report.explanation.match(/\bh\d+(:\d+)?\b/g) || [],
        names = [...new Set([report.node, report.message, ...mentions])],
        what = names.map((name) => [name, name && Mobilenet.find(app, name)]).filter(([, each]) => each);
      culprits.replaceChildren(
        "Show ",
        ...what.slice(0, 8).flatMap(([name, each], i) => [i ? ", " : "", link(name, () => app.select(each))]),
      );
      if (what.length) app.select(what[0][1]);
    }
    past.hidden = live.following || !s;
    if (!past.hidden)
      text(
        pastWords,
        "You are looking back at " +
          app.clockText(clock.t, true, 2) +
          "; the run is at " +
          app.clockText(run.now_s, true, 2) +
          (!isReal
            ? ". An intervention takes effect there, and begins another branch."
            : run.now_s < run.live.duration_s
              ? ". Interventions take effect at the current time of the run."
              : ". Its active part is over, so interventions are no longer possible."),
      );
    const key = [live.branch, live.interventions.length, live.interventions.filter(isToCome).length].join(" ");
    if (key !== listed) {
      listed = key;
      fillList(live.interventions.map((one, i) => ({ one, i })).reverse());
    }
    const states = live.branches.map((one, i) => (i === live.branch ? { ...one, reached_ns: 0 } : one)),
      branchKey = JSON.stringify([states.length > 1 ? states : [], live.branch]);
    if (branchKey !== lined) {
      lined = branchKey;
      const items = states.map((one, i) => ({ one, i, isHere: i === live.branch }));
      keep(branches, live.branches.length > 1 ? items : [], branchLine, null, JSON.stringify);
    }
    const jobKey = JSON.stringify(live.jobs);
    if (jobKey !== worked) {
      worked = jobKey;
      // Progress changes only the words of a line: if `cancel` were replaced during a click, the click would be lost.
      const shown = live.jobs.slice(-6).reverse(),
        keyOf = (job) => job.number + job.state;
      keep(jobs, shown, jobLine, null, keyOf);
      for (const job of shown) text(jobs.mnLines.get(keyOf(job)).querySelector("span"), jobWords(job));
      const last = live.jobs.at(-1),
        state = last ? last.number + last.state : "";
      if (state !== latest && last) jobs.firstElementChild.scrollIntoView({ block: "nearest" });
      latest = state;
    }
    if (!clock.playing || stamp - drawn > 500) {
      drawn = stamp;
      for (const each of curves) each.draw();
    }
  };
  return { box, update };
};
