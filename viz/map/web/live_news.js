// Add the news of a state to the document: events, handoffs, deliveries, and a point of each curve.
// One more row of a table of columns.
Mobilenet.append = (table, row) => {
  for (const [name, value] of Object.entries(row)) table[name].push(value);
};

// Takes events and deliveries in order of time. `live.isPartial`: not all deliveries were sent.
Mobilenet.liveNews = (app, live) => {
  const { run } = app,
    { append } = Mobilenet;
  let gappy = false; // deliveries of the state that is taken were left out
  const hand = run.handoffs,
    open = new Map(),
    confirmed = new Map(),
    waiting = new Map(); // handoffs whose first delivery afterwards is still to come
  for (let i = 0; i < run.events.time.length; i++)
    if (["join", "handoff_end"].includes(run.eventKind(i)))
      confirmed.set(run.events.host[i], run.events.station[i]);
  for (let i = 0; i < hand.count; i++) {
    if (Number.isNaN(hand.end[i]) && hand.next[i] < 0) open.set(hand.host[i], i);
    else if (Number.isNaN(hand.first_after[i]) && !Number.isNaN(hand.end[i])) waiting.set(hand.host[i], i);
  }
  const takeHandoff = (t, host, station, session, detail) => {
    const cause = detail?.cause || "";
    if (!hand.causes.includes(cause)) hand.causes.push(cause);
    const i = hand.count++,
      own = run.deliveriesOf(host).time;
    if (open.has(host)) hand.next[open.get(host)] = i;
    open.set(host, i);
    append(hand, {
      host,
      from: confirmed.get(host) ?? -1,
      to: station,
      session,
      cause: hand.causes.indexOf(cause),
      recovered: -1,
      skipped: -1,
      next: -1,
      start: t,
      end: NaN,
      last_before: gappy ? NaN : (own.at(-1) ?? NaN),
      first_after: NaN,
    });
    run.takeHandoff(i);
    app.marks.takeHandoff(i);
  };
  const takeEvent = (events, k) => {
    const name = events.event[k],
      kind = run.events.kinds.indexOf(name),
      t = events.time_ns[k] / 1e9,
      host = events.host[k],
      station = events.station[k],
      detail = events.detail[k];
    if (kind < 0) return;
    const i = run.events.time.length;
    append(run.events, { time: t, kind, host, station, session: events.session[k] });
    run.takeEvent(i);
    app.marks.takeEvent(i);
    if (name === "handoff_start") takeHandoff(t, host, station, events.session[k], detail);
    else if (name === "join" || name === "handoff_end") {
      confirmed.set(host, station);
      const j = open.get(host);
      if (name === "handoff_end" && j !== undefined && hand.session[j] === events.session[k]) {
        hand.end[j] = t;
        hand.recovered[j] = detail?.recovered || 0;
        hand.skipped[j] = detail?.skipped || 0;
        open.delete(host);
        waiting.set(host, j);
      }
    }
  };
  const takeDelivery = (news, k) => {
    const t = news.time_ns[k] / 1e9,
      host = news.host[k];
    run.takeDelivery(t, host, news.message[k]);
    if (waiting.has(host)) {
      hand.first_after[waiting.get(host)] = t;
      waiting.delete(host);
    }
  };
  // In order of time. Where deliveries are left out, what is before and after a handoff of others is not known.
  return (events, news) => {
    gappy = !news.is_whole;
    live.isPartial ||= gappy;
    for (let i = 0, j = 0; i < events.time_ns.length || j < news.time_ns.length; )
      if (j >= news.time_ns.length || events.time_ns[i] <= news.time_ns[j]) takeEvent(events, i++);
      else takeDelivery(news, j++);
    if (!gappy) return;
    const reported = new Set(news.host);
    for (const host of [...waiting.keys()]) if (!reported.has(host)) waiting.delete(host);
  };
};

// Delays, buffers and losses over time; null where nothing was delivered, or could have been received.
Mobilenet.liveCurves = (run) => {
  const curves = { time: [], delay: [], held: [], lost: [] };
  curves.take = ({ time_ns, delay_mean_s, held, lost }) => {
    time_ns.forEach((ns, k) => {
      const time = ns / 1e9;
      Mobilenet.append(curves, { time, delay: delay_mean_s[k] ?? NaN, held: held[k], lost: lost[k] ?? NaN });
      if (lost[k] !== null) Mobilenet.append(run.losses, { time, share: lost[k] });
    });
  };
  curves.take(run.live.curves);
  return curves;
};
