/* What is done by hand, on the time line: a letter and a colour for each kind, and words. */
const BY_HAND = {
  crash: ["C", "#22303c"],
  recover: ["R", "#22303c"],
  broadcast: ["B", "#8a6d00"],
  join: ["J", "#c2410c"],
  leave: ["L", "#c2410c"],
  drag: ["D", "#c2410c"],
  add: ["+", "#c2410c"],
  loss: ["%", "#7a4b9e"],
  interval: ["I", "#7a4b9e"],
  cut: ["X", "#1d4ed8"],
  mend: ["M", "#1d4ed8"],
  radio_off: ["F", "#0f766e"],
  radio_on: ["N", "#0f766e"],
  impair: ["W", "#7a4b9e"],
  impair_link: ["W", "#1d4ed8"],
};
/* A record may name anything. */
Mobilenet.markByHand = (what) => (Object.hasOwn(BY_HAND, what) ? BY_HAND[what] : ["", "#c2410c"]);
const percent = (share) => +(100 * share).toFixed(4) + " %";
/* What an impaired host or link has in addition. */
const impairment = ({ loss, delay_s }) =>
  [loss && "loss " + percent(loss), delay_s && "delay " + +(1000 * delay_s).toFixed(3) + " ms"]
    .filter(Boolean)
    .join(", ") || "none";
Mobilenet.sayImpairment = impairment;
/* An intervention in words. */
Mobilenet.sayByHand = (one) => {
  const whose = one.host || one.station || (one.link ? one.link.join("–") : ""),
    interval = one.interval_s === undefined ? undefined : one.interval_s + " s",
    value = one.delay_s !== undefined ? impairment(one) : one.loss === undefined ? interval : percent(one.loss),
    where = one.to_m ? " to " + one.to_m.map((v) => v.toFixed(0)).join(", ") : "";
  const words = one.do.replace("_", " ") + (whose ? " " + whose : ""),
    colon = one.delay_s === undefined ? " " : ": ";
  return words + (value === undefined ? "" : colon + value) + where;
};
