// What a state brings, added to the document: events, handoffs, deliveries, and a point of each curve.
"use strict";
// Takes events and deliveries in order of time. `live.isPartial`: not all deliveries were told.
Mobilenet.liveNews = (app, live) => {
  const { run } = app;
  let gappy = false; // deliveries of the state that is taken were left out
  const hand = run.handoffs,
    open = new Map(),
    confirmed = new Map(),
    waiting = new Map(); // handoffs whose first delivery afterwards is still to come
  for (let i = 0; i < run.events.time.length; i++)
    if (["join", "handoff_end"].includes(run.events.kinds[run.events.kind[i]]))
      confirmed.set(run.events.host[i], run.events.station[i]);
  for (let i = 0; i < hand.count; i++) {
    if (Number.isNaN(hand.end[i]) && hand.next[i] < 0) open.set(hand.host[i], i);
    else if (Number.isNaN(hand.first_after[i]) && !Number.isNaN(hand.end[i])) waiting.set(hand.host[i], i);
  }
  const takeHandoff = (t, host, station, session, detail) => {
    const cause = (detail && detail.cause) || "";
    if (!hand.causes.includes(cause)) hand.causes.push(cause);
    const i = hand.count++,
      own = run.deliveriesOf(host).time;
    if (open.has(host)) hand.next[open.get(host)] = i;
    open.set(host, i);
    hand.host.push(host);
    hand.from.push(confirmed.has(host) ? confirmed.get(host) : -1);
    hand.to.push(station);
    hand.session.push(session);
    hand.cause.push(hand.causes.indexOf(cause));
    hand.recovered.push(-1);
    hand.skipped.push(-1);
    hand.next.push(-1);
    hand.start.push(t);
    hand.end.push(NaN);
    hand.last_before.push(own.length && !gappy ? own[own.length - 1] : NaN);
    hand.first_after.push(NaN);
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
    run.events.time.push(t);
    run.events.kind.push(kind);
    run.events.host.push(host);
    run.events.station.push(station);
    run.events.session.push(events.session[k]);
    run.takeEvent(i);
    app.marks.takeEvent(i);
    if (name === "handoff_start") takeHandoff(t, host, station, events.session[k], detail);
    else if (name === "join" || name === "handoff_end") {
      confirmed.set(host, station);
      const j = open.get(host);
      if (name === "handoff_end" && j !== undefined && hand.session[j] === events.session[k]) {
        hand.end[j] = t;
        hand.recovered[j] = (detail && detail.recovered) || 0;
        hand.skipped[j] = (detail && detail.skipped) || 0;
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
    const told = new Set(news.host);
    for (const host of [...waiting.keys()]) if (!told.has(host)) waiting.delete(host);
  };
};

// Delays, buffers and losses over time. `known`: the deliveries of the document, as [time, host, message].
Mobilenet.liveCurves = (run, known) => {
  const curves = { time: [], delay: [], held: [], lost: [] },
    add = (t, delay, held, lost) => {
      curves.time.push(t);
      curves.delay.push(delay);
      curves.held.push(held);
      curves.lost.push(lost);
    };
  const seconds = []; // with deliveries: their middles, and mean delays
  for (const [t, , m] of known) {
    const middle = Math.floor(t) + 0.5;
    if (!seconds.length || seconds[seconds.length - 1].middle !== middle)
      seconds.push({ middle, sum: 0, count: 0, mean: NaN });
    const last = seconds[seconds.length - 1];
    last.sum += t - run.messages.time[m];
    last.mean = last.sum / ++last.count;
  }
  const [times = [], held = [], pairs = [], lost = []] = run.live.history;
  if (!times.length) for (const { middle, mean } of seconds) add(middle, mean, NaN, NaN);
  const middles = seconds.map(({ middle }) => middle);
  times.forEach((time_ns, k) => {
    const before = Mobilenet.upTo(middles, time_ns / 1e9) - 1,
      isMore = k && pairs[k] > pairs[k - 1],
      share = isMore ? (lost[k] - lost[k - 1]) / (pairs[k] - pairs[k - 1]) : NaN;
    add(time_ns / 1e9, before >= 0 ? seconds[before].mean : NaN, held[k], share);
  });
  let earlier = null;
  curves.take = (t, state) => {
    const pairs = Object.entries(state.totals).filter(([name]) => name.startsWith("pairs_")),
      all = pairs.reduce((sum, [, count]) => sum + count, 0),
      lost = all - state.totals.pairs_received,
      last = curves.time.length - 1,
      held = Object.values(state.buffers.stations).flat();
    if (earlier && t - earlier.t < 0.25) return;
    let share = last >= 0 ? curves.lost[last] : NaN;
    if (earlier && all > earlier.all) {
      share = (lost - earlier.lost) / (all - earlier.all);
      run.losses.time.push(t);
      run.losses.share.push(share);
    }
    add(
      t,
      state.deliveries.delay_mean_s ?? (last >= 0 ? curves.delay[last] : NaN),
      held.reduce((a, b) => a + b, 0),
      share,
    );
    earlier = { t, all, lost };
  };
  return curves;
};
