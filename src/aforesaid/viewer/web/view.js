"use strict";
// What part of the run is seen: a span of time, some lanes, and where both lie on the canvas.

const AXIS = 30, OVERVIEW = 42, LANE_MIN = 4, LANE_MAX = 400, ZOOM_EVENTS = 2;

class View {
  constructor(run) {
    this.run = run;
    this.lanes = Array.from({length: run.processCount}, (_, process) => process);
    this.hidden = new Set();
    this.shown = {said: true, delivered: true, waiting: true, faults: true, violations: true};
    this.only = null; // Uint8Array over messages, 1 where shown; null for all
    this.top = 0;
    this.width = this.height = 1;
    this.fit();
  }

  resize(width, height) {
    const first = this.width === 1;
    this.width = width;
    this.height = height;
    const letters = largest(this.run.processes.label.map((label) => label.length), 4);
    this.gutter = width < 600 ? 58 : Math.min(150, 34 + 8 * letters);
    if (first || this.laneFit) this.fitLanes();
    this.clampTop();
  }

  fit() {
    const margin = this.run.end * 0.02;
    this.from = -margin;
    this.until = this.run.end + margin;
    this.fitLanes();
  }

  fitLanes() {
    this.laneFit = true;
    this.laneHeight = Math.max(LANE_MIN, Math.min(LANE_MAX, (this.plotHeight - 6) / Math.max(1, this.lanes.length)));
    this.top = 0;
  }

  get plotHeight() { return this.height - AXIS - OVERVIEW; }
  get plotWidth() { return this.width - this.gutter; }
  get perPixel() { return (this.until - this.from) / this.plotWidth; }

  x(time) { return this.gutter + (time - this.from) / this.perPixel; }
  timeAt(x) { return this.from + (x - this.gutter) * this.perPixel; }

  // The middle of a process's lane; null if it is not shown.
  y(process) {
    const place = this.placeOf[process];
    return place < 0 ? null : AXIS + 4 + (place + 0.5) * this.laneHeight - this.top;
  }

  get placeOf() {
    if (this.placed !== this.lanes) {
      this.placed = this.lanes;
      this.places = new Int32Array(this.run.processCount).fill(-1);
      this.lanes.forEach((process, place) => { this.places[process] = place; });
    }
    return this.places;
  }

  laneAt(y) {
    if (y < AXIS || y > this.height - OVERVIEW) return null;
    const place = Math.floor((y - AXIS - 4 + this.top) / this.laneHeight);
    return place >= 0 && place < this.lanes.length ? this.lanes[place] : null;
  }

  // The processes whose lanes are on the canvas.
  visibleLanes() {
    const first = Math.max(0, Math.floor(this.top / this.laneHeight));
    return this.lanes.slice(first, Math.ceil((this.top + this.plotHeight) / this.laneHeight) + 1);
  }

  // The events of a process within the span, and one more on each side.
  eventsOf(process) {
    const {run} = this, first = run.eventOffsets[process], last = run.eventOffsets[process + 1];
    const low = lowerBound(run.time, this.from, first, last);
    return [low, lowerBound(run.time, this.until, low, last)];
  }

  zoom(factor, x = this.gutter + this.plotWidth / 2) {
    const time = this.timeAt(x), span = (this.until - this.from) * factor;
    const most = this.run.end * 1.2, least = Math.min(most, this.run.logical ? ZOOM_EVENTS : 20 / this.run.tick_ns);
    const kept = Math.max(least, Math.min(most, span)) / (this.until - this.from);
    this.from = time - (time - this.from) * kept;
    this.until = time + (this.until - time) * kept;
    this.clamp();
  }

  zoomLanes(factor, y) {
    const place = (y - AXIS + this.top) / this.laneHeight;
    this.laneFit = false;
    this.laneHeight = Math.max(LANE_MIN, Math.min(LANE_MAX, this.laneHeight * factor));
    this.top = place * this.laneHeight - (y - AXIS);
    this.clampTop();
  }

  pan(dx, dy) {
    const shift = dx * this.perPixel;
    this.from += shift;
    this.until += shift;
    this.top += dy;
    this.clamp();
    this.clampTop();
  }

  span(from, until) {
    this.from = from;
    this.until = Math.max(until, from + 1e-6);
    this.zoom(1);
  }

  // Keep half of the picture on the run.
  clamp() {
    const span = this.until - this.from, first = -span / 2, last = this.run.end + span / 2;
    if (this.from < first) { this.from = first; this.until = first + span; }
    if (this.until > last) { this.until = last; this.from = last - span; }
  }

  clampTop() {
    const over = this.lanes.length * this.laneHeight + 8 - this.plotHeight;
    this.top = Math.max(0, Math.min(this.top, over));
  }

  // Bring events into view, with room around them, and their lanes too. What is seen well already stays.
  show(events) {
    const {run} = this, times = events.map((event) => run.time[event]);
    const first = Math.min(...times), last = Math.max(...times), extent = last - first, span = this.until - this.from;
    const inside = first >= this.from && last <= this.until;
    if (!extent) {
      // One event among some hundred others.
      const half = Math.min(span, (run.end * 200) / run.eventCount) / 2;
      if (!inside || half < span / 20) this.span(first - half, first + half);
    } else if (!inside || extent < span / 12) this.span(first - 0.7 * extent, last + 0.7 * extent);
    for (const event of events) this.showLane(run.processOf(event));
  }

  showLane(process) {
    const y = this.y(process);
    if (y === null) return;
    if (y < AXIS + 10) this.top -= AXIS + 10 - y;
    if (y > this.height - OVERVIEW - 10) this.top += y - (this.height - OVERVIEW - 10);
    this.clampTop();
  }

  isShown(event) {
    const kind = this.run.eventKind[event] === SAID ? this.shown.said : this.shown.delivered;
    return kind && (!this.only || this.only[this.run.eventMessage[event]] === 1);
  }

  hide(process, hidden) {
    if (hidden) this.hidden.add(process); else this.hidden.delete(process);
    this.lanes = [];
    for (let p = 0; p < this.run.processCount; p++) if (!this.hidden.has(p)) this.lanes.push(p);
    this.fitLanes();
  }
}
