// The document of a run that goes on: its columns can grow.
// Columns that can grow, and places by moment instead of by host.
Mobilenet.grow = (run) => {
  const { upTo } = Mobilenet;
  let n = run.count;
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
  run.onAdded.push(() => {
    n = run.count;
    for (const columns of [xs, ys])
      columns.forEach((column, k) => {
        columns[k] = new Float64Array(n).fill(NaN);
        columns[k].set(column);
      });
  });
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
      xs[last] = column(hosts.x_cm); // time stands still, and a host was dragged
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
  const WORDS = { sbuffer: "SBuffer", rbuffer: "RBuffer" },
    recordedName = (title) => Object.keys(WORDS).find((name) => WORDS[name] === title) || title;
  for (const [name, kind] of Object.entries(run.buffers)) {
    const nodes = () => (name === "stations" ? run.stationCount : n),
      old = kind.bins;
    kind.bins = Math.ceil((run.end_s + 90) / kind.bin_s) + 1;
    kind.room = (first, width) => {
      const sizes = new Uint16Array(nodes() * kind.bins);
      for (let i = 0; first && i * width < first.length; i++)
        sizes.set(first.subarray(i * width, (i + 1) * width), i * kind.bins);
      return sizes;
    };
    const held = run.live.buffers[name];
    for (const each of kind.series) {
      each.sizes = kind.room(each.sizes, old);
      each.last = Array.from(held[recordedName(each.name)] || []);
    }
    run.onAdded.push(() => {
      for (const each of kind.series) each.sizes = kind.room(each.sizes, kind.bins);
    });
    kind.filled = Math.floor(run.now_s / kind.bin_s);
  }
  // Between samples a buffer keeps its size. Whether there is a buffer now that was not known.
  run.takeBuffers = (t, buffers, changed) => {
    let isNew = false;
    for (const [name, kind] of Object.entries(run.buffers)) {
      const to = Math.min(kind.bins - 1, Math.floor(t / kind.bin_s)),
        count = name === "stations" ? run.stationCount : n;
      for (const buffer of Object.keys(buffers[name])) {
        const title = WORDS[buffer] || buffer;
        if (kind.series.some((each) => each.name === title)) continue;
        kind.series.push({ name: title, sizes: kind.room(null), last: [] });
        isNew = true;
      }
      for (const { name: title, sizes, last } of kind.series) {
        if (to > kind.filled)
          for (let i = 0; i < count; i++)
            sizes.fill(last[i] || 0, i * kind.bins + kind.filled + 1, i * kind.bins + to + 1);
        const news = changed[name][recordedName(title)];
        for (let k = 0; news && k < news.node.length; k++) {
          const first = news.node[k] * kind.bins,
            at = first + Math.min(kind.bins - 1, news.bin[k]);
          sizes[at] = Math.max(sizes[at], Math.min(65535, news.largest[k]));
          last[news.node[k]] = Math.min(65535, news.last[k]);
          sizes.fill(last[news.node[k]], at + 1, first + to + 1);
        }
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
    byHost = [];
  const makeRoom = () => {
    while (byHost.length < run.count) byHost.push({ time: [], message: [] });
  };
  makeRoom();
  run.onAdded.push(makeRoom);
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
    // a page that receives deliveries one by one does not compute what they follow
    Mobilenet.append(msg, { time: t, host, number: seq, picked: 1, before_unknown: -1 });
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
};
