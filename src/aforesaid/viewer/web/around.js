"use strict";
// What lies around the messages: faults as shading, and the overview below, the whole run in one strip.

// What begins a span, and what ends it.
const SPANS = {partition: "mend", pause: "resume"}, ENDS = new Set(Object.values(SPANS));

// The faults as spans and spots: {kind, process (-1: all), from, until, text}.
function faultsOf(run) {
  const open = new Map(), faults = [];
  for (const [time, kind, process, other, text] of run.faults) {
    const about = `${process} ${text}`;
    if (SPANS[kind]) {
      const fault = {kind, process, from: time, until: run.span, text};
      open.set(`${SPANS[kind]} ${about}`, fault);
      faults.push(fault);
    } else if (ENDS.has(kind)) {
      const begun = open.get(`${kind} ${about}`);
      if (begun) begun.until = time;
    } else faults.push({kind, process, from: time, until: time, text, other});
  }
  return faults;
}

// Where a moment lies on a lane: by the clock, or, in logical time, between the events around it.
function momentOn(state, process, time) {
  const {run, view} = state;
  if (!run.logical) return view.x(time + run.shifts[process]);
  const [first, last] = [run.eventOffsets[process], run.eventOffsets[process + 1]];
  const next = lowerBound(run.clockTime, time + run.shifts[process], first, last);
  return view.x(next > first ? run.time[next - 1] + 0.5 : 0.5);
}

function spanOn(state, process, {from, until}) { return [from, until].map((time) => momentOn(state, process, time)); }

function drawFaults(context, state) {
  const {run, view, look} = state;
  if (!view.shown.faults) return;
  state.faults ||= faultsOf(run);
  const half = view.laneHeight / 2, lanes = view.visibleLanes(), labelled = new Map();
  for (const fault of state.faults) {
    for (const process of fault.process < 0 ? lanes : lanes.filter((lane) => lane === fault.process)) {
      const [from, until] = spanOn(state, process, fault), y = view.y(process);
      if (until < view.gutter || from > view.width) continue;
      context.fillStyle = hatch(context, look);
      if (until > from) context.fillRect(from, y - half, until - from, 2 * half);
      else if (fault.kind !== "crash" && fault.kind !== "leave") spot(context, look, from, y, fault.kind, view.width, labelled);
    }
  }
  context.font = `600 11px ${look.font}`;
  context.textAlign = "left";
  context.textBaseline = "top";
  context.fillStyle = look.fault;
  for (const fault of state.faults) {
    if (fault.until <= fault.from) continue;
    const process = fault.process < 0 ? lanes[0] : fault.process, y = view.y(process);
    if (process === undefined || y === null) continue;
    const kind = {partition: "parted", pause: "paused"}[fault.kind];
    const [from, until] = spanOn(state, process, fault), seen = Math.max(from, view.gutter);
    // Words that would have to be squeezed are left out: from nearer there is room for them.
    const words = [`${kind} ${fault.text}`, kind].find((some) => context.measureText(some).width <= until - seen - 6);
    if (words) context.fillText(words, seen + 4, fault.process < 0 ? AXIS + 4 : y + 8);
  }
}

// A small flag on a lane; its word where there is room for it: `labelled` has where the last one on a lane ended.
function spot(context, look, x, y, kind, width, labelled) {
  context.fillStyle = context.strokeStyle = look.fault;
  context.lineWidth = 1;
  line(context, x, y - 12, x, y + 12);
  context.font = `10px ${look.font}`;
  context.textAlign = "left";
  context.textBaseline = "bottom";
  const long = context.measureText(kind).width, from = Math.min(x + 3, width - long - 2);
  if (from < (labelled.get(y) ?? -Infinity)) return;
  context.fillText(kind, from, y + 14);
  labelled.set(y, from + long + 2);
}

// Slanting lines: they are seen without colour and hide nothing.
function hatch(context, look) {
  if (look.hatch) return look.hatch;
  const tile = new OffscreenCanvas(8, 8), inside = tile.getContext("2d");
  inside.strokeStyle = look.fault;
  inside.globalAlpha = 0.28;
  inside.beginPath();
  for (const shift of [-8, 0, 8]) { inside.moveTo(shift, 8); inside.lineTo(shift + 8, 0); }
  inside.stroke();
  look.hatch = context.createPattern(tile, "repeat");
  return look.hatch;
}

// The whole run, its violations, and a window on what is seen above.
function drawOverview(context, state) {
  const {run, view, look} = state, top = view.height - OVERVIEW + 8, height = OVERVIEW - 14;
  const width = Math.max(1, Math.round(view.plotWidth)), strip = overviewCounts(state, width);
  context.fillStyle = look.paper;
  context.fillRect(0, view.height - OVERVIEW, view.width, OVERVIEW);
  context.fillStyle = look.wash;
  context.fillRect(view.gutter, top, view.plotWidth, height);
  context.fillStyle = look.soft;
  for (let pixel = 0; pixel < width; pixel++) {
    const size = strip.most ? (strip.counts[pixel] / strip.most) * (height - 3) : 0;
    if (size) context.fillRect(view.gutter + pixel, top + height - Math.max(1, size), 1, Math.max(1, size));
  }
  context.fillStyle = look.bad;
  for (const event of state.violationEvents) {
    if (event >= 0) context.fillRect(overviewX(view, run.time[event]) - 1, top, 2, 6);
  }
  const left = Math.max(view.gutter, overviewX(view, view.from));
  const right = Math.min(view.width, overviewX(view, view.until));
  context.globalAlpha = 0.14;
  context.fillStyle = look.future;
  context.fillRect(left, top, Math.max(3, right - left), height);
  context.globalAlpha = 1;
  context.strokeStyle = look.future;
  context.lineWidth = 1.5;
  context.strokeRect(left + 0.75, top + 0.75, Math.max(3, right - left) - 1.5, height - 1.5);
  context.fillStyle = look.soft;
  context.font = `11px ${look.font}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText("all", 12, top + height / 2);
}

function overviewX(view, time) { return view.gutter + (time / view.run.end) * view.plotWidth; }

function overviewTime(view, x) { return ((x - view.gutter) / view.plotWidth) * view.run.end; }

// Events of all processes by pixel; counted again only when width, clock or run is another.
function overviewCounts(state, width) {
  const {run} = state, kept = state.overview;
  if (kept && kept.time === run.time && kept.counts.length === width) return kept;
  const counts = new Uint32Array(width), perPixel = run.end / width;
  for (let e = 0; e < run.eventCount; e++) counts[Math.min(width - 1, (run.time[e] / perPixel) | 0)]++;
  state.overview = {time: run.time, counts, most: largest(counts, 0)};
  return state.overview;
}
