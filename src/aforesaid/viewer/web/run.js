"use strict";
// A run in the browser: its columns as typed arrays, and each process's own order of events.
//
// An event is something a process did: it said a message or delivered one. The events of process p are
// eventOffsets[p] to eventOffsets[p + 1], in p's own order, which comes from positions and numbers and from no
// clock. What came before what needs nothing else (order.js).

const SAID = 0, DELIVERED = 1;

class Run {
  constructor(header, buffer) {
    Object.assign(this, header);
    this.column = (name) => {
      const place = header.columns[name];
      if (!place) return new Int32Array(0);
      const [first, length, kind] = place;
      return new {i: Int32Array, u: Uint32Array, f: Float32Array}[kind](buffer, 4 * first, length);
    };
    for (const [field, name] of [
      ["origin", "message_origin"], ["number", "message_number"], ["sentAfter", "message_sent_after"],
      ["saidTime", "message_time"], ["after", "after"], ["afterOffsets", "after_offsets"],
      ["delivery", "delivery"], ["deliveryOffsets", "delivery_offsets"], ["deliveryTime", "delivery_time"],
      ["toAll", "to_all"], ["audience", "audience"], ["audienceOffsets", "audience_offsets"],
    ]) this[field] = this.column(name);
    this.processCount = header.processes.label.length;
    this.messageCount = this.origin.length;
    this.deliveryCount = this.delivery.length;
    this.layOut();
    this.indexDeliveries();
    this.waiting = new Waiting(this);
    this.shifts = clockShifts(this);
    this.clockTime = this.monotone();
    this.time = this.clockTime;
    this.clockEnd = Math.max(1, header.span + largest(this.shifts, 0));
    this.end = this.clockEnd;
  }

  // Each process's sayings and deliveries, merged into its own order.
  layOut() {
    const {processCount: processes, messageCount: messages, deliveryCount: deliveries} = this;
    const saidCount = new Uint32Array(processes + 1);
    for (let m = 0; m < messages; m++) if (this.wasSaid(m)) saidCount[this.origin[m] + 1]++;
    for (let p = 0; p < processes; p++) saidCount[p + 1] += saidCount[p];
    const said = new Int32Array(saidCount[processes]), next = saidCount.slice();
    for (let m = 0; m < messages; m++) if (this.wasSaid(m)) said[next[this.origin[m]]++] = m;
    const count = said.length + deliveries;
    this.eventCount = count;
    this.eventOffsets = new Uint32Array(processes + 1);
    this.eventMessage = new Int32Array(count);
    this.eventKind = new Uint8Array(count);
    this.saidEvent = new Int32Array(messages).fill(-1);
    this.deliveryEvent = new Int32Array(deliveries);
    this.eventDelivery = new Int32Array(count).fill(-1);
    let event = 0;
    for (let p = 0; p < processes; p++) {
      const mine = said.subarray(saidCount[p], saidCount[p + 1]);
      if (!increasing(mine, this.number)) mine.sort((a, b) => this.number[a] - this.number[b]);
      let s = 0;
      const first = this.deliveryOffsets[p], last = this.deliveryOffsets[p + 1];
      for (let d = first; d <= last; d++) {
        while (s < mine.length && (d === last || this.sentAfter[mine[s]] <= d - first)) {
          this.eventMessage[event] = mine[s];
          this.saidEvent[mine[s++]] = event++;
        }
        if (d === last) break;
        this.eventMessage[event] = this.delivery[d];
        this.eventKind[event] = DELIVERED;
        this.eventDelivery[event] = d;
        this.deliveryEvent[d] = event++;
      }
      this.eventOffsets[p + 1] = event;
    }
  }

  // The deliveries of each message: deliveriesOf[ofOffsets[m]] and on, by process.
  indexDeliveries() {
    this.ofOffsets = new Uint32Array(this.messageCount + 1);
    for (let d = 0; d < this.deliveryCount; d++) this.ofOffsets[this.delivery[d] + 1]++;
    for (let m = 0; m < this.messageCount; m++) this.ofOffsets[m + 1] += this.ofOffsets[m];
    this.deliveriesOf = new Int32Array(this.deliveryCount);
    this.deliveryProcess = new Int32Array(this.deliveryCount);
    const next = this.ofOffsets.slice();
    for (let p = 0; p < this.processCount; p++) {
      for (let d = this.deliveryOffsets[p]; d < this.deliveryOffsets[p + 1]; d++) {
        this.deliveryProcess[d] = p;
        this.deliveriesOf[next[this.delivery[d]]++] = d;
      }
    }
  }

  // By the processes' clocks, shifted. One that was set back stands still until it has caught up.
  monotone() {
    const time = new Float64Array(this.eventCount);
    for (let m = 0; m < this.messageCount; m++) if (this.saidEvent[m] >= 0) time[this.saidEvent[m]] = this.saidTime[m];
    for (let d = 0; d < this.deliveryCount; d++) time[this.deliveryEvent[d]] = this.deliveryTime[d];
    for (let p = 0; p < this.processCount; p++) {
      for (let e = this.eventOffsets[p], least = 0; e < this.eventOffsets[p + 1]; e++) {
        time[e] = least = Math.max(least, time[e] + this.shifts[p]);
      }
    }
    return time;
  }

  wasSaid(message) { return this.sentAfter[message] >= 0 && this.origin[message] >= 0; }

  label(message) {
    const origin = this.origin[message];
    return `${origin < 0 ? "unknown" : this.processes.label[origin]}#${this.number[message]}`;
  }

  // The message of a label, as p2#5; -1 if there is none.
  messageOf(label) {
    const cut = label.lastIndexOf("#");
    const process = this.processes.label.indexOf(label.slice(0, cut)), number = Number(label.slice(cut + 1));
    if (cut < 0 || process < 0) return -1;
    for (let e = this.eventOffsets[process]; e < this.eventOffsets[process + 1]; e++) {
      const message = this.eventMessage[e];
      if (this.eventKind[e] === SAID && this.number[message] === number) return message;
    }
    return -1;
  }

  deliveriesOfMessage(message) {
    return this.deliveriesOf.subarray(this.ofOffsets[message], this.ofOffsets[message + 1]);
  }

  // The event at which a process delivered a message first; -1 if it never did.
  deliveredAt(process, message) {
    for (const d of this.deliveriesOfMessage(message)) {
      if (this.deliveryProcess[d] === process) return this.deliveryEvent[d];
    }
    return -1;
  }

  processOf(event) {
    let low = 0, high = this.processCount;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.eventOffsets[middle] <= event) low = middle; else high = middle;
    }
    return low;
  }

  isFor(message, process) {
    if (!this.toAll.length || this.toAll[message]) return true;
    return this.audience.subarray(this.audienceOffsets[message], this.audienceOffsets[message + 1]).includes(process);
  }

  predecessors(message) {
    return this.after.subarray(this.afterOffsets[message], this.afterOffsets[message + 1]);
  }
}

function increasing(rows, key) {
  for (let i = 1; i < rows.length; i++) if (key[rows[i]] < key[rows[i - 1]]) return false;
  return true;
}

// A spread would put all of them onto the stack.
function largest(values, least) { return values.reduce((a, b) => Math.max(a, b), least); }

// The first index in [low, high) whose value is not below; high if there is none.
function lowerBound(values, value, low, high) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}

// The columns of a run: from the page itself, or from the address it was served with.
async function loadRun(headers, place) {
  const header = headers[place];
  const packed = header.address
    ? (await fetch(header.address)).body
    : new Blob([bytesOf(document.getElementById(`run-${place}`).textContent)]).stream();
  const body = packed.pipeThrough(new DecompressionStream("gzip"));
  return new Run(header, await new Response(body).arrayBuffer());
}

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}
