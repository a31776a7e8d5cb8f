// The overview card: how many hosts are where, and what happened last.
Mobilenet.overview = (app) => {
  const { run } = app,
    { el, heading, note, pluralize, keep } = app.parts,
    { upTo, MEMBER, DOWN, COVERED, HANDING } = Mobilenet;
  const ROWS = {
    members: "Members",
    cell: "In a session",
    handing: "In a handoff",
    out: "Out of coverage",
    down: "Down",
    handoffs: "Handoffs so far",
  };
  const now = Object.fromEntries(Object.entries(ROWS).map(([name, words]) => [name, app.cards.live(words)]));
  const feed = el("div.mn-list", { "data-list": "events" }),
    recent = el("div.mn-list", { "data-list": "messages" });
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
    ...Object.values(now).map((each) => each.node),
    heading("Latest events"),
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
  const summary = el("span.mn-summary");
  let shownFeed = "",
    shownMessages = "",
    lines = new Map();
  const update = (t) => {
    renew();
    const count = { members: 0, cell: 0, handing: 0, out: 0, down: 0 };
    for (let h = 0; h < run.count; h++) {
      const f = run.flagsAt(h, t);
      if (!run.place(h, t)) continue;
      if (f & MEMBER) count.members++;
      if (f & DOWN) count.down++;
      else if (!(f & COVERED)) count.out++;
      else if (f & HANDING) count.handing++;
      else if (f & MEMBER) count.cell++;
    }
    const handoffs = upTo(handoffTimes, t);
    for (const [name, value] of Object.entries({ ...count, members: count.members + " of " + run.count, handoffs }))
      now[name].set(value);
    summary.textContent = ": " + pluralize(count.members, "member") + ", " + pluralize(handoffs, "handoff");
    const latest = [];
    for (let i = upTo(app.marks.times, t) - 1; i >= 0 && latest.length < 7; i--)
      if (app.marks.items[i].kind !== "in_coverage") latest.push(app.marks.items[i]);
    const isOpen = (item) => item.handoff !== undefined && Number.isNaN(run.handoffs.end[item.handoff]),
      line = (item) => item.id + (isOpen(item) ? " open" : "");
    const key = latest.map(line).join(),
      none = app.marks.items.length || run.live ? "nothing yet" : "no handoff, crash or gap in this run";
    if (key !== shownFeed || !feed.childNodes.length) {
      shownFeed = key;
      keep(feed, latest, app.cards.markLine, none, line);
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
        wanted,
        (m) => lines.get(m).line,
        msg.total || run.live ? "none yet" : "nothing was broadcast",
      );
    }
    for (const each of lines.values()) each.update(t);
  };
  return { title: "Now", summary, body, update, actions: [] };
};
