// Colours that colour-blind eyes can distinguish (after Okabe and Ito), and the shapes of marks.
Mobilenet.INK = "#22303c";
Mobilenet.QUIET = "$QUIET";
Mobilenet.PAPER = "#f8f7f3";
Mobilenet.ALONE = "#9aa2a8";

// From the ninth station on hues come again, darker, then lighter (viz/style.py); a second mark in the dot shows it,
// too.
Mobilenet.HUES = 8;
Mobilenet.lookOf = (s) => (s < 0 ? 0 : Math.floor(s / Mobilenet.HUES) % 3);
Mobilenet.dot = (g, x, y, r, colour, look, edge = 1.4) => {
  // look 0: plain; 1: white centre; 2: dark edge
  Mobilenet.circle(g, x, y, r);
  g.fillStyle = colour;
  g.fill();
  Mobilenet.stroke(g, look === 2 ? Mobilenet.INK : "#fff", edge);
  if (look === 1) {
    Mobilenet.circle(g, x, y, Math.max(0.8, 0.36 * r));
    g.fillStyle = "#fff";
    g.fill();
  }
};

// Black or white, whatever can be read on this colour over white.
Mobilenet.readable = (hex, alpha = 1) => {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const v = (parseInt(hex.slice(i, i + 2), 16) * alpha + 255 * (1 - alpha)) / 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.33 ? Mobilenet.INK : "#fff";
};

Mobilenet.withAlpha = (hex, alpha) =>
  hex +
  Math.round(Math.max(0, Math.min(1, alpha)) * 255)
    .toString(16)
    .padStart(2, "0");

// From pale to dark, in one hue, so that it also reads in grey.
Mobilenet.RAMPS = {
  losses: [
    [255, 247, 224],
    [253, 208, 130],
    [236, 140, 50],
    [178, 76, 14],
    [102, 37, 6],
  ],
  power: [
    [236, 246, 243],
    [170, 214, 208],
    [94, 170, 176],
    [34, 116, 136],
    [8, 60, 88],
  ],
  delays: [
    [243, 240, 250],
    [201, 194, 228],
    [150, 136, 198],
    [102, 77, 160],
    [56, 25, 105],
  ],
};
Mobilenet.ramp = (name, share) => {
  const colours = Mobilenet.RAMPS[name],
    at = Math.max(0, Math.min(1, share)) * (colours.length - 1),
    i = Math.min(colours.length - 2, Math.floor(at));
  return "rgb(" + colours[i].map((v, k) => Math.round(v + (colours[i + 1][k] - v) * (at - i))).join(",") + ")";
};

// A small picture that is drawn once and then copied, which is many times faster than its paths.
Mobilenet.sprites = () => {
  const made = new Map();
  return (g, key, x, y, side, paint) => {
    let sprite = made.get(key);
    if (!sprite) {
      const canvas = document.createElement("canvas"),
        ratio = Math.min(2, window.devicePixelRatio || 1);
      canvas.width = canvas.height = side * ratio;
      const own = canvas.getContext("2d");
      own.scale(ratio, ratio);
      paint(own, side / 2, side / 2);
      made.set(key, (sprite = canvas));
    }
    g.drawImage(sprite, x - side / 2, y - side / 2, side, side);
  };
};

// Marks of events: a shape each, so that nothing hangs on colour. `left`, `right` colour the halves of a handoff.
Mobilenet.diamond = (half) => [
  [0, -half],
  [half, 0],
  [0, half],
  [-half, 0],
];
Mobilenet.SQUARE = [
  [-0.85, -0.85],
  [0.85, -0.85],
  [0.85, 0.85],
  [-0.85, 0.85],
];
Mobilenet.SHAPES = {
  recover: [
    [0, -1],
    [0.95, 0.75],
    [-0.95, 0.75],
  ],
  gap: Mobilenet.SQUARE,
  expire: Mobilenet.SQUARE,
  recovery: Mobilenet.diamond(1.1),
};
Mobilenet.mark = (g, kind, x, y, r, left, right) => {
  const { INK, SHAPES } = Mobilenet;
  g.lineWidth = 1.5;
  g.lineJoin = "round";
  g.lineCap = "round";
  g.strokeStyle = INK;
  g.fillStyle = "#fff";
  const path = (points) => {
    g.beginPath();
    for (const [a, b] of points) g.lineTo(x + a * r, y + b * r);
    g.closePath();
  };
  if (kind === "handoff") {
    for (const [side, colour] of [
      [-1.15, left],
      [1.15, right],
    ]) {
      path([
        [0, -1.15],
        [0, 1.15],
        [side, 0],
      ]);
      g.fillStyle = colour || "#fff";
      g.fill();
    }
    path(Mobilenet.diamond(1.15));
    Mobilenet.stroke(g, INK, 1.2);
  } else if (kind === "crash") {
    for (const [width, colour] of [
      [4.5, "#fff"],
      [2.4, INK],
    ])
      for (const rise of [0.8, -0.8])
        Mobilenet.line(g, x - 0.8 * r, y - rise * r, x + 0.8 * r, y + rise * r, colour, width);
  } else if (kind === "out_of_coverage" || kind === "in_coverage") {
    Mobilenet.circle(g, x, y, r * 0.9);
    g.fill();
    g.setLineDash(kind === "in_coverage" ? [] : [2.5, 2.5]);
    g.stroke();
    g.setLineDash([]);
    if (kind === "out_of_coverage") Mobilenet.line(g, x - 0.45 * r, y, x + 0.45 * r, y);
  } else {
    if (kind === "gap") g.fillStyle = INK;
    if (SHAPES[kind]) path(SHAPES[kind]);
    else Mobilenet.circle(g, x, y, r * 0.55);
    g.fill();
    g.stroke();
  }
};
