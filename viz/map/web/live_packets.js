// Packets of real software in a live run: the connections on the card of a node, and arrows on the map.
Mobilenet.livePackets = (app) => {
  const { run, live } = app,
    { el, row, heading, note, pluralize, duration } = app.parts,
    RECENT_NS = 0.7e9, // arrows on the map stay for that long
    WORDS = { opening: "being opened", open: "open", closing: "being closed", closed: "closed", reset: "reset" };
  const bytes = (n) => {
    for (const [unit, size] of [["MB", 1e6], ["kB", 1e3]])
      if (n >= size) return (n / size).toFixed(n >= 10 * size ? 0 : 1) + " " + unit;
    return Math.round(n) + " B";
  };
  const share = (part, whole) => ((100 * part) / Math.max(1, whole)).toFixed(part && part < whole / 100 ? 2 : 1) + " %";

  // --- on a card

  const ends = (one) => (one.port ? ` ${one.port} ↔ ${one.peer}:${one.peer_port}` : " ↔ " + one.peer);
  const line = (one) => {
    const isTcp = one.state !== "",
      isOver = one.state === "closed" || one.state === "reset",
      what = isTcp ? WORDS[one.state] : `${one.sent_packets} out, ${one.received_packets} in`,
      parts = [];
    if (!isOver && one.quiet_s < 10)
      parts.push(`sends ${bytes(one.sent_per_s)}/s, receives ${bytes(one.received_per_s)}/s`);
    else if (!isOver) parts.push("quiet for " + duration(one.quiet_s));
    parts.push(`in all ${bytes(one.sent_bytes)} and ${bytes(one.received_bytes)}`);
    if (one.sent_again_bytes) parts.push("sent again " + share(one.sent_again_bytes, one.sent_in_all_bytes));
    if (one.received_again_bytes)
      parts.push("received again " + share(one.received_again_bytes, one.received_bytes + one.received_again_bytes));
    if (one.round_trip_s) parts.push("round trip " + duration(one.round_trip_s));
    if (one.longest_stall_s > 0.2) parts.push("longest stall " + duration(one.longest_stall_s));
    const waits = !isOver && one.waits_s > 0.2 ? el("p.mn-stall", "no progress for " + duration(one.waits_s)) : "";
    return el("div.mn-connection", row(one.protocol + ends(one), what), note(parts.join("; ")), waits);
  };
  // What the card of a node shows of its packets.
  const section = (name) => {
    const hasCapture = run.live.has_packets && (name[0] === "h" || run.live.station_programs.includes(name)),
      inside = el("div"),
      box = hasCapture ? el("div", heading("Connections"), capture(name), inside) : el("div");
    const update = (packets) => {
      if (!packets) {
        inside.replaceChildren(note("Connections are known only for the current moment of the run."));
        return;
      }
      const missing = packets.sent - packets.arrived,
        left = packets.connections - packets.latest.length;
      inside.replaceChildren(
        row("Address", packets.address),
        row("Packets sent, arrived", packets.sent + ", " + packets.arrived),
        row("Lost, or on their way", missing + " (" + share(missing, packets.sent) + ")"),
        row("Packets received", String(packets.received)),
        ...packets.latest.map(line),
        packets.latest.length ? "" : note("No packets yet."),
        left > 0 ? note(pluralize(left, "older connection") + " not shown.") : "",
      );
    };
    return { box, update };
  };
  // A link to the packets of a node so far.
  const capture = (name) => {
    const link = el(
      "a.mn-action",
      {
        href: `/capture/${name}.pcap?token=${encodeURIComponent(run.live.token)}`,
        download: name + ".pcap",
        title: "The packets of this node so far, for Wireshark or tshark",
      },
      "Download the capture",
    );
    return link;
  };

  // --- on the map: the latest packets of the selected host, from node to node

  const place = (node) => {
    const i = Number(node.slice(1));
    if (node[0] === "h") return app.field.pixels(i);
    if (i >= run.stationCount) return null;
    const p = app.stationPoint(i);
    return [p.x, p.y];
  };
  const draw = (g) => {
    if (!run.live.has_packets || !live.following || !live.arrows.length || !app.isSelected("host")) return;
    const now_ns = app.clock.t * 1e9,
      latest = new Map();
    for (let k = live.arrows.length - 1; k >= 0; k--) {
      const arrow = live.arrows[k];
      if (arrow.sent_ns < now_ns - RECENT_NS) break;
      const key = arrow.sender + " " + arrow.receiver;
      if (arrow.label && arrow.sent_ns <= now_ns && !latest.has(key)) latest.set(key, arrow);
    }
    const labelled = new Set(); // one label for each direction, that of the newest
    for (const arrow of latest.values()) {
      const from = place(arrow.sender),
        to = place(arrow.receiver);
      if (!from || !to) continue;
      const long = Math.hypot(to[0] - from[0], to[1] - from[1]);
      if (long < 24) continue;
      const ux = (to[0] - from[0]) / long,
        uy = (to[1] - from[1]) / long,
        at = (along, side) => [from[0] + ux * along - uy * side, from[1] + uy * along + ux * side],
        colour = arrow.outcome === "received" ? "#0072B2" : "#c0392b",
        end = at(long - 9, 5); // next to the line, so that both directions are seen
      Mobilenet.line(g, ...at(9, 5), ...end, colour, 1.6);
      g.fillStyle = colour;
      g.beginPath();
      g.moveTo(...end);
      g.lineTo(...at(long - 17, 9));
      g.lineTo(...at(long - 17, 1));
      g.fill();
      if (arrow.sender[0] === arrow.receiver[0] || labelled.has(arrow.sender[0])) continue; // wires have the same
      labelled.add(arrow.sender[0]);
      const [x, y] = at(long / 2, 5);
      g.font = "600 11px system-ui, sans-serif";
      const width = g.measureText(arrow.label).width,
        below = ux >= 0 ? 14 : -8; // each direction on its own side of the line
      g.fillStyle = "rgba(255,255,255,.85)";
      g.fillRect(x - width / 2 - 3, y + below - 10, width + 6, 14);
      g.fillStyle = colour;
      g.textAlign = "center";
      g.textBaseline = "alphabetic";
      g.fillText(arrow.label, x, y + below);
    }
  };
  return { section, draw };
};
