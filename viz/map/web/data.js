// The document of a run, decoded: columns become typed arrays, moments become seconds.
const Mobilenet = {};
Mobilenet.TYPES = {
  u8: Uint8Array,
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  f32: Float32Array,
  f64: Float64Array,
};

Mobilenet.column = (packed) => {
  const text = atob(packed.data),
    bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new Mobilenet.TYPES[packed.type](bytes.buffer);
};

// Every {type, data} in a tree becomes an array.
Mobilenet.decode = (value) => {
  if (Array.isArray(value) || value === null || typeof value !== "object") return value;
  if (typeof value.type === "string" && typeof value.data === "string" && value.type in Mobilenet.TYPES)
    return Mobilenet.column(value);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, Mobilenet.decode(inner)]));
};

Mobilenet.seconds = (column) => Float64Array.from(column, (ns) => (ns < 0 ? NaN : ns / 1e9));

// How many of the first entries of a sorted array are at most `value`.
Mobilenet.upTo = (sorted, value, low = 0, high = sorted.length) => {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
};

Mobilenet.read = (text) => {
  const run = Mobilenet.decode(JSON.parse(text));
  const { upTo, seconds } = Mobilenet;
  for (const kind of Object.values(run.buffers))
    kind.series = kind.names.map((name, k) => ({ name, sizes: Mobilenet.column(kind.sizes[k]) }));
  run.now_s = run.live ? run.live.now_ns / 1e9 : run.end_s; // nothing later is known
  run.count = run.hosts.number.length;
  run.stationCount = run.stations.x_m.length;
  run.onAdded = []; // what keeps something of each host makes room for more of them
  run.addHosts = (count) => {
    for (const list of ["number", "names"]) run.hosts[list] = Array.from(run.hosts[list]);
    for (let h = run.count; h < count; h++) run.hosts.number.push(h);
    run.count = count;
    for (const makeRoom of run.onAdded) makeRoom();
  };
  run.moments = seconds(run.moments_ns);
  run.hostLabel = (h) => (h < 0 || h >= run.count ? "?" : "h" + run.hosts.number[h]);
  run.hostName = (h) => run.hosts.names[h] || "";
  run.stationLabel = (s) => (s < 0 ? "none" : "s" + s);
  run.stationName = (s) => run.stations.names[s] || "";
  // One name everywhere, that of the record; where there is room, the name in the imported file follows it.
  run.hostInFull = (h) => run.hostLabel(h) + (run.hostName(h) ? " (" + run.hostName(h) + ")" : "");
  run.stationInFull = (s) => run.stationLabel(s) + (run.stationName(s) ? " (" + run.stationName(s) + ")" : "");

  const tracks = run.tracks,
    starts = new Int32Array(run.count),
    x = new Int32Array(tracks.x_cm.length),
    y = new Int32Array(x.length);
  for (let h = 0, at = 0, known = 0; h < run.count; h++) {
    starts[h] = at;
    if (!tracks.count[h]) continue;
    x[at] = tracks.x_cm_start[known];
    y[at] = tracks.y_cm_start[known++];
    for (let i = at + 1; i < at + tracks.count[h]; i++) {
      x[i] = x[i - 1] + tracks.x_cm[i];
      y[i] = y[i - 1] + tracks.y_cm[i];
    }
    at += tracks.count[h];
  }
  // In centimetres, the i-th place of a host.
  run.xAt = (h, i) => x[starts[h] + i];
  run.yAt = (h, i) => y[starts[h] + i];
  run.placeBefore = (i) => i - 1;
  run.starts = starts;
  run.x_cm = x;
  run.y_cm = y;
  const apart = tracks.interval_ns / 1e9,
    last = run.moments.length - 1;
  let cachedTime = NaN,
    cachedMoment = -1;
  const momentUpTo = (t) => {
    if (t !== cachedTime) {
      cachedTime = t;
      cachedMoment = upTo(run.moments, t) - 1;
    }
    return cachedMoment;
  };
  const place = { x: 0, y: 0 };
  const put = (at, next = at, share = 0) => {
    place.x = (x[at] + (x[next] - x[at]) * share) / 100;
    place.y = (y[at] + (y[next] - y[at]) * share) / 100;
    return place;
  };
  run.momentOf = (h, i) => (tracks.moment ? tracks.moment[starts[h] + i] : tracks.first[h] + i);
  run.indexAt = (h, t) => {
    // the last of its places at or before t; -1 before the first
    const moment = momentUpTo(t),
      count = tracks.count[h];
    if (!tracks.moment) return Math.min(count - 1, moment - tracks.first[h]);
    return upTo(tracks.moment, moment, starts[h], starts[h] + count) - starts[h] - 1;
  };
  // Where a host is, in metres; null while it is not there. The same object each time.
  run.place = (h, t) => {
    const i = run.indexAt(h, t);
    if (i < 0) return null;
    const at = starts[h] + i,
      moment = run.momentOf(h, i),
      since = t - run.moments[moment];
    if (i + 1 >= tracks.count[h]) return moment < last && since > apart ? null : put(at);
    const step = run.moments[run.momentOf(h, i + 1)] - run.moments[moment];
    if (step > 3.5 * apart) return since > apart ? null : put(at);
    return put(at, at + 1, since / step);
  };
  // Where it was, even if it is gone by now: for marks.
  run.lastPlace = (h, t) => {
    const position = run.place(h, t);
    if (position || h < 0 || !tracks.count[h]) return position;
    return put(starts[h] + Math.max(0, run.indexAt(h, t)));
  };

  run.events.time = seconds(run.events.time_ns);
  const hand = run.handoffs;
  for (const name of ["start", "end", "last_before", "first_after"]) hand[name] = seconds(hand[name + "_ns"]);
  hand.count = hand.start.length;
  run.messages.time = seconds(run.messages.time_ns);
  run.messages.count = run.messages.time.length;
  run.losses.time = seconds(run.losses.time_ns);
  return run;
};
