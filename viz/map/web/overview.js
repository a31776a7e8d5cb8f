// The card of everybody: how many are where, and what happened last.
"use strict";
Mobilenet.overview = (app) => {
  const { run } = app,
    { el, heading, note, counted, keep } = app.parts,
    { upTo, MEMBER, DOWN, COVERED, HANDING } = Mobilenet;
  const now = {
    members: app.cards.live("Members"),
    cell: app.cards.live("In a session"),
    handing: app.cards.live("In a handoff"),
    out: app.cards.live("Out of coverage"),
    down: app.cards.live("Down"),
    handoffs: app.cards.live("Handoffs so far"),
  };
  const feed = el("div", { class: "mn-list", "data-list": "events" }),
    recent = el("div", { class: "mn-list", "data-list": "messages" });
  const handoffTimes = [],
    picked = [],
    pickedTimes = [],
    msg = run.messages;
  let marksSeen = 0,
    messagesSeen = 0;
  const renew = () => {
    for (; marksSeen < app.marks.items.length; marksSeen++)
      if (app.marks.items[marksSeen].kind === "handoff") handoffTimes.push(app.marks.items[marksSeen].t);
    for (; messagesSeen < msg.count; messagesSeen++)
      if (msg.picked[messagesSeen]) {
        picked.push(messagesSeen);
        pickedTimes.push(msg.time[messagesSeen]);
      }
  };
  const body = el(
    "div",
    {},
    ...Object.values(now).map((each) => each.node),
    heading("What happened last"),
    feed,
    heading(msg.every > 1 ? "Messages, a sample" : "Messages"),
    msg.every > 1
      ? note(
          "Details of one message in " +
            msg.every +
            " and of those that it has to follow: " +
            msg.count.toLocaleString("en") +
            " of " +
            msg.total.toLocaleString("en") +
            ". Everything else is complete.",
        )
      : null,
    recent,
    note("Click a host, a station, a mark or a message. Space plays, h goes to the next handoff, ? shows all keys."),
  );
  const summary = el("span", { class: "mn-summary" });
  let shownFeed = "",
    shownMessages = "",
    lines = new Map();
  const update = (t) => {
    renew();
    let members = 0,
      cell = 0,
      handing = 0,
      out = 0,
      down = 0;
    for (let h = 0; h < run.count; h++) {
      const f = run.flagsAt(h, t);
      if (!run.place(h, t)) continue;
      if (f & MEMBER) members++;
      if (f & DOWN) down++;
      else if (!(f & COVERED)) out++;
      else if (f & HANDING) handing++;
      else if (f & MEMBER) cell++;
    }
    now.members.set(members + " of " + run.count);
    now.cell.set(cell);
    now.handing.set(handing);
    now.out.set(out);
    now.down.set(down);
    now.handoffs.set(upTo(handoffTimes, t));
    summary.textContent = ": " + counted(members, "member") + ", " + counted(upTo(handoffTimes, t), "handoff");
    const latest = [];
    for (let i = upTo(app.marks.times, t) - 1; i >= 0 && latest.length < 7; i--)
      if (app.marks.items[i].kind !== "in_coverage") latest.push(app.marks.items[i]);
    const isOpen = (item) => item.handoff !== undefined && Number.isNaN(run.handoffs.end[item.handoff]),
      line = (item) => item.id + (isOpen(item) ? " open" : "");
    const key = latest.map(line).join(),
      none = app.marks.items.length || run.live ? "nothing yet" : "no handoff, crash or gap in this run";
    if (key !== shownFeed || !feed.childNodes.length) {
      shownFeed = key;
      keep(
        feed,
        latest.length ? latest : [null],
        (item) => (item ? line(item) : "none"),
        (item) => (item ? app.cards.markLine(item) : note(none)),
      );
    }
    const upto = upTo(pickedTimes, t),
      wanted = picked.slice(Math.max(0, upto - 6), upto).reverse(),
      messageKey = wanted.join();
    if (messageKey !== shownMessages || !recent.childNodes.length) {
      shownMessages = messageKey;
      const before = lines;
      lines = new Map(wanted.map((m) => [m, before.get(m) || Mobilenet.messageLine(app, m)]));
      keep(
        recent,
        wanted.length ? wanted : [null],
        (m) => m ?? "none",
        (m) => (m === null ? note(msg.total || run.live ? "none yet" : "nothing was broadcast") : lines.get(m).line),
      );
    }
    for (const each of lines.values()) each.update(t);
  };
  return { title: "Now", summary, body, update, actions: [] };
};
