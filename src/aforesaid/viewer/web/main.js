"use strict";
// The page: one run at a time, what is pointed at and chosen in it, and its address.

const REST_MS = 150;

class App {
  constructor(headers) {
    this.headers = headers;
    const byId = (id) => document.getElementById(id);
    this.elements = Object.fromEntries([
      "stage", "picture", "tip", "callout", "brush", "busy", "runs", "verdict", "clock", "logical", "out", "fit", "in",
      "filter", "step", "help", "legend", "filters", "stepping", "story", "findings", "panel",
    ].map((id) => [id, byId(id)]));
    this.elements.search = byId("search").querySelector("input");
    this.picture = new Picture(this.elements.picture);
    this.chosen = this.pointed = -1;
    this.hands = new Hands(this, this.elements.picture, this.elements.brush);
    this.listen(byId("search"));
    this.refreshLook();
  }

  listen(search) {
    const {elements} = this;
    const act = (id, does) => elements[id].addEventListener("click", () => { does(); this.redraw(); });
    headersInto(elements.runs, this.headers);
    elements.runs.addEventListener("change", () => this.open(elements.runs.selectedIndex));
    act("verdict", () => { this.choose(-1); elements.panel.scrollTop = 0; });
    act("clock", () => this.setLogical(false));
    act("logical", () => this.setLogical(true));
    act("out", () => this.view.zoom(1.6));
    act("in", () => this.view.zoom(1 / 1.6));
    act("fit", () => this.view.fit());
    act("filter", () => this.toggleFilters());
    act("step", () => this.toggleStepping());
    act("help", () => elements.legend.showModal());
    search.addEventListener("submit", (event) => {
      event.preventDefault();
      const message = this.run.messageOf(elements.search.value.trim());
      elements.search.setCustomValidity(message < 0 ? "there is no such message; one is written as p2#5" : "");
      if (!elements.search.reportValidity()) return;
      this.choose(message);
      elements.picture.focus();
    });
    elements.search.addEventListener("input", () => elements.search.setCustomValidity(""));
    new ResizeObserver(() => this.resize()).observe(elements.stage);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.refreshLook());
    window.addEventListener("hashchange", () => this.follow(location.hash));
  }

  resize() {
    if (!this.run) return;
    this.picture.resize(this.view);
    this.redraw();
  }

  refreshLook() {
    this.look = new Look(document.body);
    this.redraw();
  }

  async open(place) {
    const {elements} = this;
    elements.busy.hidden = false;
    const run = await loadRun(this.headers, place);
    Object.assign(this, {
      run, place, view: new View(run), cones: new Map(), chosen: -1, pointed: -1, violation: null, pattern: "",
      onlyCone: false, stepping: null, overview: null, faults: null, pointedLane: null,
    });
    this.violationEvents = run.violations.map((violation) => violationEvent(run, violation));
    elements.runs.selectedIndex = place;
    elements.filters.hidden = elements.stepping.hidden = true;
    elements.busy.hidden = true;
    this.picture.resize(this.view);
    this.view.fit();
    showVerdict(run, elements.verdict);
    tellFindings(this, elements.findings);
    elements.step.ariaPressed = "false";
    elements.filter.ariaExpanded = "false";
    this.setLogical(false);
    if (run.steps.length) this.toggleStepping();
  }

  // Go where an address says: #run=NAME&m=p2%235&time=logical
  async follow(hash) {
    if (this.run && hash === this.address()) return;
    const asked = new URLSearchParams(hash.slice(1).replaceAll("+", "%2B"));
    const named = this.headers.findIndex((header) => header.name === asked.get("run"));
    const place = named < 0 ? firstBroken(this.headers) : named;
    if (!this.run || (asked.has("run") && place !== this.place)) await this.open(place);
    if (asked.has("time")) this.setLogical(asked.get("time") === "logical");
    if (asked.has("m")) this.choose(this.run.messageOf(asked.get("m")));
    // An address from another page, or of an older one, must not lead astray without a word.
    const lost = [];
    if (asked.has("run") && named < 0) lost.push(`run ${asked.get("run")}`);
    if (asked.has("m") && this.chosen < 0) lost.push(`message ${asked.get("m")}`);
    document.getElementById("lost")?.remove();
    if (!lost.length) return;
    const textContent = `There is no ${lost.join(" and no ")} here, where the address leads.`;
    this.elements.findings.prepend(el("p", {id: "lost", className: "unknown", textContent}));
  }

  address() {
    const parts = [];
    if (this.headers.length > 1) parts.push(`run=${encodeURIComponent(this.run.name)}`);
    if (this.chosen >= 0) parts.push(`m=${encodeURIComponent(this.run.label(this.chosen))}`);
    if (this.run.logical) parts.push("time=logical");
    return parts.length ? `#${parts.join("&")}` : "";
  }

  coneOf(message) {
    if (!this.cones.has(message)) {
      if (this.cones.size > 50) this.cones.clear();
      this.cones.set(message, new Cone(this.run, message));
    }
    return this.cones.get(message);
  }

  get cone() {
    const message = this.pointed >= 0 ? this.pointed : this.chosen;
    return message < 0 ? null : this.coneOf(message);
  }

  get moment() { return this.stepping ? this.stepping.moment : null; }

  point(message, at) {
    const {tip, picture, stage} = this.elements, lane = at ? this.view.laneAt(at.y) : null;
    if (message === this.pointed && lane === this.pointedLane) return;
    Object.assign(this, {pointed: message, pointedLane: lane});
    picture.classList.toggle("pointing", message >= 0);
    tip.hidden = message < 0;
    if (message >= 0) {
      tip.textContent = tipWords(this.run, message);
      const x = at.x * this.picture.unit, y = at.y * this.picture.unit;
      tip.style.left = `${Math.max(4, Math.min(x + 14, stage.clientWidth - tip.offsetWidth - 4))}px`;
      tip.style.top = `${y > stage.clientHeight / 2 ? y - tip.offsetHeight - 12 : y + 16}px`;
    }
    this.redraw();
  }

  clickAt(message, event) {
    if (this.stepping && event >= 0) this.stepping.seek(this.run.time[event]);
    const place = this.violationEvents.indexOf(event);
    if (event >= 0 && place >= 0) this.accuse(this.run.violations[place], false);
    else this.choose(message, false);
    if (event >= 0) this.chosenEvent = event;
  }

  // Tell a message's story; -1 lets go.
  choose(message, go = true) {
    this.chosen = message;
    this.violation = null;
    this.chosenEvent = message < 0 ? -1 : this.run.saidEvent[message];
    if (message >= 0 && go) this.view.show(this.eventsOf(message));
    this.tell();
  }

  accuse(violation, go = true) {
    this.choose(violation.message, false);
    this.violation = violation;
    const events = [this.violationEvents[this.run.violations.indexOf(violation)]];
    const {predecessor, process} = violation, {run} = this;
    if (typeof predecessor === "number") events.push(run.saidEvent[predecessor], run.deliveredAt(process, predecessor));
    events.push(run.saidEvent[violation.message]);
    if (go) this.goTo(events.filter((event) => event >= 0));
    this.tell();
  }

  accuseNext(step) {
    const {violations} = this.run;
    if (!violations.length) return;
    const at = violations.indexOf(this.violation);
    this.accuse(violations[at < 0 ? 0 : (at + step + violations.length) % violations.length]);
  }

  // To the next event of the lane that was last walked on.
  walk(step) {
    const {run} = this, event = this.chosenEvent >= 0 ? this.chosenEvent + step : run.eventOffsets[this.view.lanes[0]];
    if (!(event >= 0 && event < run.eventCount)) return;
    if (this.chosenEvent >= 0 && run.processOf(event) !== run.processOf(this.chosenEvent)) return;
    this.choose(run.eventMessage[event], false);
    this.chosenEvent = event;
    this.goTo([event]);
  }

  goTo(events) {
    const hidden = events.map((event) => this.run.processOf(event)).filter((process) => this.view.hidden.has(process));
    for (const process of hidden) this.view.hide(process, false);
    this.view.show(events);
    this.redraw();
  }

  eventsOf(message) {
    const {run} = this, said = run.saidEvent[message];
    const events = Array.from(run.deliveriesOfMessage(message).subarray(0, 500), (d) => run.deliveryEvent[d]);
    return said < 0 ? events : [said, ...events];
  }

  tell() {
    const {elements} = this;
    tellStory(this, elements.story);
    markFound(this, elements.findings);
    tellStep(this, elements.stepping);
    if (this.chosen >= 0) elements.panel.scrollTop = 0;
    if (this.onlyCone) this.filterMessages();
    const address = this.address();
    if (address !== location.hash) history.replaceState(null, "", address || location.pathname + location.search);
    this.redraw();
  }

  setLogical(logical) {
    const {run, view} = this, middle = this.chosen >= 0 ? this.eventsOf(this.chosen) : null;
    run.logicalTime ||= logical ? logicalTime(run) : null;
    const other = run.logical !== logical;
    run.logical = logical;
    run.time = logical ? run.logicalTime : run.clockTime;
    run.end = logical ? largest(run.time, 1) : run.clockEnd;
    this.elements.clock.ariaPressed = String(!logical);
    this.elements.logical.ariaPressed = String(logical);
    if (other) view.fit();
    if (other && middle) view.show(middle);
    this.tell();
  }

  filterMessages() {
    let mask = maskOf(this.run, this.pattern);
    if (this.onlyCone && this.chosen >= 0) {
      const relations = this.coneOf(this.chosen).relations();
      mask = relations.map((relation, m) => (relation !== CONCURRENT && (!mask || mask[m]) ? 1 : 0));
    }
    this.view.only = mask;
    this.redraw();
  }

  toggleFilters() {
    const {filters, filter} = this.elements;
    filters.hidden = !filters.hidden;
    filter.ariaExpanded = String(!filters.hidden);
    if (!filters.hidden) showFilters(this, filters);
  }

  toggleStepping() {
    this.stepping = this.stepping ? null : new Stepping(this);
    if (this.stepping && this.chosen >= 0) this.stepping.seek(this.run.time[Math.max(0, this.chosenEvent)]);
    this.elements.step.ariaPressed = String(this.stepping !== null);
    this.tell();
  }

  stepBy(count) {
    if (!this.stepping) return;
    this.stepping.step(count);
    if (this.stepping.event >= 0) this.view.show([this.stepping.event]);
    tellStep(this, this.elements.stepping);
    this.redraw();
  }

  // The picture moves; what was left out meanwhile is drawn once it stands still.
  moved() {
    clearTimeout(this.rest);
    this.moving = true;
    this.rest = setTimeout(() => { this.moving = false; this.redraw(); }, REST_MS);
    this.redraw();
  }

  redraw() {
    if (this.waiting || !this.run) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this.picture.draw(this);
      this.placeCallout();
    });
  }

  // The witness sentence stands beside the delivery that it is about.
  placeCallout() {
    const {callout, stage} = this.elements, {violation, view, run} = this;
    const event = violation ? this.violationEvents[run.violations.indexOf(violation)] : -1;
    const y = event < 0 ? null : view.y(run.processOf(event)), x = event < 0 ? 0 : view.x(run.time[event]);
    callout.hidden = y === null || x < view.gutter || x > view.width;
    if (callout.hidden) return;
    callout.textContent = violation.sentence;
    const {unit} = this.picture, left = x * unit + 14, middle = y * unit;
    const below = middle + 22 + callout.offsetHeight < stage.clientHeight - OVERVIEW * unit;
    callout.style.left = `${Math.max(4, Math.min(left, stage.clientWidth - callout.offsetWidth - 6))}px`;
    callout.style.top = `${below ? middle + 18 : middle - 18 - callout.offsetHeight}px`;
  }
}

function headersInto(select, headers) {
  select.replaceChildren(...headers.map((header) =>
    el("option", {textContent: `${MARKS[verdictOf(header)[0]]} ${header.name}`})));
}

// Who names no run sees the first that broke a promise; else one that kept less than all; else the first.
function firstBroken(headers) {
  const first = (value) => headers.findIndex((header) => verdictOf(header)[0] === value);
  return ["violated", "unpromised"].map(first).find((place) => place >= 0) ?? 0;
}

// Where a violation is marked: at the delivery; where one is missing, at the saying.
function violationEvent(run, violation) {
  if (violation.position === null || violation.process < 0) return run.saidEvent[violation.message] ?? -1;
  return run.deliveryEvent[run.deliveryOffsets[violation.process] + violation.position] ?? -1;
}

function tipWords(run, message) {
  const said = run.saidEvent[message], count = run.ofOffsets[message + 1] - run.ofOffsets[message];
  const when = said < 0 ? "never said" : `said at ${timeWords(run, run.time[said])}`;
  return `${run.label(message)}, ${when}, delivered by ${count}`;
}

const explorer = new App(JSON.parse(document.getElementById("headers").textContent));
// The runs stand behind this script: they are there when the page is.
const opened = new Promise((resolve) => window.addEventListener("DOMContentLoaded", resolve))
  .then(() => explorer.follow(location.hash));
