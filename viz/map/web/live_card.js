// Buttons and inner state of a host or a station, for its card.
Mobilenet.liveCard = (app, kind, i) => {
  const { live, run } = app,
    { el, action, row, heading, link, note } = app.parts,
    name = (kind === "host" ? "h" : "s") + i,
    touch = (words, what) => action(words, () => live.touch(what));
  // Two fields and a button; the values that hold now stand in the empty fields, and stay.
  const impairing = (make, isIt, hint) => {
    const field = (words, unit, max) => {
        const label = { "aria-label": words + ", " + unit, title: hint };
        return el("input", { type: "number", min: "0", max, step: "any", ...label });
      },
      loss = field("Additional loss", "%", "100"),
      delay = field("Additional delay", "ms", "60000"),
      now = () => {
        const t = app.clock.t,
          last = live.interventions.filter((one) => isIt(one) && one.at_s <= t + 1e-9).at(-1);
        return last && t <= run.live.duration_s ? last : { loss: 0, delay_s: 0 };
      },
      set = action("Impair", () => {
        if (![loss, delay].every((each) => each.reportValidity())) return;
        const value = (input, scale, kept) => (input.value === "" ? kept : Number(input.value) / scale);
        app.parts.emptyIf(
          live.touch({ ...make(), loss: value(loss, 100, now().loss), delay_s: value(delay, 1000, now().delay_s) }),
          loss,
          delay,
        );
      });
    for (const input of [loss, delay])
      input.addEventListener("keydown", (event) => {
        if (event.key === "Enter") set.click();
      });
    const update = () => {
      const { loss: share, delay_s } = now();
      loss.placeholder = +(100 * share).toFixed(4) + " %";
      delay.placeholder = +(1000 * delay_s).toFixed(3) + " ms";
    };
    return { nodes: [loss, delay, set], loss, update };
  };
  const hostButtons = () => {
    const does = (words) => touch(words, { do: words.toLowerCase(), host: name }),
      [crash, recover, ...others] = ["Crash", "Recover", "Broadcast", "Leave", "Join"].map(does);
    // A host that is down can only recover; a wish to leave or join can be withdrawn.
    const update = () => {
      const isDown = Boolean(run.flagsAt(i, app.clock.t) & Mobilenet.DOWN);
      for (const each of [crash, ...others]) each.disabled = isDown;
      recover.disabled = !isDown;
    };
    const controls = run.live.is_real_time ? others.slice(1) : others, // programs broadcast by themselves
      worse = impairing(
        () => ({ do: "impair", host: name }),
        (one) => one.do === "impair" && one.host === name,
        "Loss: of frames from and to this host. Delay: of frames that it sends. An empty field: as it is",
      );
    const both = () => {
      update();
      worse.update();
    };
    const field = el("span.mn-field", el("label", "Loss, delay"), ...worse.nodes);
    return { nodes: [crash, recover, ...controls, field], update: both };
  };
  const stationButtons = () => {
    const edges = run.stations.edges.filter((edge) => edge.includes(i)),
      all = Array.from({ length: run.stationCount }, (_, other) => other).filter((other) => other !== i),
      // of a mesh that is too dense to be drawn the document has no wires
      others = run.stations.edges.length ? edges.map(([one, other]) => (one === i ? other : one)) : all,
      chosen = el(
        "select",
        { "aria-label": "Station at the other end of the wire" },
        ...others.sort((one, other) => one - other).map((other) => el("option", { value: "s" + other }, "s" + other)),
      ),
      wire = (words) => action(words, () => live.touch({ do: words.toLowerCase(), link: [name, chosen.value] })),
      [off, on] = ["off", "on"].map((way) => touch("Radio " + way, { do: "radio_" + way, station: name })),
      [cut, restore] = ["Cut", "Mend"].map(wire),
      worse = impairing(
        () => ({ do: "impair_link", link: [name, chosen.value] }),
        (one) => one.do === "impair_link" && one.link.includes(name) && one.link.includes(chosen.value),
        "Of messages on this wire, in both directions. An empty field: as it is",
      ),
      wires = el("span.mn-field", el("label", "Wire to"), chosen, cut, restore),
      quality = el("span.mn-field", el("label", "Its loss, delay"), ...worse.nodes);
    worse.loss.hidden = !run.live.wires_may_lose;
    if (worse.loss.hidden) quality.firstChild.textContent = "Its delay";
    const update = () => {
      const isOff = run.offAt(app.clock.t);
      off.disabled = isOff.has(name);
      on.disabled = !off.disabled;
      cut.disabled = isOff.has([name, chosen.value].sort().join());
      restore.disabled = !cut.disabled;
      worse.update();
    };
    chosen.addEventListener("change", update);
    return { nodes: others.length ? [off, on, wires, quality] : [off, on], update };
  };
  const buttons = kind === "host" ? hostButtons() : stationButtons();
  for (const node of buttons.nodes) node.classList.add("mn-asks");
  const packets = app.packets.section(name),
    top = el("div"),
    messages = el("div.mn-list"),
    inside = el("div"),
    deliveries = kind === "host" && run.live.has_deliveries ? [heading("Latest deliveries"), messages] : [],
    body = el("div", ...deliveries, inside);
  const lastOnes = (own) => {
    const t = app.clock.t,
      end = Mobilenet.upTo(own.time, t),
      items = [];
    for (let k = end - 1; k >= 0 && items.length < 6; k--) items.push({ t: own.time[k], m: own.message[k] });
    return items;
  };
  const messageLine = ({ t, m }) =>
    el(
      "div.mn-row",
      link(run.messages.label(m), () => app.select({ kind: "message", id: m })),
      el("b", "after " + app.parts.duration(t - run.messages.time[m])),
    );
  // A variable, whose meaning is shown under the pointer and, since fingers have none, by a click.
  const explain = (field, value, words) => {
    const line = row(field, value),
      title = words && words[field];
    if (!title) return line;
    const name = el("button.mn-abbr", { title }, field);
    name.addEventListener("click", () => app.say(`${field}: ${title}`));
    line.firstElementChild.replaceWith(name);
    return line;
  };
  let before = "";
  const update = () => {
    buttons.update();
    if (kind === "host") {
      app.parts.keep(messages, lastOnes(run.deliveriesOf(i)), messageLine, "nothing yet", ({ m }) => m);
    }
    const card = live.card && live.card.node === name ? live.card : null,
      key = live.following ? JSON.stringify(card) : "past";
    if (key === before) return;
    before = key;
    packets.update(live.following && card ? card.packets : null);
    top.replaceChildren();
    inside.replaceChildren();
    if (!live.following)
      inside.append(note("Timers and the protocol's state are known only for the current moment of the run."));
    if (!card || !live.following) return;
    if (!card.is_up) top.append(el("p.mn-note", "The host is down. Its stable storage is kept."));
    const buffers = Object.entries(card.buffers);
    if (buffers.length) top.append(row("Holds", buffers.map(([buffer, size]) => buffer + " " + size).join(", ")));
    for (const [what, left] of card.timers) top.append(row(what, "in " + app.parts.duration(left)));
    for (const context of card.contexts || []) {
      inside.append(heading("Its context at " + context.station));
      for (const [field, value] of context.keeps) inside.append(explain(field, value, context.words));
    }
    if (card.keeps.length) inside.append(heading("Variables of the protocol"));
    for (const [field, value] of card.keeps) inside.append(explain(field, value, card.words));
  };
  return { actions: buttons.nodes, top: el("div", top, packets.box), body, update };
};
