// What each host is at a moment, and who has which message, both only from the events.
Mobilenet.MEMBER = 1;
Mobilenet.DOWN = 2;
Mobilenet.HANDING = 4;
Mobilenet.COVERED = 8;

Mobilenet.addStates = (run) => {
  const { MEMBER, DOWN, HANDING, COVERED } = Mobilenet,
    SETS = { join: MEMBER, handoff_start: HANDING, in_coverage: COVERED, crash: DOWN },
    CLEARS = { leave: MEMBER | HANDING, handoff_end: HANDING, out_of_coverage: COVERED, recover: DOWN },
    TELLS_STATION = ["join", "handoff_start", "handoff_end", "in_coverage"];
  let n = 0;
  run.eventKind = (i) => run.events.kinds[run.events.kind[i]];
  run.causeOf = (i) => run.handoffs.causes[run.handoffs.cause[i]];
  const times = [],
    stations = [],
    flags = [],
    members = [],
    own = [],
    ownHandoffs = [],
    flag = [],
    station = [],
    cursor = [];
  const makeRoom = () => {
    for (; n < run.count; n++) {
      for (const lists of [times, stations, flags, members, own, ownHandoffs]) lists.push([]);
      flag.push(0);
      station.push(-1);
      cursor.push(0);
    }
  };
  makeRoom();
  run.onAdded.push(makeRoom);
  run.takeEvent = (i) => {
    const h = run.events.host[i],
      t = run.events.time[i],
      kind = run.eventKind(i),
      s = run.events.station[i];
    if (h < 0 || h >= n) return;
    own[h].push(i);
    if (kind === "expire" || kind === "refused") return;
    const spans = members[h],
      open = spans.at(-1);
    if (["join", "leave", "gap"].includes(kind) && open) open[1] = Math.min(open[1], t);
    if (kind === "join" || kind === "gap") spans.push([t, Infinity]);
    flag[h] = (flag[h] | (SETS[kind] ?? 0)) & ~(CLEARS[kind] ?? 0);
    if (kind === "out_of_coverage") station[h] = -1;
    else if (TELLS_STATION.includes(kind) && s >= 0) station[h] = s;
    times[h].push(t);
    stations[h].push(station[h]);
    flags[h].push(flag[h]);
  };
  run.takeHandoff = (i) => {
    if (run.handoffs.host[i] >= 0) ownHandoffs[run.handoffs.host[i]].push(i);
  };
  for (let i = 0; i < run.events.time.length; i++) run.takeEvent(i);
  for (let i = 0; i < run.handoffs.count; i++) run.takeHandoff(i);
  // The host's last change at or before t; -1: none.
  const seek = (h, t) => {
    const moments = times[h];
    let c = cursor[h];
    while (c < moments.length && moments[c] <= t) c++;
    while (c > 0 && moments[c - 1] > t) c--;
    return (cursor[h] = c) - 1;
  };
  run.flagsAt = (h, t) => flags[h][seek(h, t)] ?? 0;
  run.stationAt = (h, t) => stations[h][seek(h, t)] ?? -1;
  run.states = (h) => ({ times: times[h], stations: stations[h], flags: flags[h] });
  run.eventsOf = (h) => own[h];
  run.handoffsOf = (h) => ownHandoffs[h];
  run.servedHosts = (s, t) => {
    const members = [];
    for (let h = 0; h < n; h++) if (run.stationAt(h, t) === s && run.flagsAt(h, t) & MEMBER) members.push(h);
    return members;
  };
  // What is cut or switched off by hand at t: a station, or the two ends of a wire in order, joined by a comma.
  run.offAt = (t) => {
    const off = new Map();
    for (const one of run.switches) {
      if (one.at_s > t) break;
      if (one.do === "impair_link" || one.do === "impair") continue;
      const key = one.station || [...one.link].sort().join();
      if (one.do === "cut" || one.do === "radio_off") off.set(key, one);
      else off.delete(key);
    }
    if (t >= run.duration_s) off.clear(); // then everything is repaired
    return off;
  };
  // Hosts and links that lose more or take longer by hand.
  run.impairedAt = (t) => {
    const impaired = new Map();
    for (const one of run.switches) {
      if (one.at_s > t) break;
      if (one.do !== "impair_link" && one.do !== "impair") continue;
      const key = one.host || [...one.link].sort().join();
      if (one.loss || one.delay_s) impaired.set(key, one);
      else impaired.delete(key);
    }
    if (t >= run.duration_s) impaired.clear();
    return impaired;
  };
  run.sayState = (h, t) => {
    const own = run.impairedAt(t).get(run.hostLabel(h));
    return run.sayPlace(h, t) + (own ? "; impaired: " + Mobilenet.sayImpairment(own) : "");
  };
  run.sayPlace = (h, t) => {
    const f = run.flagsAt(h, t),
      s = run.stationAt(h, t);
    if (!run.place(h, t)) return "not here";
    if (f & DOWN) return "down";
    if (!(f & COVERED)) return "in no cell";
    if (f & HANDING) return "opening a session with " + run.stationLabel(s);
    if (!(f & MEMBER)) return "not a member; nearest station " + run.stationLabel(s);
    return "served by " + run.stationLabel(s);
  };
  // Whether the host owes message m by time t: a member since before it was broadcast, without a gap or a leave since.
  run.isEntitled = (h, m, t) => members[h].some(([from, to]) => from <= run.messages.time[m] && t < to);

  const msg = run.messages;
  msg.label = (m) => run.hostLabel(msg.host[m]) + ":" + msg.number[m];
  msg.begin = (m) => (m ? msg.ends[m - 1] : 0);
  msg.delays = (m) => msg.delay_s.subarray(msg.begin(m), msg.ends[m]);
  msg.predecessors = (m) => Array.from(msg.before.subarray(m ? msg.before_ends[m - 1] : 0, msg.before_ends[m]));
  const known = new Map();
  msg.deliveredAt = (m) => {
    // host -> moment of delivery
    if (!known.has(m)) {
      if (known.size > 400) known.clear();
      const at = new Map();
      for (let i = msg.begin(m); i < msg.ends[m]; i++) at.set(msg.to[i], msg.time[m] + msg.delay_s[i]);
      if (!at.has(msg.host[m])) at.set(msg.host[m], msg.time[m]);
      known.set(m, at);
    }
    return known.get(m);
  };
  // Deliveries of each host in order of time: built when first asked for.
  let byHost = null;
  run.deliveriesOf = (h) => {
    if (!byHost) {
      const counts = new Uint32Array(n + 1);
      for (const to of msg.to) counts[to + 1]++;
      for (let i = 0; i < n; i++) counts[i + 1] += counts[i];
      const next = counts.slice(),
        time = new Float64Array(msg.to.length),
        message = new Uint32Array(msg.to.length);
      for (let m = 0; m < msg.count; m++)
        for (let i = msg.begin(m); i < msg.ends[m]; i++) {
          const at = next[msg.to[i]]++;
          time[at] = msg.time[m] + msg.delay_s[i];
          message[at] = m;
        }
      byHost = { counts, time, message, sorted: new Map() };
    }
    if (!byHost.sorted.has(h)) {
      const from = byHost.counts[h],
        to = byHost.counts[h + 1];
      const order = Array.from({ length: to - from }, (_, i) => from + i).sort(
        (a, b) => byHost.time[a] - byHost.time[b],
      );
      byHost.sorted.set(h, {
        time: Float64Array.from(order, (i) => byHost.time[i]),
        message: order.map((i) => byHost.message[i]),
      });
    }
    return byHost.sorted.get(h);
  };
  // How far a message is at t: who has it, who does not although entitled, and what each of these waits for.
  run.progress = (m, t) => {
    const at = msg.deliveredAt(m),
      have = [],
      lack = [],
      predecessors = msg.predecessors(m);
    if (t < msg.time[m]) return { have, lack }; // no host owes it yet
    for (const [h, when] of at) if (when <= t) have.push(h);
    for (let h = 0; h < n; h++) {
      if (at.has(h) && at.get(h) <= t) continue;
      if (!run.isEntitled(h, m, t) && !(at.has(h) && t >= msg.time[m])) continue;
      lack.push({
        host: h,
        waits: predecessors.filter((p) => {
          const when = msg.deliveredAt(p).get(h);
          return (when === undefined || when > t) && run.isEntitled(h, p, t);
        }),
      });
    }
    return { have, lack };
  };
  run.valueAt = (kind, buffer, i, t) => {
    const series = run.buffers[kind],
      entry = series.series.find(({ name }) => name === buffer);
    return entry
      ? entry.sizes[i * series.bins + Math.min(series.bins - 1, Math.max(0, Math.floor(t / series.bin_s)))]
      : null;
  };
};
