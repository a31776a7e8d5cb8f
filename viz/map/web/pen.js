// What is drawn on every canvas. A colour or a width that is left out stays what it was.
Mobilenet.circle = (g, x, y, r) => {
  g.beginPath();
  g.arc(x, y, r, 0, 7);
};
Mobilenet.stroke = (g, colour, width) => {
  if (colour) g.strokeStyle = colour;
  if (width) g.lineWidth = width;
  g.stroke();
};
Mobilenet.ring = (g, x, y, r, colour, width) => {
  Mobilenet.circle(g, x, y, r);
  Mobilenet.stroke(g, colour, width);
};
Mobilenet.line = (g, x0, y0, x1, y1, colour, width) => {
  g.beginPath();
  g.moveTo(x0, y0);
  g.lineTo(x1, y1);
  Mobilenet.stroke(g, colour, width);
};
Mobilenet.box = (g, x, y, width, height, radius) => {
  g.beginPath();
  if (g.roundRect) g.roundRect(x, y, width, height, radius);
  else g.rect(x, y, width, height);
};
Mobilenet.text = (g, words, x, y, align = "left", colour = Mobilenet.QUIET, font = "10px") => {
  g.font = font + " system-ui, sans-serif";
  g.textAlign = align;
  g.textBaseline = "alphabetic";
  g.fillStyle = colour;
  g.fillText(words, x, y);
};
// Readable on whatever is below it.
Mobilenet.drawWithHalo = (g, words, x, y, align, font) => {
  g.font = font + " system-ui, sans-serif";
  g.textAlign = align;
  g.textBaseline = "middle";
  g.lineJoin = "round";
  g.lineWidth = 3;
  g.strokeStyle = "rgba(255,255,255,.9)";
  g.strokeText(words, x, y);
  g.fillStyle = Mobilenet.INK;
  g.fillText(words, x, y);
};
