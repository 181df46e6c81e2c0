"use strict";
// Mouse, finger, wheel and keys.

const REACH = 9, DRAG = 3;

class Hands {
  constructor(app, canvas, brush) {
    Object.assign(this, {app, canvas, brush, pointers: new Map(), drag: null});
    const on = (name, act) => canvas.addEventListener(name, act, {passive: false});
    on("pointerdown", (event) => this.down(event));
    on("pointermove", (event) => this.move(event));
    on("pointerup", (event) => this.up(event));
    on("pointercancel", (event) => this.up(event));
    on("pointerleave", () => { if (!this.drag) app.point(-1, null); });
    on("wheel", (event) => this.wheel(event));
    document.addEventListener("keydown", (event) => this.key(event));
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect(), {unit} = this.app.picture;
    return {x: (event.clientX - box.left) / unit, y: (event.clientY - box.top) / unit};
  }

  down(event) {
    const at = this.place(event), {view} = this.app;
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, at);
    const kind = at.y > view.height - OVERVIEW ? "overview" : event.shiftKey ? "brush" : "pan";
    this.drag = {kind, start: at, last: at, moved: false};
    if (this.pointers.size === 2) this.drag.kind = "pinch";
  }

  move(event) {
    const at = this.place(event), {app, drag} = this, {view} = app;
    if (!drag) { app.point(this.messageAt(at), at); return; }
    const before = this.pointers.get(event.pointerId);
    this.pointers.set(event.pointerId, at);
    if (Math.hypot(at.x - drag.start.x, at.y - drag.start.y) > DRAG) drag.moved = true;
    if (!drag.moved || !before) return;
    this.canvas.classList.add("dragging");
    if (drag.kind === "pinch") this.pinch(event.pointerId, before, at);
    else if (drag.kind === "pan") view.pan(before.x - at.x, before.y - at.y);
    else if (drag.kind === "overview") view.span(...this.spanOf(drag.start, at, (x) => overviewTime(view, x)));
    else this.showBrush(drag.start, at);
    app.moved();
  }

  up(event) {
    const at = this.place(event), {app, drag} = this, {view} = app;
    this.pointers.delete(event.pointerId);
    this.canvas.classList.remove("dragging");
    this.brush.hidden = true;
    if (!drag || this.pointers.size) return;
    this.drag = null;
    if (drag.kind === "brush" && drag.moved) view.span(...this.spanOf(drag.start, at, (x) => view.timeAt(x)));
    else if (drag.kind === "overview" && !drag.moved) {
      const half = (view.until - view.from) / 2, middle = overviewTime(view, at.x);
      view.span(middle - half, middle + half);
    } else if (!drag.moved) app.clickAt(this.messageAt(at), this.eventAt(at));
    app.redraw();
  }

  spanOf(start, at, timeAt) {
    const times = [timeAt(start.x), timeAt(at.x)];
    return [Math.min(...times), Math.max(...times)];
  }

  pinch(moving, before, at) {
    const other = [...this.pointers.entries()].find(([id]) => id !== moving)[1];
    const apart = (point) => Math.max(20, Math.hypot(point.x - other.x, point.y - other.y));
    this.app.view.zoom(apart(before) / apart(at), (at.x + other.x) / 2);
  }

  showBrush(start, at) {
    this.brush.hidden = false;
    const {unit} = this.app.picture;
    this.brush.style.left = `${unit * Math.min(start.x, at.x)}px`;
    this.brush.style.width = `${unit * Math.abs(start.x - at.x)}px`;
  }

  wheel(event) {
    event.preventDefault();
    const at = this.place(event), {view} = this.app, turn = event.deltaY || event.deltaX;
    if (event.shiftKey) view.zoomLanes(Math.exp(-turn / 400), at.y);
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.pan(event.deltaX, 0);
    else view.zoom(Math.exp(turn / 400), at.x);
    this.app.moved();
  }

  // The event under the pointer: of its lane, the nearest within reach; -1 if none.
  eventAt({x, y}) {
    const {run, view} = this.app, process = view.laneAt(y);
    if (process === null || x < view.gutter) return -1;
    const [first, last] = [run.eventOffsets[process], run.eventOffsets[process + 1]];
    const near = lowerBound(run.time, view.timeAt(x - REACH), first, last);
    let best = -1, least = REACH;
    for (let e = near; e < last; e++) {
      const distance = Math.abs(view.x(run.time[e]) - x);
      if (view.x(run.time[e]) > x + REACH) break;
      if (distance < least && view.isShown(e)) { best = e; least = distance; }
    }
    return Math.abs(view.y(process) - y) <= Math.max(REACH, view.laneHeight / 4) ? best : -1;
  }

  messageAt(at) {
    const event = this.eventAt(at);
    if (event >= 0) return this.app.run.eventMessage[event];
    let best = -1, least = 5;
    for (const arrow of this.app.picture.arrows) {
      const distance = distanceTo(arrow, at);
      if (distance < least) { best = arrow.message; least = distance; }
    }
    return best;
  }

  key(event) {
    const {app} = this, {view} = app;
    if (event.ctrlKey || event.metaKey || event.altKey || !app.run) return;
    if (/^(INPUT|SELECT)$/.test(event.target.tagName)) { if (event.key === "Escape") this.canvas.focus(); return; }
    const far = view.plotWidth / 8;
    const keys = {
      ArrowLeft: () => view.pan(-far, 0), ArrowRight: () => view.pan(far, 0),
      ArrowUp: () => view.pan(0, -view.laneHeight), ArrowDown: () => view.pan(0, view.laneHeight),
      "+": () => view.zoom(0.7), "=": () => view.zoom(0.7), "-": () => view.zoom(1 / 0.7), 0: () => view.fit(),
      n: () => app.accuseNext(1), p: () => app.accuseNext(-1), j: () => app.walk(1), k: () => app.walk(-1),
      t: () => app.setLogical(!app.run.logical), f: () => app.toggleFilters(), s: () => app.toggleStepping(),
      ".": () => app.stepBy(1), ",": () => app.stepBy(-1), "/": () => app.elements.search.focus(),
      "?": () => app.elements.legend.showModal(), Escape: () => app.choose(-1),
    };
    const act = keys[event.key] || keys[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
    app.redraw();
  }
}

function distanceTo({x1, y1, x2, y2}, {x, y}) {
  const length = (x2 - x1) ** 2 + (y2 - y1) ** 2 || 1;
  const along = Math.max(0, Math.min(1, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length));
  return Math.hypot(x - x1 - along * (x2 - x1), y - y1 - along * (y2 - y1));
}
