// Navigation: to a moment, to a host, to the whole field.
Mobilenet.travel = (app, panels) => {
  const { run, map, view } = app,
    host = map.getContainer(),
    frame = { left: 0, right: 0 }; // what the panels cover
  app.followedHost = () =>
    app.isSelected("host") ? app.selected.id : app.isSelected("handoff") ? run.handoffs.host[app.selected.id] : -1;
  app.follow = (on) => {
    app.following = on && app.followedHost() >= 0;
    app.redraw();
    panels.update(0, true);
  };
  app.closer = (h, t) => {
    const p = run.lastPlace(h, t),
      z =
        map.getZoom() +
        Math.log2(Math.max(1, 1.1 / (view.scaleAt(p.y) / (host.clientHeight / (run.range_m * 3.2))) / 1.1));
    map.setView(view.latLng(p.x, p.y), Math.max(map.getZoom(), z), { animate: false });
  };
  // The first moment with something to see: a host is there, and something has just happened, an event or a
  // broadcast; long enough ago that the ring of a broadcast is wider than its host, and the first deliveries are there.
  app.opening = () => {
    const JUST_S = 0.15;
    let there = run.end_s;
    for (let h = 0; h < run.count; h++)
      if (run.tracks.count[h]) there = Math.min(there, run.moments[run.momentOf(h, 0)]);
    if (there >= run.end_s) return 0;
    const mark = app.marks.next(there - 1e-9, 1),
      sent = run.messages.time[Mobilenet.upTo(run.messages.time, there - 1e-9)],
      first = Math.min(mark?.t ?? Infinity, sent ?? Infinity);
    return first === Infinity ? there : Math.min(run.end_s, first + JUST_S);
  };
  app.jump = (step, kind) => {
    const item = app.marks.next(app.clock.t, step, kind);
    if (!item) {
      app.say("No " + (step > 0 ? "later" : "earlier") + " event in the layers that are shown.");
      return;
    }
    app.clock.pause();
    app.clock.seek(item.t);
    if (item.handoff !== undefined) app.cards.openHandoff(item.handoff);
    else app.cards.openEvent(item.event);
    app.intoView(item);
  };
  app.another = (kind, step) => {
    // the next or previous host that is here, or station
    const count = kind === "host" ? run.count : run.stationCount,
      t = app.clock.t,
      place = (i) => (kind === "host" ? run.place(i, t) : { x: run.stations.x_m[i], y: run.stations.y_m[i] });
    let id = app.isSelected(kind) ? app.selected.id : step > 0 ? -1 : count;
    for (let tried = 0; tried < count; tried++) {
      id = (id + step + count) % count;
      const p = place(id);
      if (p) {
        const at = { x: p.x, y: p.y };
        app.select({ kind, id });
        app.intoView(at);
        return;
      }
    }
    app.say("No " + kind + " is here now.");
  };
  app.intoView = (item) => {
    const wide = host.clientWidth > 900,
      top = wide ? 0 : panels.left.offsetTop + panels.left.offsetHeight,
      bottom = wide ? app.size.height : panels.right.offsetTop; // narrow: panels above and below
    const p = view.point(item.x, item.y),
      inside = p.x > frame.left && p.x < app.size.width - frame.right && p.y > top + 20 && p.y < bottom - 20;
    if (inside || Number.isNaN(item.x)) return;
    map.panTo(view.latLng(item.x, item.y), { animate: false });
    map.panBy([0, (app.size.height - top - bottom) / 2], { animate: false });
  };

  // A view that is still as it was fitted is fitted again when panels take another place. Returns whether it is.
  let fitted = null,
    highest = 0; // the left panel, when the view was fitted
  // To the pixel: Leaflet rounds the centre when the window changes its size.
  const isAsFitted = ({ zoom, center }) =>
    map.getZoom() === zoom && map.latLngToContainerPoint(center).distanceTo(map.getSize().divideBy(2)) < 2;
  app.refit = () => {
    const isFitted = fitted !== null && !app.following && isAsFitted(fitted);
    if (isFitted) app.fit();
    return isFitted;
  };
  // Where there is little room, the left panel must not grow over the field.
  new ResizeObserver(() => {
    if (host.clientWidth <= 900 && panels.left.offsetHeight > highest) app.refit();
  }).observe(panels.left);
  app.coversBelow = () => 0;
  app.isRoomy = true; // whether panels left room for all of the map when it was fitted
  app.fit = () => {
    const [[w, s], [e, n]] = app.bounds,
      wide = host.clientWidth > 900;
    frame.left = wide ? panels.left.offsetWidth + 24 : 12;
    frame.right = wide ? panels.right.offsetWidth + 24 : 12;
    const top = wide ? 14 : panels.left.offsetHeight + 16,
      bottom = wide ? 14 + app.coversBelow() : panels.right.offsetHeight + 44,
      roomy = top + bottom < host.clientHeight - 160; // else panels cover the map, but it can be read
    app.following = false;
    app.isRoomy = roomy;
    highest = panels.left.offsetHeight;
    map.fitBounds([view.latLng(w, s), view.latLng(e, n)], {
      paddingTopLeft: [frame.left, roomy ? top : 14],
      paddingBottomRight: [frame.right, roomy ? bottom : 14],
      animate: false,
    });
    fitted = { zoom: map.getZoom(), center: map.getCenter() };
  };
  // A followed host stays in the middle.
  app.goAlong = (t) => {
    const h = app.following ? app.followedHost() : -1,
      place = h >= 0 ? run.place(h, t) : null;
    if (!place) return;
    view.renew();
    const { width, height } = app.size,
      p = view.point(place.x, place.y),
      dx = p.x - (frame.left + (width - frame.left - frame.right) / 2),
      dy = p.y - height / 2;
    if (Math.abs(dx) + Math.abs(dy) > 1) map.panBy([dx, dy], { animate: false, noMoveStart: true });
  };
};
