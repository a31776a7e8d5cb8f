// A run that goes on: what comes over the socket is added to the document, what is asked goes back.
"use strict";
// Columns that can grow, and places by moment instead of by host.
Mobilenet.grow = (run) => {
  const { upTo } = Mobilenet,
    n = run.count;
  for (const group of [run.events, run.handoffs, run.messages, run.losses])
    for (const [name, column] of Object.entries(group))
      if (ArrayBuffer.isView(column)) group[name] = Array.from(column);
  const xs = [],
    ys = [],
    moments = Array.from(run.moments);
  for (let k = 0; k < moments.length; k++) {
    xs.push(new Float64Array(n).fill(NaN));
    ys.push(new Float64Array(n).fill(NaN));
  }
  for (let h = 0; h < n; h++)
    for (let i = 0; i < run.tracks.count[h]; i++) {
      xs[run.momentOf(h, i)][h] = run.xAt(h, i);
      ys[run.momentOf(h, i)][h] = run.yAt(h, i);
    }
  run.moments = moments;
  const place = { x: 0, y: 0 };
  let cachedTime = NaN,
    cached = -1,
    cachedCount = 0;
  const momentUpTo = (t) => {
    if (t !== cachedTime || cachedCount !== moments.length) {
      cachedTime = t;
      cachedCount = moments.length;
      cached = upTo(moments, t) - 1;
    }
    return cached;
  };
  run.momentOf = (h, i) => i;
  // A trail needs no more than two places a second: each is that much before the next.
  const earlier = [];
  run.placeBefore = (i) => {
    for (let k = earlier.length; k <= i; k++) {
      let j = k ? Math.max(0, earlier[k - 1]) : -1;
      while (j + 1 < k && moments[j + 1] <= moments[k] - 0.5) j++;
      earlier.push(j);
    }
    return earlier[i];
  };
  run.xAt = (h, i) => xs[i][h];
  run.yAt = (h, i) => ys[i][h];
  run.indexAt = (h, t) => {
    const k = momentUpTo(t);
    return k >= 0 && !Number.isNaN(xs[k][h]) ? k : -1;
  };
  run.place = (h, t) => {
    const k = momentUpTo(t);
    if (k < 0 || h < 0 || Number.isNaN(xs[k][h])) return null;
    const after = k + 1 < moments.length && !Number.isNaN(xs[k + 1][h]) ? k + 1 : k,
      share = after > k ? (t - moments[k]) / (moments[after] - moments[k]) : 0;
    place.x = (xs[k][h] + (xs[after][h] - xs[k][h]) * share) / 100;
    place.y = (ys[k][h] + (ys[after][h] - ys[k][h]) * share) / 100;
    return place;
  };
  run.lastPlace = (h, t) => {
    if (h < 0) return null;
    let k = momentUpTo(t);
    while (k >= 0 && Number.isNaN(xs[k][h])) k--;
    if (k < 0) return null;
    return run.place(h, k === momentUpTo(t) ? t : moments[k]);
  };
  const GONE = -(2 ** 31);
  run.takePlaces = (t, hosts) => {
    const column = (cm) => Float64Array.from(cm, (v) => (v === GONE ? NaN : v)),
      last = moments.length - 1;
    if (last >= 0 && t <= moments[last]) {
      xs[last] = column(hosts.x_cm); // time stands, and somebody was dragged
      ys[last] = column(hosts.y_cm);
      cachedTime = NaN;
      return;
    }
    moments.push(t);
    xs.push(column(hosts.x_cm));
    ys.push(column(hosts.y_cm));
    let most = 0;
    if (last >= 0)
      for (let h = 0; h < n; h++) {
        const far = Math.abs(xs[last + 1][h] - xs[last][h]) + Math.abs(ys[last + 1][h] - ys[last][h]);
        if (far > most) most = far; // not where one of them is not there
      }
    run.fastest_mps = last >= 0 ? most / 100 / (t - moments[last]) : 0;
  };
  for (const [name, kind] of Object.entries(run.buffers)) {
    const count = name === "stations" ? run.stationCount : n,
      old = kind.bins;
    kind.bins = Math.ceil((run.end_s + 90) / kind.bin_s) + 1;
    kind.room = (first) => {
      const sizes = new Uint16Array(count * kind.bins);
      if (first) for (let i = 0; i < count; i++) sizes.set(first.subarray(i * old, (i + 1) * old), i * kind.bins);
      return sizes;
    };
    for (const each of kind.series) each.sizes = kind.room(each.sizes);
    kind.filled = Math.floor(run.now_s / kind.bin_s);
  }
  // Whether there is a buffer now that was not known.
  run.takeBuffers = (t, buffers) => {
    let isNew = false;
    for (const [name, kind] of Object.entries(run.buffers)) {
      const to = Math.min(kind.bins - 1, Math.floor(t / kind.bin_s));
      for (const [buffer, sizes] of Object.entries(buffers[name])) {
        const called = { sbuffer: "SBuffer", rbuffer: "RBuffer" }[buffer] || buffer;
        let series = kind.series.find((each) => each.name === called);
        if (!series) {
          kind.series.push((series = { name: called, sizes: kind.room(null) }));
          isNew = true;
        }
        for (let i = 0; i < sizes.length; i++)
          for (let b = kind.filled + 1; b <= to; b++) series.sizes[i * kind.bins + b] = sizes[i];
        for (let i = 0; i < sizes.length; i++)
          series.sizes[i * kind.bins + to] = Math.max(series.sizes[i * kind.bins + to], sizes[i]);
      }
      kind.filled = Math.max(kind.filled, to);
    }
    return isNew;
  };
};

// Who has which message, as it comes.
Mobilenet.growMessages = (run) => {
  const msg = run.messages,
    number = new Map(),
    of = [],
    byHost = Array.from({ length: run.count }, () => ({ time: [], message: [] }));
  const before = msg.before,
    beforeEnds = msg.before_ends,
    first = msg.count;
  msg.predecessors = (m) => (m < first ? before.slice(m ? beforeEnds[m - 1] : 0, beforeEnds[m]) : []);
  msg.deliveredAt = (m) => of[m];
  msg.delays = (m) => Array.from(of[m].values(), (t) => t - msg.time[m]);
  run.deliveriesOf = (h) => byHost[h];
  run.takeBroadcast = (t, name) => {
    const [host, seq] = name.slice(1).split(":").map(Number);
    number.set(name, msg.count);
    of[msg.count] = new Map();
    msg.time.push(t);
    msg.host.push(host);
    msg.number.push(seq);
    msg.picked.push(1);
    msg.before_unknown.push(-1); // who is told of deliveries as they come does not work out what they follow
    msg.count++;
    msg.total++;
  };
  const note = (m, h, t) => {
    of[m].set(h, t);
    byHost[h].time.push(t);
    byHost[h].message.push(m);
  };
  // All that a host had delivered when it was asked for; what is here and not among it has come since.
  run.learnDeliveries = (h, { time_ns, message }) => {
    const own = byHost[h],
      before = own.message.splice(0),
      times = own.time.splice(0);
    message.forEach((name, i) => run.takeDelivery(time_ns[i] / 1e9, h, name));
    const there = new Set(own.message);
    before.forEach((m, i) => {
      if (!there.has(m)) note(m, h, times[i]);
    });
  };
  run.takeDelivery = (t, h, name) => {
    const m = number.get(name);
    if (m !== undefined) note(m, h, t);
  };
  const known = [];
  for (let m = 0; m < first; m++) {
    number.set(msg.label(m), m);
    of[m] = new Map();
    for (let i = m ? msg.ends[m - 1] : 0; i < msg.ends[m]; i++)
      known.push([msg.time[m] + msg.delay_s[i], msg.to[i], m]);
  }
  for (const [t, h, m] of known.sort((a, b) => a[0] - b[0])) if (h >= 0 && h < run.count) note(m, h, t);
  return known;
};

Mobilenet.live = (app) => {
  const { run, clock } = app,
    known = Mobilenet.growMessages(run),
    live = {
      state: null,
      following: true,
      interventions: [],
      branches: [],
      branch: 0,
      jobs: [],
      arrows: [],
      arrowsFrom_s: 0, // before it nobody looked at whom is chosen
      card: null,
      busy: null,
      isPartial: false, // not all deliveries were told
      wholeHost: -1, // but all of this one's
      curves: { time: [], delay: [], held: [], lost: [] },
    };
  const STORE = "mobilenet-live";

  // --- what comes

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
  const takeNews = (events, news) => {
    if (!news.is_whole) {
      live.isPartial = true;
      gappy = true;
      const kept = [...waiting].filter(([host]) => news.host.includes(host));
      waiting.clear();
      for (const [host, i] of kept) waiting.set(host, i);
    } else gappy = false;
    for (let i = 0, j = 0; i < events.time_ns.length || j < news.time_ns.length; )
      if (j >= news.time_ns.length || events.time_ns[i] <= news.time_ns[j]) takeEvent(events, i++);
      else takeDelivery(news, j++);
    if (gappy) {
      const known = new Set(news.host);
      for (const host of [...waiting.keys()]) if (!known.has(host)) waiting.delete(host);
    }
  };
  // Of the doc: the mean delay of the deliveries of each second.
  let bin = -1;
  for (const [t, , m] of known) {
    if (Math.floor(t) !== bin) {
      bin = Math.floor(t);
      live.curves.time.push(bin + 0.5);
      live.curves.delay.push([0, 0]);
      live.curves.held.push(NaN);
      live.curves.lost.push(NaN);
    }
    const last = live.curves.delay[live.curves.delay.length - 1];
    last[0] += t - run.messages.time[m];
    last[1] += 1;
  }
  live.curves.delay = live.curves.delay.map(([sum, count]) => sum / count);
  const [times = [], held = [], pairs = [], lost = []] = run.live.history;
  const history = times.map((ns, k) => ({
    t: ns / 1e9,
    held: held[k],
    lost: k && pairs[k] > pairs[k - 1] ? (lost[k] - lost[k - 1]) / (pairs[k] - pairs[k - 1]) : NaN,
  }));
  if (history.length) {
    const seconds = live.curves.time,
      delays = live.curves.delay;
    live.curves = { time: [], delay: [], held: [], lost: [] };
    for (const { t, held: h, lost: l } of history) {
      const k = Mobilenet.upTo(seconds, t) - 1;
      live.curves.time.push(t);
      live.curves.delay.push(k >= 0 ? delays[k] : NaN);
      live.curves.held.push(h);
      live.curves.lost.push(l);
    }
  }
  let pairsBefore = null;
  const takeCurves = (t, state) => {
    const { curves } = live,
      pairs = Object.entries(state.totals).filter(([name]) => name.startsWith("pairs_")),
      all = pairs.reduce((sum, [, count]) => sum + count, 0),
      lost = all - state.totals.pairs_received,
      last = curves.time.length - 1;
    if (pairsBefore && t - pairsBefore.t < 0.25) return;
    curves.time.push(t);
    curves.delay.push(state.deliveries.delay_mean_s ?? (last >= 0 ? curves.delay[last] : NaN));
    curves.held.push(
      Object.values(state.buffers.stations).reduce((sum, sizes) => sum + sizes.reduce((a, b) => a + b, 0), 0),
    );
    const fresh = pairsBefore && all > pairsBefore.all;
    curves.lost.push(fresh ? (lost - pairsBefore.lost) / (all - pairsBefore.all) : last >= 0 ? curves.lost[last] : NaN);
    if (fresh) {
      run.losses.time.push(t);
      run.losses.share.push((lost - pairsBefore.lost) / (all - pairsBefore.all));
    }
    pairsBefore = { t, all, lost };
  };
  let stepsSaid = null, // the number of the last step that was told of
    endsKnown = NaN,
    shownFrom = 0,
    shownTo = 0,
    arrivedAt = 0,
    lasts = 50;
  const take = (state) => {
    const t = state.time_ns / 1e9,
      isFirst = !live.state;
    if (state.hosts.x_cm.length !== run.count) {
      again(); // somebody was added
      return;
    }
    if (!live.state || state.speed !== live.state.speed)
      live.ask({ command: "pace", states_per_s: state.speed <= 1 ? 10 : 20 }); // no more than there are pictures
    live.state = state;
    live.busy = null;
    run.takePlaces(t, state.hosts);
    if (run.takeBuffers(t, state.buffers) && app.selected) select(app.selected); // its card has a chart of it
    const kept = run.buffers.stations.series[0];
    if (kept && state.buffers.stations.sbuffer) app.marks.higher(state.buffers.stations.sbuffer);
    for (let k = 0; k < state.broadcasts.time_ns.length; k++)
      run.takeBroadcast(state.broadcasts.time_ns[k] / 1e9, state.broadcasts.message[k]);
    takeNews(state.events, state.deliveries);
    takeCurves(t, state);
    run.now_s = t;
    if (t > run.end_s) run.end_s = t;
    if (state.interventions) {
      live.interventions = state.interventions;
      run.switches = live.interventions.filter((one) => one.link || one.station);
      live.branch = state.branch;
    }
    if (state.branches) live.branches = state.branches;
    if (state.jobs) live.jobs = state.jobs;
    live.card = state.card || null;
    if (state.arrows) {
      const a = state.arrows;
      for (let k = 0; k < a.sent_ns.length; k++)
        live.arrows.push(Object.fromEntries(Object.entries(a).map(([name, column]) => [name, column[k]])));
      const oldest = state.time_ns - 10e9; // as the server has them
      live.arrowsFrom_s = Math.max(live.arrowsFrom_s, oldest / 1e9);
      while (live.arrows.length && live.arrows[0].sent_ns < oldest) live.arrows.shift();
    }
    const stamp = performance.now();
    clock.tick(stamp); // pictures may be rarer than states
    lasts = isFirst ? 50 : Math.min(250, Math.max(20, stamp - arrivedAt));
    arrivedAt = stamp;
    shownFrom = isFirst ? t : Math.min(t, clock.t);
    shownTo = t;
    const wasPlaying = clock.playing;
    if (live.following) {
      if (isFirst || !state.is_playing) clock.t = t;
      clock.playing = state.is_playing;
      clock.speed = state.speed;
    }
    const chosen = app.selected;
    if (chosen && chosen.kind === "handoff" && endsKnown !== run.handoffs.end[chosen.id]) {
      endsKnown = run.handoffs.end[chosen.id];
      if (!Number.isNaN(endsKnown)) select(chosen); // its card tells how it went
    }
    // While time goes on the next picture shows it; what somebody did, or a beginning or an end, is shown at once.
    if (!clock.playing || !wasPlaying || state.interventions) app.changed();
    const number = state.stepped ? state.stepped.number : 0;
    if (number > (stepsSaid ?? number)) sayStep(state.stepped);
    stepsSaid = number;
  };
  // How long a picture may stay: until somebody has moved half a pixel, and rings of broadcasts are seen to grow. At
  // walking pace that is five a second; laying the canvases over each other is nearly all that a page costs.
  const LONGEST_MS = 200;
  live.pictureMs = () => {
    if (!live.following || run.fastest_mps === undefined) return 0;
    const pixels = run.fastest_mps * app.rate() * app.view.scaleAt(0);
    return Math.min(LONGEST_MS, Math.max(0, 500 / Math.max(pixels, 1)));
  };

  // Of a message whose deliveries may not all have been told: they are asked for, and again when time has gone on.
  // False: nothing has come yet.
  const learnt = new Map(),
    AGAIN_MS = 500;
  live.learn = (m) => {
    if (!live.isPartial) return true;
    const known = learnt.get(m) || { at_s: -1, asked: -Infinity, isThere: false },
      since = performance.now() - known.asked;
    learnt.set(m, known);
    if (known.at_s >= run.now_s) return true;
    if (since <= AGAIN_MS) {
      if (!known.isWaiting) setTimeout(() => ((known.isWaiting = false), app.changed()), AGAIN_MS - since);
      known.isWaiting = true;
    } else {
      known.asked += since;
      const at_s = run.now_s;
      live.ask({ command: "message", message: run.messages.label(m) }).then((reply) => {
        if (reply.error) return;
        reply.host.forEach((h, i) => run.messages.deliveredAt(m).set(h, reply.time_ns[i] / 1e9));
        known.at_s = at_s;
        known.isThere = true;
        app.changed();
      });
    }
    return known.isThere;
  };

  // --- what goes

  const waitingFor = new Map();
  let socket = null,
    serial = 0;
  live.ask = (command) =>
    new Promise((resolve) => {
      if (!socket || socket.readyState !== 1) {
        resolve({ error: "the run has ended, or the connection is broken" });
        return;
      }
      waitingFor.set(++serial, resolve);
      socket.send(JSON.stringify({ ...command, id: serial }));
    });
  // What somebody does; what is wrong with it is said.
  live.tell = async (command) => {
    const reply = await live.ask(command);
    if (reply.error) app.say(reply.error);
    return reply;
  };
  // In the past it happens there: another branch begins.
  live.touch = (what) => live.tell({ command: "do", what, ...(live.following ? {} : { back_to_s: clock.t }) });
  // To the next of its kind, from where one looks. Who begins or ends a handoff is chosen then; else whoever is
  // chosen stays so.
  live.step = async (what) => {
    if (!live.following && (await live.tell({ command: "rewind", to_s: clock.t })).error) return;
    live.tell({ command: "step", what });
  };
  const sayStep = ({ what, event }) => {
    if (what === "frame") return;
    if (!event) {
      app.say("Nothing more of that kind: the run is over.");
      return;
    }
    const { event: name, node, message } = event;
    app.say(node + ": " + (Mobilenet.WORDS[name] || name.replace("_", " ")) + (message ? " " + message : ""));
    if (node[0] === "h" && (what === "handoff" || !app.selected))
      app.select({ kind: "host", id: Number(node.slice(1)) });
  };
  live.goOnFromHere = () => live.tell({ command: "rewind", to_s: clock.t });

  live.remember = () => {
    const center = app.map.getCenter(),
      kept = {
        center: [center.lat, center.lng],
        zoom: app.map.getZoom(),
        layers: app.layers,
        selected: app.selected,
        steps: stepsSaid,
      };
    sessionStorage.setItem(STORE, JSON.stringify(kept));
  };
  live.recall = () => {
    let kept = null;
    try {
      kept = JSON.parse(sessionStorage.getItem(STORE));
    } catch (error) {
      kept = null;
    }
    sessionStorage.removeItem(STORE);
    if (!kept) return false;
    Object.assign(app.layers, kept.layers);
    stepsSaid = kept.steps ?? null;
    app.map.setView(kept.center, kept.zoom, { animate: false });
    const counts = { host: run.count, station: run.stationCount };
    if (kept.selected && kept.selected.id < (counts[kept.selected.kind] || 0)) app.select(kept.selected);
    return true;
  };
  const again = () => {
    live.remember();
    location.reload();
  };

  live.connect = () => {
    socket = new WebSocket("ws://" + location.host + "/socket?token=" + encodeURIComponent(run.live.token));
    socket.onopen = () => live.ask({ command: "since", generation: run.live.generation, row: run.live.row });
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.type === "state") take(message);
      else if (message.type === "again") again();
      else if (message.type === "busy") {
        live.busy = message;
        app.changed();
      } else if (waitingFor.has(message.id)) {
        waitingFor.get(message.id)(message);
        waitingFor.delete(message.id);
      }
    };
    socket.onclose = () => {
      live.isBroken = true;
      clock.playing = false;
      app.changed();
    };
  };

  // --- the clock: at the edge it is the run's, a frame behind it, so that there is something to draw between two

  const own = { tick: clock.tick, seek: clock.seek, play: clock.play, pause: clock.pause, at: clock.at };
  clock.speeds = [0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, "max"];
  clock.tick = (stamp) => {
    if (!live.following) {
      const wanted = clock.speed;
      clock.speed = wanted === "max" ? 32 : wanted;
      own.tick(stamp);
      clock.speed = wanted;
      if (clock.t >= run.now_s) live.toNow();
      return;
    }
    if (clock.playing) clock.t = shownFrom + (shownTo - shownFrom) * Math.min(1, (stamp - arrivedAt) / lasts);
  };
  clock.seek = (t) => {
    live.following = t >= run.now_s - 1e-9;
    own.seek(t);
    clock.playing = live.following && Boolean(live.state && live.state.is_playing);
    if (live.following && live.state) clock.speed = live.state.speed;
  };
  live.toNow = () => clock.seek(run.now_s);
  clock.play = () => {
    if (live.following) live.tell({ command: "play" });
    else own.play();
  };
  clock.pause = () => {
    if (live.following && live.state && live.state.is_playing) live.ask({ command: "pause" });
    else own.pause();
  };
  clock.at = (speed) => {
    own.at(speed); // looking back it is the picture's alone
    if (live.following) live.tell({ command: "speed", speed });
  };
  const select = app.select;
  app.select = (what) => {
    const node = !what ? null : what.kind === "host" ? "h" + what.id : what.kind === "station" ? "s" + what.id : null;
    live.arrows = [];
    live.arrowsFrom_s = run.now_s;
    live.card = null;
    live.wholeHost = -1;
    live.ask({ command: "watch", node, deliveries: live.isPartial }).then(({ delivered }) => {
      if (!delivered || app.selected !== what || what.kind !== "host") return;
      run.learnDeliveries(what.id, delivered);
      live.wholeHost = what.id;
      app.changed();
    });
    select(what);
  };
  return live;
};
