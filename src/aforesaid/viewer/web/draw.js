"use strict";
// The picture: lanes, messages, what was pointed at, what went wrong. Shapes tell what colours tell: a saying is
// a disc, a delivery a ring, a violation a cross in a box; the past is dashed, the future is solid and heavy.

const DETAIL_EVENTS = 2500, ARROWHEADS_MAX = 700, DIM = 0.16;
// While the picture moves, some arrows stand for all: the same ones from frame to frame.
const MOVING_ARROWS_MAX = 300;
const DASHES = {[PAST]: [5, 3]};

class Picture {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", {alpha: false});
    this.density = new Density();
    this.arrows = [];
    this.stamps = new Map();
    this.frames = 0;
  }

  resize(view) {
    this.stamps.clear();
    const {clientWidth: width, clientHeight: height} = this.canvas, sharp = window.devicePixelRatio || 1;
    // On a large screen letters are larger, and all else with them.
    this.unit = parseFloat(getComputedStyle(document.body).fontSize) / 14;
    this.scale = sharp * this.unit;
    this.canvas.width = Math.round(width * sharp);
    this.canvas.height = Math.round(height * sharp);
    view.resize(width / this.unit, height / this.unit);
  }

  // What is seen: the view, the look, a cone to light up, a violation to point out, a moment to stop at.
  draw(state) {
    const {context, scale} = this, {view, look} = state;
    this.state = state;
    this.frames++;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = look.paper;
    context.fillRect(0, 0, view.width, view.height);
    this.detailed = this.isDetailed(view);
    if (!this.detailed) this.density.draw(context, state, scale);
    this.clipped(() => {
      this.drawLifelines();
      drawFaults(context, state);
      if (state.cone && this.detailed) this.drawCone();
      if (this.detailed) this.drawMessages(); else this.arrows = [];
      if (state.cone) this.drawFocus();
      this.drawViolations();
      if (state.moment !== null) this.drawMoment();
    });
    this.drawAxis();
    this.drawLabels();
    drawOverview(context, state);
  }

  isDetailed(view) {
    if (view.laneHeight < 9) return false;
    let count = 0;
    for (const process of view.visibleLanes()) {
      const [first, last] = view.eventsOf(process);
      count += last - first;
    }
    return count <= DETAIL_EVENTS;
  }

  clipped(draw) {
    const {context, state: {view}} = this;
    context.save();
    context.beginPath();
    context.rect(view.gutter, AXIS, view.plotWidth, view.plotHeight);
    context.clip();
    draw();
    context.restore();
  }

  drawLifelines() {
    const {context, state: {run, view, look}} = this, {began, fate} = run.processes;
    context.lineWidth = 1;
    context.font = `11px ${look.font}`;
    context.textBaseline = "middle";
    for (const process of view.visibleLanes()) {
      const y = Math.round(view.y(process)) + 0.5;
      const known = !run.logical && began[process] !== null;
      const first = known ? momentOn(this.state, process, began[process]) : view.gutter;
      const stop = this.endOf(process);
      context.strokeStyle = look.faint;
      line(context, Math.max(first, view.gutter), y, stop === null ? view.width : stop, y);
      if (stop === null || view.laneHeight < 9) continue;
      context.strokeStyle = context.fillStyle = look.bad;
      context.lineWidth = 2;
      cross(context, stop, y, 4);
      context.lineWidth = 1;
      context.textAlign = "left";
      context.fillText(fate[process], stop + 8, y);
    }
  }

  // Where a lifeline stops; null if the process was there to the end. Who was killed does not say when.
  endOf(process) {
    const {run, view} = this.state, ended = run.processes.ended[process];
    if (run.processes.fate[process] === "alive") return null;
    if (ended !== null && !run.logical) return momentOn(this.state, process, ended);
    const last = run.eventOffsets[process + 1] - 1;
    return last < run.eventOffsets[process] ? view.gutter : view.x(run.time[last]) + 10;
  }

  // On each lane, the part that came before the message and the part that came after it.
  drawCone() {
    const {context, state: {run, view, look, cone}} = this, half = Math.min(16, view.laneHeight * 0.42);
    for (const process of view.visibleLanes()) {
      const y = view.y(process), [first, last] = [run.eventOffsets[process], run.eventOffsets[process + 1]];
      const past = cone.past[process], future = cone.future[process];
      context.globalAlpha = 0.17;
      if (past > first) {
        const x = view.x(run.time[past - 1]) + 5;
        context.fillStyle = look.past;
        context.fillRect(view.gutter, y - half, x - view.gutter, 2 * half);
      }
      if (future < last) {
        const x = view.x(run.time[future]) - 5;
        context.fillStyle = look.future;
        context.fillRect(x, y - half, view.width - x, 2 * half);
      }
      context.globalAlpha = 1;
    }
  }

  drawMessages() {
    const {view, moving} = this.state;
    this.arrows = this.arrowsInView();
    this.drawArrows();
    if (!moving && this.arrows.length <= ARROWHEADS_MAX) this.drawArrowheads();
    this.drawWaits();
    for (const process of view.visibleLanes()) this.drawEvents(process);
  }

  // Line by line: a canvas without a graphics card takes ten times as long for one path of many lines.
  drawArrows() {
    const {context, state: {look, cone}} = this;
    let styled = null;
    for (const {key, x1, y1, x2, y2} of this.arrows) {
      if (key !== styled) {
        styled = key;
        context.setLineDash(cone && DASHES[key] || []);
        context.lineWidth = cone && key === FUTURE ? 1.6 : 1.2;
        context.strokeStyle = cone ? this.colourOf(key) : look.origin(key);
        context.globalAlpha = cone && key === CONCURRENT ? DIM : 0.5;
      }
      line(context, x1, y1, x2, y2);
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  // The arrows in view, by colour; kept, so that they can be pointed at.
  arrowsInView() {
    const {run, view} = this.state, arrows = [];
    if (!view.shown.delivered) return arrows;
    for (const process of view.visibleLanes()) {
      const [first, last] = view.eventsOf(process);
      for (let e = first; e < last; e++) {
        const message = run.eventMessage[e];
        if (view.only && !view.only[message]) continue;
        if (run.eventKind[e] === DELIVERED) this.addArrow(arrows, message, process, e);
        else {
          for (const d of run.deliveriesOfMessage(message)) {
            const there = run.deliveryEvent[d];
            if (run.time[there] >= view.until) this.addArrow(arrows, message, run.deliveryProcess[d], there);
          }
        }
      }
    }
    const share = this.state.moving ? Math.ceil(arrows.length / MOVING_ARROWS_MAX) : 1;
    const kept = share > 1 ? arrows.filter(({message, y2}) => (message + Math.round(y2)) % share === 0) : arrows;
    return kept.sort((a, b) => a.key - b.key);
  }

  addArrow(arrows, message, process, event) {
    const {run, view, cone} = this.state, said = run.saidEvent[message], origin = run.origin[message];
    if (said < 0 || origin === process) return;
    const y1 = view.y(origin), y2 = view.y(process);
    if (y1 === null || y2 === null) return;
    const x1 = view.x(run.time[said]), x2 = view.x(this.arrival(event));
    arrows.push({message, x1, y1, x2, y2, key: cone ? cone.relation(message) : origin % ORIGIN_COLOURS});
  }

  // When a message reached a process: its receipt where there is one, and else its delivery.
  arrival(event) {
    const {run} = this.state;
    if (run.logical || !run.waiting.known) return run.time[event];
    const delivery = run.eventDelivery[event];
    return run.time[event] - run.waiting.waited(delivery);
  }

  drawArrowheads() {
    const {context, state: {look, cone}} = this;
    for (const {x1, y1, x2, y2, key} of this.arrows) {
      const angle = Math.atan2(y2 - y1, x2 - x1), x = x2 - 4 * Math.cos(angle), y = y2 - 4 * Math.sin(angle);
      context.globalAlpha = cone && key === CONCURRENT ? DIM : 0.7;
      context.fillStyle = cone ? this.colourOf(key) : look.origin(key);
      context.beginPath();
      context.moveTo(x, y);
      for (const turn of [2.75, -2.75]) context.lineTo(x + 7 * Math.cos(angle + turn), y + 7 * Math.sin(angle + turn));
      context.fill();
    }
    context.globalAlpha = 1;
  }

  // A bar from where a message came to where it was delivered.
  drawWaits() {
    const {context, state: {run, view, look, cone}} = this;
    if (!run.waiting.known || run.logical || !view.shown.waiting) return;
    const height = Math.min(7, view.laneHeight / 4);
    context.fillStyle = look.waiting;
    for (const process of view.visibleLanes()) {
      const [first, last] = view.eventsOf(process), y = view.y(process) - height / 2;
      for (let e = first; e < last; e++) {
        if (run.eventKind[e] !== DELIVERED || !view.isShown(e)) continue;
        const from = view.x(this.arrival(e)), until = view.x(run.time[e]);
        if (until - from < 1) continue;
        context.globalAlpha = cone && cone.relation(run.eventMessage[e]) === CONCURRENT ? DIM : 0.5;
        context.fillRect(from, y, until - from, height);
        context.fillRect(from, y - 2, 1.5, height + 4);
      }
    }
    context.globalAlpha = 1;
  }

  drawEvents(process) {
    const {context, state: {run, view, look, cone}} = this, y = view.y(process);
    const [first, last] = view.eventsOf(process), size = Math.min(5, view.laneHeight / 4);
    let labelled = -Infinity;
    context.font = `11px ${look.font}`;
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    // What was said lies above its own delivery, which comes at the same moment as a rule.
    for (const kind of [DELIVERED, SAID]) {
      for (let e = first; e < last; e++) {
        if (run.eventKind[e] !== kind || !view.isShown(e)) continue;
        const message = run.eventMessage[e], relation = cone ? cone.relation(message) : null;
        const colour = cone ? this.colourOf(relation) : look.origin(run.origin[message]);
        const x = view.x(run.time[e]);
        context.globalAlpha = relation === CONCURRENT ? 2 * DIM : 1;
        this.stamp(x, y, size, kind === SAID, colour);
        if (kind === DELIVERED || view.laneHeight < 34) continue;
        const label = run.label(message), half = 3.2 * label.length;
        if (x - half <= labelled) continue;
        context.fillStyle = colour;
        context.fillText(label, x, y - size - 5);
        labelled = x + half + 6;
      }
    }
    context.globalAlpha = 1;
  }

  // A dot, drawn once for each colour and then copied: there may be thousands.
  stamp(x, y, size, full, colour) {
    const {context, scale, state: {look}} = this, key = `${size} ${full} ${colour} ${look.paper} ${scale}`;
    const half = Math.ceil(size) + 1;
    let stamp = this.stamps.get(key);
    if (!stamp) {
      const sheet = new OffscreenCanvas(Math.ceil(2 * half * scale), Math.ceil(2 * half * scale));
      const inside = sheet.getContext("2d");
      inside.scale(scale, scale);
      dot(inside, half, half, size, full, colour, look.paper);
      this.stamps.set(key, stamp = sheet.transferToImageBitmap());
    }
    const [left, top] = [x - half, y - half].map((place) => Math.round(place * scale) / scale);
    context.drawImage(stamp, left, top, stamp.width / scale, stamp.height / scale);
  }

  colourOf(relation) {
    const {look} = this.state;
    return {[PAST]: look.past, [FUTURE]: look.future, [SELF]: look.ink, [CONCURRENT]: look.soft}[relation];
  }

  // The message pointed at, whatever the zoom.
  drawFocus() {
    const {state: {cone, violation}} = this;
    if (violation && violation.predecessor !== null && violation.predecessor !== undefined) {
      this.drawMessage(violation.predecessor, this.state.look.past);
    }
    this.drawMessage(cone.message, this.state.look.ink);
  }

  drawMessage(message, colour) {
    const {context, state: {run, view, look}} = this, said = run.saidEvent[message];
    const origin = run.origin[message], y1 = said < 0 ? null : view.y(origin);
    context.strokeStyle = colour;
    context.lineWidth = 2;
    for (const d of run.deliveriesOfMessage(message)) {
      const process = run.deliveryProcess[d], y2 = view.y(process), x2 = view.x(run.time[run.deliveryEvent[d]]);
      if (y2 === null) continue;
      if (y1 !== null && process !== origin) {
        line(context, view.x(run.time[said]), y1, view.x(this.arrival(run.deliveryEvent[d])), y2);
      }
      if (!run.logical && run.waiting.waited(d)) {
        context.lineWidth = 5;
        line(context, view.x(this.arrival(run.deliveryEvent[d])), y2, x2, y2);
        context.lineWidth = 2;
      }
      dot(context, x2, y2, 5, false, colour, look.paper);
    }
    this.drawHeld(message);
    if (y1 === null) return;
    const x1 = view.x(run.time[said]);
    dot(context, x1, y1, 6, true, colour, look.paper);
    tag(context, look, run.label(message), x1, y1 - 12, colour);
  }

  // Below the lane, as long as something kept the message from leaving, or from being delivered at all.
  drawHeld(message) {
    const {context, state, state: {run, view}} = this, {process, time, until} = run.waiting.wait;
    if (run.logical || !view.shown.waiting) return;
    context.lineWidth = 3;
    context.setLineDash([2, 2]);
    for (const row of run.waiting.waitsOf(message)) {
      const y = view.y(process[row]), [from, to] = [time[row], Math.min(until[row], run.span)];
      if (y === null) continue;
      line(context, momentOn(state, process[row], from), y + 11, momentOn(state, process[row], to), y + 11);
    }
    context.setLineDash([]);
    context.lineWidth = 2;
  }

  drawViolations() {
    const {context, state: {run, view, look, violation, violationEvents}} = this;
    if (!view.shown.violations) return;
    violationEvents.forEach((event, place) => {
      if (event < 0) return;
      const y = view.y(run.processOf(event)), x = view.x(run.time[event]);
      if (y === null || x < view.gutter - 8 || x > view.width + 8) return;
      const chosen = run.violations[place] === violation, size = chosen ? 8 : Math.min(6, 2 + view.laneHeight / 5);
      context.strokeStyle = look.bad;
      context.lineWidth = chosen ? 2.5 : 1.5;
      context.strokeRect(x - size, y - size, 2 * size, 2 * size);
      cross(context, x, y, size - 2);
    });
  }

  drawMoment() {
    const {context, state: {view, look, moment}} = this, x = view.x(moment);
    context.strokeStyle = look.ink;
    context.lineWidth = 1.5;
    line(context, x, AXIS, x, view.height);
    context.globalAlpha = 0.55;
    context.fillStyle = look.paper;
    context.fillRect(x, AXIS, view.width - x, view.plotHeight);
    context.globalAlpha = 1;
  }

  drawAxis() {
    const {context, state: {run, view, look}} = this, step = niceStep(view.perPixel * 90);
    const least = run.logical ? Math.max(1, step) : step;
    context.fillStyle = look.soft;
    context.strokeStyle = look.faint;
    context.lineWidth = 1;
    context.font = `11px ${look.font}`;
    context.textBaseline = "middle";
    context.textAlign = "center";
    line(context, view.gutter, AXIS - 0.5, view.width, AXIS - 0.5);
    for (let tick = Math.ceil(view.from / least); tick * least < view.until; tick++) {
      const x = view.x(tick * least);
      if (x < view.gutter || tick < 0) continue;
      line(context, x, AXIS - 6, x, AXIS);
      if (x < view.gutter + 16 || x > view.width - 20) continue;
      context.fillText(timeWords(run, tick * least, least), x, AXIS / 2 - 1);
    }
  }

  drawLabels() {
    const {context, state: {run, view, look, pointedLane}} = this, room = view.gutter - 12;
    context.font = `600 12px ${look.font}`;
    context.textAlign = "left";
    context.textBaseline = "middle";
    let labelled = AXIS;
    for (const process of view.visibleLanes()) {
      const y = view.y(process);
      if (y < labelled + 7 || y > view.height - OVERVIEW - 4) continue;
      context.fillStyle = process === pointedLane ? look.ink : look.soft;
      context.fillText(run.processes.label[process], 12, y, room);
      labelled = y + 6;
    }
  }
}
