"use strict";
// What waited, and for what: receipts by delivery, and waits that no delivery tells of. Old traces have neither.

const COLUMNS = ["delivery", "waited", "process", "message", "time", "until", "source", "reason", "peer", "cause"];
const NEVER = 2 ** 32 - 1, CHAIN_STEPS_MAX = 12;

class Waiting {
  constructor(run) {
    this.run = run;
    for (const table of ["receipt", "wait"]) {
      this[table] = {};
      for (const name of COLUMNS) this[table][name] = run.column(`${table}_${name}`);
    }
    this.known = this.receipt.delivery.length > 0;
    this.rowsByMessage = new Map();
    this.wait.message.forEach((message, row) => this.rowsByMessage.set(message, [...this.waitsOf(message), row]));
    this.arrival = run.deliveryTime.slice();
    for (let row = 0; row < this.receipt.delivery.length; row++) {
      this.arrival[this.receipt.delivery[row]] -= this.receipt.waited[row];
    }
  }

  // The receipts of a delivery: rows first to last of the table.
  rowsOf(delivery) {
    const {delivery: deliveries} = this.receipt, first = lowerBound(deliveries, delivery, 0, deliveries.length);
    let last = first;
    while (last < deliveries.length && deliveries[last] === delivery) last++;
    return Array.from({length: last - first}, (_, place) => first + place);
  }

  waited(delivery) { return this.run.deliveryTime[delivery] - this.arrival[delivery]; }

  // The deliveries that waited longest, so many at most.
  longest(most) {
    const found = [];
    for (let d = 0; d < this.arrival.length; d++) {
      const waited = this.waited(d);
      if (waited <= 0 || (found.length === most && waited <= this.waited(found.at(-1)))) continue;
      found.push(d);
      found.sort((one, other) => this.waited(other) - this.waited(one));
      found.length = Math.min(found.length, most);
    }
    return found;
  }

  // How long a row of the waits lasted, as far as the run goes.
  held(row) { return Math.min(this.wait.until[row], this.run.span) - this.wait.time[row]; }

  // The messages that were held back longest where they were said: a row of each, so many at most.
  longestHeld(most) {
    const longest = new Map();
    this.wait.message.forEach((message, row) => {
      const before = longest.get(message);
      if (this.wait.source[row] < 0 && (before === undefined || this.held(before) < this.held(row))) longest.set(message, row);
    });
    return [...longest.values()].filter((row) => this.held(row) > 0)
      .sort((one, other) => this.held(other) - this.held(one)).slice(0, most);
  }

  // What a message waited for without being delivered: at its origin before it left, or in vain.
  waitsOf(message) { return this.rowsByMessage.get(message) || []; }

  // What had come to a process by a time and was not delivered yet; at most so many.
  lyingAt(process, time, most) {
    const {run} = this, lying = [];
    for (let d = run.deliveryOffsets[process]; d < run.deliveryOffsets[process + 1] && lying.length < most; d++) {
      if (this.arrival[d] <= time && run.deliveryTime[d] > time) lying.push(run.delivery[d]);
    }
    return lying;
  }

  // Rows of what is held back at a process, or lies there and will never be delivered, by then; at most so many.
  heldAt(process, time, most) {
    const {wait} = this, rows = [];
    for (let row = 0; row < wait.message.length && rows.length < most; row++) {
      if (wait.process[row] === process && wait.time[row] <= time && wait.until[row] > time) rows.push(row);
    }
    return rows;
  }

  // From a delivery that waited, along what each waited for, to one that had not come: the root of it.
  chain(delivery) {
    const {run} = this, process = run.deliveryProcess[delivery], steps = [delivery];
    while (steps.length < CHAIN_STEPS_MAX) {
      const causes = this.rowsOf(steps.at(-1)).map((row) => this.receipt.cause[row]).filter((cause) => cause >= 0);
      const event = causes.length ? run.deliveredAt(process, causes.at(-1)) : -1;
      if (event < 0 || steps.includes(run.eventDelivery[event])) return steps;
      steps.push(run.eventDelivery[event]);
      if (!this.waited(steps.at(-1))) return steps;
    }
    return steps;
  }

  // What a row waited for, with links to the messages named.
  phrase(app, {reason, peer, cause}, row) {
    const {run} = this, words = reason[row] < 0 ? "" : run.reasons[reason[row]][1];
    return (words || "for something that its algorithm does not tell").split(/(\{\w+\})/).map((part) => {
      if (part === "{cause}") return cause[row] < 0 ? "another message" : linkTo(app, cause[row]);
      return part === "{peer}" ? (peer[row] < 0 ? "others" : run.processes.label[peer[row]]) : part;
    });
  }
}

// Why a message waited, process by process: since when, for what, and where the chain of waiting ends.
function whyWaited(app, message) {
  const {run} = app, {waiting} = run;
  const waited = Array.from(run.deliveriesOfMessage(message)).filter((d) => waiting.waited(d) > 0);
  const held = waiting.waitsOf(message);
  if (!waited.length && !held.length) return [];
  waited.sort((a, b) => waiting.waited(b) - waiting.waited(a));
  return [el("h3", {textContent: "Why it waited"}),
    ...held.slice(0, NAMED_MAX).map((row) => heldWords(app, row)),
    ...waited.slice(0, NAMED_MAX).flatMap((d) => waitWords(app, d)),
    waited.length > NAMED_MAX ? soft(`… and at ${waited.length - NAMED_MAX} more`) : ""];
}

function heldWords(app, row) {
  const {run} = app, {wait} = run.waiting, since = timeWords(run, wait.time[row]);
  const until = wait.until[row] === NEVER ? "in vain " : `${timeWords(run, wait.until[row] - wait.time[row])} `;
  const name = el("strong", {textContent: run.processes.label[wait.process[row]]});
  return el("p", {}, name, `: from ${since} on it waited ${until}`, ...run.waiting.phrase(app, wait, row), ".");
}

function waitWords(app, delivery) {
  const {run} = app, {waiting} = run, name = run.processes.label[run.deliveryProcess[delivery]];
  const rows = waiting.rowsOf(delivery), source = waiting.receipt.source[rows[0]];
  const from = source >= 0 ? ` from ${run.processes.label[source]}` : "";
  const parts = rows.filter((row) => waiting.receipt.waited[row]).flatMap((row, place) => [
    `${place ? ", then " : ""}${timeWords(run, waiting.receipt.waited[row])} `,
    ...waiting.phrase(app, waiting.receipt, row),
  ]);
  const came = `: it came${from} at ${timeWords(run, waiting.arrival[delivery])} and waited `;
  return [el("p", {}, el("strong", {textContent: name}), came, ...parts, "."), ...rootWords(app, delivery)];
}

// Where a chain of waiting ends: at a message that was on its way.
function rootWords(app, delivery) {
  const {run} = app, {waiting} = run, steps = waiting.chain(delivery), root = steps.at(-1);
  if (steps.length < 2) return [];
  const links = steps.slice(1).flatMap((d) => [" ← ", linkTo(app, run.delivery[d])]);
  const message = run.delivery[root], compare = run.clock === "global" && run.saidEvent[message] >= 0;
  const arrival = waiting.arrival[root], way = Math.max(0, arrival - run.saidTime[message]);
  const late = compare ? `, ${timeWords(run, way)} after it was said` : "";
  const came = `${run.label(message)} had not come: it came at ${timeWords(run, arrival)}${late}`;
  const end = waiting.waited(root) ? "" : `; ${came}`;
  return [el("p", {className: "soft"}, run.label(run.delivery[delivery]), ...links, `${end}.`)];
}
