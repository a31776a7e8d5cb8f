// A run that goes on: what comes over the socket is added to the document, what is asked goes back.
Mobilenet.live = (app) => {
  const { run, clock } = app,
    live = {
      state: null,
      following: true,
      interventions: [],
      branches: [],
      branch: 0,
      jobs: [],
      arrows: [],
      arrowsFrom_s: 0, // before it the chosen host was not watched
      card: null,
      busy: null,
      isPartial: false, // not all deliveries were sent
      wholeHost: -1, // but all of this one's
      curves: Mobilenet.liveCurves(run),
    };
  Mobilenet.growMessages(run);
  const LETTER = { host: "h", station: "s" },
    nameOf = (what) => {
      if (what && what.kind === "handoff") return "h" + run.handoffs.host[what.id];
      return what && LETTER[what.kind] ? LETTER[what.kind] + what.id : null;
    },
    STORE = "mobilenet-live",
    takeNews = Mobilenet.liveNews(app, live);

  // --- what comes

  let stepsSaid = null, // the number of the last step reported
    endsKnown = NaN,
    shownFrom = 0,
    shownTo = 0,
    arrivedAt = 0,
    lasts = 50;
  const take = (state) => {
    const t = state.time_ns / 1e9,
      isFirst = !live.state;
    if (state.hosts.x_cm.length > run.count) run.addHosts(state.hosts.x_cm.length);
    if (!live.state || state.speed !== live.state.speed)
      live.ask({ command: "pace", states_per_s: state.speed <= 1 ? 10 : 20 }); // no more than there are pictures
    live.state = state;
    live.busy = null;
    run.takePlaces(t, state.hosts);
    const isNew = run.takeBuffers(t, state.buffers, state.buffer_bins);
    if (isNew && app.selected) select(app.selected); // its card has a chart of it
    app.boxes.higher(state.buffer_bins.stations.sbuffer?.largest ?? []);
    for (let k = 0; k < state.broadcasts.time_ns.length; k++)
      run.takeBroadcast(state.broadcasts.time_ns[k] / 1e9, state.broadcasts.message[k]);
    // From here on only the watched host's deliveries are sure to come; up to here all did.
    if (!live.isPartial && !state.deliveries.is_whole && state.card && state.card.node === nameOf(app.selected))
      live.wholeHost = app.followedHost();
    takeNews(state.events, state.deliveries);
    if (state.curves) live.curves.take(state.curves);
    run.now_s = t;
    if (t > run.end_s) run.end_s = t;
    if (state.interventions) {
      live.interventions = state.interventions;
      run.switches = live.interventions.filter((one) => one.link || one.station || one.do === "impair");
      live.branch = state.branch;
    }
    if (state.branches) live.branches = state.branches;
    if (state.jobs) live.jobs = state.jobs;
    live.card = state.card || null;
    if (state.arrows && live.card && live.card.node === nameOf(app.selected)) {
      // those in flight when another host was chosen are not this one's
      const a = state.arrows;
      for (let k = 0; k < a.sent_ns.length; k++)
        live.arrows.push(Object.fromEntries(Object.entries(a).map(([name, column]) => [name, column[k]])));
      const oldest = state.time_ns - 10e9; // the server keeps arrows for the same 10 s
      live.arrowsFrom_s = Math.max(state.arrows_from_ns, oldest) / 1e9;
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
      if (!Number.isNaN(endsKnown)) select(chosen); // its card shows how it went
    }
    // While time goes on the next picture shows it; interventions, and a beginning or an end, are shown at once.
    if (!clock.playing || !wasPlaying || state.interventions) app.redraw();
    const number = state.stepped ? state.stepped.number : 0;
    if (number > (stepsSaid ?? number)) sayStep(state.stepped);
    stepsSaid = number;
  };
  // How long a picture may stay: until a host has moved half a pixel, and rings of broadcasts are seen to grow. At
  // walking pace that is five a second; laying the canvases over each other is nearly all that a page costs.
  const LONGEST_MS = 200;
  live.pictureMs = () => {
    if (!live.following || run.fastest_mps === undefined) return 0;
    const pixels = run.fastest_mps * app.rate() * app.view.scaleAt(0);
    return Math.min(LONGEST_MS, Math.max(0, 500 / Math.max(pixels, 1)));
  };

  // Ask for the deliveries of a message that may not all have been sent, and again when time has gone on.
  // False: nothing has come yet.
  const learnt = new Map(),
    AGAIN_MS = 500;
  live.learn = (m) => {
    if (!live.isPartial) return true;
    const known = learnt.get(m) || { at_s: -1, asked: -Infinity, isAsked: false, isThere: false },
      since = performance.now() - known.asked;
    learnt.set(m, known);
    if (known.at_s >= run.now_s) return true;
    if (known.isAsked) return known.isThere;
    if (since <= AGAIN_MS) {
      if (!known.isWaiting) setTimeout(() => ((known.isWaiting = false), app.redraw()), AGAIN_MS - since);
      known.isWaiting = true;
    } else {
      known.asked = performance.now();
      known.isAsked = true;
      const at_s = run.now_s;
      live.ask({ command: "message", message: run.messages.label(m) }).then((reply) => {
        known.isAsked = false;
        if (reply.error) return;
        reply.host.forEach((h, i) => run.messages.deliveredAt(m).set(h, reply.time_ns[i] / 1e9));
        known.at_s = at_s;
        known.isThere = true;
        app.redraw();
      });
    }
    return known.isThere;
  };

  // --- what goes

  const waitingFor = new Map(),
    unsent = [], // until the connection is open
    BROKEN = { error: "the run has ended, or the connection is broken" },
    LONGEST_WAIT_MS = 30_000; // between two attempts to connect again
  let socket = null,
    serial = 0;
  live.ask = (command) =>
    new Promise((resolve) => {
      if (live.isBroken) {
        resolve(BROKEN);
        return;
      }
      waitingFor.set(++serial, resolve);
      const text = JSON.stringify({ ...command, id: serial });
      if (socket && socket.readyState === 1) socket.send(text);
      else unsent.push(text);
    });
  // Send a command; show its error, if any.
  live.tell = async (command) => {
    const reply = await live.ask(command);
    if (reply.error) app.say(reply.error);
    return reply;
  };
  const isBack = () => !live.following && !run.live.is_real_time;
  // In the past it happens there: another branch begins.
  live.touch = (what) => live.tell({ command: "do", what, ...(isBack() ? { back_to_s: clock.t } : {}) });
  // Go to the next of its kind, from the time shown. A host that begins or ends a handoff is chosen then; else
  // the selection stays.
  live.step = async (what) => {
    if (!live.following && (await live.tell({ command: "rewind", to_s: clock.t })).error) return;
    live.tell({ command: "step", what });
  };
  const sayStep = ({ what, event }) => {
    if (what === "frame") return;
    if (!event) {
      app.say("No more events of that kind: the run is over.");
      return;
    }
    const { event: name, node, message } = event;
    app.say(node + ": " + (Mobilenet.WORDS[name] || name.replace("_", " ")) + (message ? " " + message : ""));
    if (node[0] === "h" && (what === "handoff" || !app.selected))
      app.select({ kind: "host", id: Number(node.slice(1)) });
  };
  live.goOnFromHere = () => live.tell({ command: "rewind", to_s: clock.t });

  live.remember = (words) => {
    const center = app.map.getCenter(),
      kept = {
        center: [center.lat, center.lng],
        zoom: app.map.getZoom(),
        isWhole: app.refit(),
        layers: app.layers,
        selected: app.selected,
        steps: stepsSaid,
        words,
        dark: document.documentElement.classList.contains("mn-dark"),
      };
    sessionStorage.setItem(STORE, JSON.stringify(kept));
  };
  live.recall = () => {
    let kept = null;
    try {
      kept = JSON.parse(sessionStorage.getItem(STORE));
    } catch {
      kept = null;
    }
    sessionStorage.removeItem(STORE);
    if (!kept) return false;
    Object.assign(app.layers, kept.layers);
    app.dark(kept.dark);
    if (kept.words) app.say(kept.words);
    stepsSaid = kept.steps ?? null;
    if (kept.isWhole) app.fit();
    else app.map.setView(kept.center, kept.zoom, { animate: false });
    const counts = { host: run.count, station: run.stationCount };
    if (kept.selected && kept.selected.id < (counts[kept.selected.kind] || 0)) app.select(kept.selected);
    return true;
  };
  const again = (words) => {
    live.remember(words);
    location.reload();
  };

  live.connect = (wait_ms = 1000) => {
    socket = new WebSocket("ws://" + location.host + "/socket?token=" + encodeURIComponent(run.live.token));
    socket.onopen = () => {
      if (live.isBroken) {
        again("Connected again.");
        return;
      }
      const { generation, row, curves, sample } = run.live,
        bins_s = [run.buffers.stations.bin_s, run.buffers.hosts.bin_s];
      live.ask({ command: "since", generation, row, point_ns: curves.time_ns.at(-1) ?? -1, sample, bins_s });
      for (const text of unsent.splice(0)) socket.send(text);
    };
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.type === "state") take(message);
      else if (message.type === "end") live.kept = message.text;
      else if (message.type === "again") again("The run has gone back in time.");
      else if (message.type === "busy") {
        live.busy = message;
        app.redraw();
      } else if (waitingFor.has(message.id)) {
        waitingFor.get(message.id)(message);
        waitingFor.delete(message.id);
      }
    };
    socket.onclose = () => {
      live.isBroken = true;
      document.body.classList.add("mn-broken");
      live.jobs = live.jobs.map((job) =>
        job.state === "running" ? { ...job, state: "failed", text: "stopped, or not known" } : job,
      );
      if (live.kept === undefined)
        setTimeout(() => live.connect(Math.min(2 * wait_ms, LONGEST_WAIT_MS)), wait_ms);
      for (const resolve of waitingFor.values()) resolve(BROKEN);
      waitingFor.clear();
      clock.playing = false;
      app.redraw();
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
    const wasFollowing = live.following;
    live.following = t >= run.now_s - 1e-9;
    if (wasFollowing !== live.following && !run.live.is_real_time)
      live.ask({ command: "hold", on: wasFollowing }); // it waits meanwhile
    own.seek(t);
    clock.playing = live.following && Boolean(live.state && live.state.is_playing);
    if (live.following && live.state) clock.speed = live.state.speed;
  };
  live.toNow = () => clock.seek(run.now_s);
  const send = (command) => live.tell({ command });
  clock.play = () => {
    if (live.following) send("play");
    else own.play();
  };
  clock.pause = () => {
    if (live.following && live.state && live.state.is_playing) send("pause");
    else own.pause();
  };
  clock.at = (speed) => {
    own.at(speed); // when looking back it applies only to the picture
    if (live.following) live.tell({ command: "speed", speed });
  };
  const select = app.select;
  app.select = (what) => {
    const node = nameOf(what);
    live.arrows = [];
    live.arrowsFrom_s = run.now_s;
    live.card = null;
    live.wholeHost = -1;
    live.ask({ command: "watch", node, deliveries: live.isPartial }).then(({ delivered }) => {
      const host = app.followedHost();
      if (!delivered || app.selected !== what || host < 0) return;
      run.learnDeliveries(host, delivered);
      live.wholeHost = host;
      if (what.kind === "handoff") select(what); // its card can show more
      app.redraw();
    });
    select(what);
  };
  return live;
};
