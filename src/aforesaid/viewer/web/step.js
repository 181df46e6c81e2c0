"use strict";
// Stepping: the run up to a moment, one event after the other, and what each process had by then.

const LYING_MAX = 1000, GROUPS_MAX = 3;

class Stepping {
  constructor(app) {
    this.run = app.run;
    this.steps = app.run.steps;
    // A schedule is short, and its end is what it is looked at for.
    this.at = Math.max(0, this.steps.length - 1);
    this.time = null;
  }

  get count() { return this.steps.length || this.run.eventCount; }

  // All events by time; each process's in its own order, whatever the clocks say.
  get order() {
    const {run} = this;
    if (this.time !== run.time) {
      this.time = run.time;
      this.sequence = Uint32Array.from({length: run.eventCount}, (_, event) => event);
      this.sequence.sort((a, b) => run.time[a] - run.time[b] || a - b);
    }
    return this.sequence;
  }

  // The event stepped to last; -1 if none has happened yet.
  get event() {
    if (!this.steps.length) return this.order[this.at] ?? -1;
    const {run} = this, by = Array.from(run.clockTime.keys()).filter((e) => run.clockTime[e] <= this.steps[this.at][0]);
    return by.length ? by.reduce((a, b) => (run.clockTime[b] >= run.clockTime[a] ? b : a)) : -1;
  }

  get moment() {
    if (this.steps.length && !this.run.logical) return this.steps[this.at][0];
    return this.event < 0 ? 0 : this.run.time[this.event];
  }

  get clock() {
    if (this.steps.length) return this.steps[this.at][0];
    return this.event < 0 ? 0 : this.run.clockTime[this.event];
  }

  step(count) { this.at = Math.max(0, Math.min(this.count - 1, this.at + count)); }

  // To the last event, or step, at or before a time.
  seek(time) {
    const {run, order, steps} = this, timeOf = (at) => (steps.length ? steps[at][0] : run.time[order[at]]);
    let low = 0, high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (timeOf(middle) <= time) low = middle + 1; else high = middle;
    }
    this.at = Math.max(0, low - 1);
  }
}

function tellStep(app, section) {
  section.hidden = !app.stepping;
  if (!app.stepping) return;
  const {run, stepping} = app;
  const move = (words, count) => el("button", {textContent: words, onclick: () => app.stepBy(count)});
  const slider = el("input", {
    type: "range", min: 0, max: stepping.count - 1, value: stepping.at, ariaLabel: "event",
    oninput: (change) => app.stepBy(Number(change.target.value) - stepping.at),
  });
  section.replaceChildren(
    el("div", {className: "head"}, el("h2", {}, `Step ${stepping.at + 1} of ${stepping.count.toLocaleString("en")}`),
      el("span", {}, move("‹ back", -1), " ", move("on ›", 1))),
    slider,
    stepping.steps.length ? stepsAround(app) : eventWords(app),
    stateTable(app), ...gaugesNow(app),
  );
}

function eventWords(app) {
  const {run, stepping} = app, event = stepping.event;
  if (event < 0) return el("p", {}, "Nothing has happened yet.");
  const does = run.eventKind[event] === SAID ? "says" : "delivers", name = run.processes.label[run.processOf(event)];
  return el("p", {}, `${timeWords(run, stepping.moment)}: ${name} ${does} `, linkTo(app, run.eventMessage[event]), ".");
}

// The schedule, the step that was taken last among its neighbours.
function stepsAround(app) {
  const {steps, at} = app.stepping, first = Math.max(0, Math.min(at - 4, steps.length - 9));
  return el("ol", {start: first + 1}, ...steps.slice(first, first + 9).map(([, sentence], place) => el("li", {},
    el("button", {className: "link", ariaCurrent: String(first + place === at), textContent: sentence,
      onclick: () => app.stepBy(first + place - at)}))));
}

// What each process had said and delivered by then, what it held, and below that what waited there.
function stateTable(app) {
  const {run, stepping} = app, rows = [], states = statesNow(app);
  const head = ["process", "said", "delivered", ...(states.size ? ["holds"] : [])];
  for (const process of app.view.lanes.slice(0, ROWS_MAX)) {
    const [first, last] = [run.eventOffsets[process], run.eventOffsets[process + 1]];
    let stop = lowerBound(run.time, stepping.moment, first, last);
    while (stop < last && run.time[stop] <= stepping.moment && isBy(stepping, stop)) stop++;
    let said = 0;
    for (let e = first; e < stop; e++) said += run.eventKind[e] === SAID ? 1 : 0;
    const holds = [...(states.get(process) || [])].map(([name, number]) => `${number} ${name}`).join(", ");
    rows.push(el("tr", {}, el("td", {textContent: run.processes.label[process]}), numberCell(`${said}`),
      numberCell(`${stop - first - said}`), states.size ? el("td", {textContent: holds}) : null));
    const waiting = waitingNow(app, process);
    if (waiting.length) rows.push(el("tr", {className: "under"}, el("td", {colSpan: head.length}, ...waiting)));
  }
  const cells = head.map((name, place) => el("th", {textContent: name, className: place === 1 || place === 2 ? "number" : ""}));
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...cells)), el("tbody", {}, ...rows));
  return el("div", {className: "wide"}, table);
}

// The messages that lie at a process, or are held back there, by what they wait for.
function waitingNow(app, process) {
  const {run, stepping} = app, {waiting} = run, groups = new Map();
  const add = (message, table, row) => {
    const key = `${table.reason[row]} ${table.cause[row]}`;
    if (!groups.has(key)) groups.set(key, {messages: new Set(), table, row});
    groups.get(key).messages.add(message);
  };
  for (const message of waiting.lyingAt(process, stepping.clock, LYING_MAX)) {
    const rows = waiting.rowsOf(run.eventDelivery[run.deliveredAt(process, message)]);
    add(message, waiting.receipt, rows.find((row) => waiting.receipt.waited[row]) ?? rows[0]);
  }
  for (const row of waiting.heldAt(process, stepping.clock, LYING_MAX)) add(waiting.wait.message[row], waiting.wait, row);
  const parts = [...groups.values()].slice(0, GROUPS_MAX).flatMap(({messages, table, row}) => [
    ...[...messages].slice(0, GROUPS_MAX).flatMap((message, place) => [place ? ", " : "", linkTo(app, message)]),
    messages.size > GROUPS_MAX ? ` and ${messages.size - GROUPS_MAX} more` : "",
    messages.size > 1 ? " wait " : " waits ", ...waiting.phrase(app, table, row), ". "]);
  return groups.size > GROUPS_MAX ? [...parts, `… and ${groups.size - GROUPS_MAX} more reasons.`] : parts;
}

// What is not zero of each process's own gauges by now.
function statesNow(app) {
  const states = new Map();
  forGauges(app, (process, name, value) => {
    if (process < 0) return;
    if (!states.has(process)) states.set(process, new Map());
    if (value) states.get(process).set(name, value); else states.get(process).delete(name);
  });
  return states;
}

// The gauges of all processes together as they stood last.
function gaugesNow(app) {
  const last = new Map();
  forGauges(app, (process, name, value) => { if (process < 0) last.set(name, value); });
  if (!last.size) return [];
  const words = [...last].slice(0, ROWS_MAX).map(([name, number]) => `${name} ${+number.toFixed(2)}`);
  return [soft(`All together: ${words.join(", ")}.`)];
}

function forGauges({run, stepping}, tell) {
  const time = run.column("sample_time"), value = run.column("sample_value");
  const process = run.column("sample_process"), gauge = run.column("sample_gauge");
  const names = run.gauges.map((name) => name.replaceAll("_", " "));
  for (let row = 0; row < time.length && time[row] <= stepping.clock; row++) tell(process[row], names[gauge[row]], value[row]);
}

// Whether an event of the moment itself was stepped over already.
function isBy({steps, event: last, run, moment}, event) {
  return steps.length > 0 || event <= last || run.time[event] < moment;
}
