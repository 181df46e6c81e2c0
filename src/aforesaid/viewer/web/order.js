"use strict";
// Happened-before, from the processes' own orders alone; no clock is asked.
//
// What came before a message is, on every process, a beginning of its events, and what came after it is an end:
// so a causal past or future is one number per process, and every event is looked at once to find them.

const PAST = 1, FUTURE = 2, SELF = 3, CONCURRENT = 0;

class Cone {
  constructor(run, message) {
    this.run = run;
    this.message = message;
    this.past = pastOf(run, message);
    this.future = futureOf(run, message);
  }

  // How a message stands to this one.
  relation(message) {
    if (message === this.message) return SELF;
    const said = this.run.saidEvent[message], origin = this.run.origin[message];
    if (said < 0) return CONCURRENT;
    if (said < this.past[origin]) return PAST;
    return said >= this.future[origin] ? FUTURE : CONCURRENT;
  }

  // All messages by how they stand to this one.
  relations() {
    return Uint8Array.from({length: this.run.messageCount}, (_, message) => this.relation(message));
  }
}

// Events of process p before past[p] came before the message was said.
function pastOf(run, message) {
  const past = run.eventOffsets.slice(0, run.processCount);
  if (run.saidEvent[message] < 0) return past;
  const processes = [run.origin[message]], stops = [run.saidEvent[message]];
  while (processes.length) {
    const process = processes.pop(), stop = stops.pop(), start = past[process];
    if (stop <= start) continue;
    past[process] = stop;
    for (let e = start; e < stop; e++) {
      const earlier = run.eventMessage[e], said = run.saidEvent[earlier];
      if (run.eventKind[e] === DELIVERED && said >= past[run.origin[earlier]]) {
        processes.push(run.origin[earlier]);
        stops.push(said + 1);
      }
    }
  }
  return past;
}

// Events of process p from future[p] on came after the message was said.
function futureOf(run, message) {
  const future = run.eventOffsets.slice(1), processes = [], starts = [];
  const reachDeliveries = (said) => {
    for (const d of run.deliveriesOfMessage(said)) {
      if (run.deliveryEvent[d] >= future[run.deliveryProcess[d]]) continue;
      processes.push(run.deliveryProcess[d]);
      starts.push(run.deliveryEvent[d]);
    }
  };
  reachDeliveries(message);
  if (run.saidEvent[message] >= 0) {
    processes.push(run.origin[message]);
    starts.push(run.saidEvent[message] + 1);
  }
  while (processes.length) {
    const process = processes.pop(), start = starts.pop(), stop = future[process];
    if (start >= stop) continue;
    future[process] = start;
    for (let e = start; e < stop; e++) if (run.eventKind[e] === SAID) reachDeliveries(run.eventMessage[e]);
  }
  return future;
}

// Lamport's clock: an event's time is one more than the longest chain of events that leads to it. A process goes
// on until it delivers what nobody has said yet, and waits for that.
function logicalTime(run) {
  const time = new Float64Array(run.eventCount);
  const next = run.eventOffsets.slice(0, run.processCount), waiting = new Map();
  const stamped = new Uint8Array(run.messageCount), ready = Array.from(next.keys()).reverse();
  for (let left = run.eventCount; left > 0;) {
    // Where logs contradict each other all may wait for each other: then one goes on all the same.
    const forced = !ready.length;
    if (forced) ready.push(next.findIndex((event, process) => event < run.eventOffsets[process + 1]));
    const process = ready.pop();
    for (let goesOn = forced; next[process] < run.eventOffsets[process + 1]; goesOn = false) {
      const event = next[process], message = run.eventMessage[event], said = run.saidEvent[message];
      let after = event > run.eventOffsets[process] ? time[event - 1] : 0;
      if (run.eventKind[event] === DELIVERED && said >= 0) {
        if (!stamped[message] && !goesOn) {
          if (!waiting.has(message)) waiting.set(message, []);
          waiting.get(message).push(process);
          break;
        }
        after = Math.max(after, time[said]);
      }
      time[event] = after + 1;
      next[process]++;
      left--;
      if (run.eventKind[event] === SAID) {
        stamped[message] = 1;
        // One that was made to go on is woken for nothing, which does no harm.
        for (const woken of waiting.get(message) || []) ready.push(woken);
        waiting.delete(message);
      }
    }
  }
  return time;
}

const SHIFTED_MAX = 200;

// Clocks of different processes need not agree. If by them a message comes before it was said, every lane is
// shifted, by as much for each process as lies midway between what its messages allow at most and at least. Zeros
// if no clock is wrong, and if no shifts are right, as when a clock was set in the middle of a run.
function clockShifts(run) {
  const count = run.processCount, none = new Float64Array(count);
  if (run.clock !== "local" || count > SHIFTED_MAX) return none;
  // The shift of p is at most most[p][q] above that of q: as early as any message of p came to q.
  const most = Array.from({length: count}, (_, p) => new Float64Array(count).fill(Infinity).fill(0, p, p + 1));
  for (let d = 0; d < run.deliveryCount; d++) {
    const message = run.delivery[d], p = run.origin[message], q = run.deliveryProcess[d];
    if (run.saidEvent[message] < 0 || p === q) continue;
    most[p][q] = Math.min(most[p][q], run.deliveryTime[d] - run.saidTime[message]);
  }
  if (most.every((row) => row.every((gap) => gap >= 0))) return none;
  for (let via = 0; via < count; via++) {
    for (let p = 0; p < count; p++) {
      for (let q = 0; q < count; q++) most[p][q] = Math.min(most[p][q], most[p][via] + most[via][q]);
    }
  }
  if (most.some((row, p) => row[p] < 0)) return none;
  const shifts = none.map((_, p) => (Number.isFinite(most[p][0] + most[0][p]) ? (most[p][0] - most[0][p]) / 2 : 0));
  const least = Math.min(...shifts);
  return shifts.map((shift) => shift - least);
}
