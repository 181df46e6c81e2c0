"use strict";
// The story of one message in words: who said it and after what, who delivered it and when, what is wrong with it.

const ROWS_MAX = 60, NAMED_MAX = 12, CHAIN_MAX = 8;

function el(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function soft(words) { return el("p", {className: "soft", textContent: words}); }

function linkTo(app, message) {
  return el("button", {className: "link", textContent: app.run.label(message), onclick: () => app.choose(message)});
}

// Words with commas between links, and how many more there are.
function listed(app, messages) {
  const named = Array.from(messages).slice(0, NAMED_MAX);
  const parts = named.flatMap((message, place) => [place ? ", " : "", linkTo(app, message)]);
  if (messages.length > named.length) parts.push(` and ${messages.length - named.length} more`);
  return parts;
}

function tellStory(app, section) {
  const {run, chosen} = app;
  section.hidden = chosen < 0;
  if (chosen < 0) return;
  const close = el("button", {className: "link", textContent: "close", onclick: () => app.choose(-1)});
  section.replaceChildren(
    el("div", {className: "head"}, el("h2", {textContent: run.label(chosen)}), close),
    ...saying(app, chosen), around(app, chosen), ...accusations(app, chosen), ...deliveries(app, chosen),
    ...whyWaited(app, chosen),
  );
}

function saying(app, message) {
  const {run} = app, said = run.saidEvent[message];
  if (said < 0) return [el("p", {className: "bad", textContent: "Nobody said it, yet it was delivered."})];
  const origin = run.processes.label[run.origin[message]], before = run.predecessors(message);
  const when = run.logical ? `at logical time ${run.time[said]}` : `at ${timeWords(run, run.saidTime[message])}`;
  const first = el("p", {}, `${origin} said it ${when}, its ${ordinal(run.number[message])} message, `
    + `when it had delivered ${run.sentAfter[message]}.`);
  if (!before.length) return [first];
  return [first, el("p", {}, "It follows right after ", ...listed(app, before), "."), chain(app, message)];
}

// One line of messages back to a beginning: each time the predecessor said last.
function chain(app, message) {
  const {run} = app, links = [];
  for (let m = message; links.length <= CHAIN_MAX;) {
    const before = Array.from(run.predecessors(m)).filter((p) => run.saidEvent[p] >= 0 && p !== m);
    if (!before.length) break;
    m = before.reduce((a, b) => (run.saidTime[b] > run.saidTime[a] ? b : a));
    links.push(m);
  }
  const shown = links.slice(0, CHAIN_MAX).flatMap((m) => [" ← ", linkTo(app, m)]);
  if (links.length > CHAIN_MAX) shown.push(" ← …");
  return el("p", {className: "soft"}, "A chain back: ", run.label(message), ...shown);
}

function around(app, message) {
  const counts = [0, 0, 0, 0], cone = app.coneOf(message);
  for (let m = 0; m < app.run.messageCount; m++) counts[cone.relation(m)]++;
  return el("p", {}, el("span", {className: "past", textContent: `${counts[PAST].toLocaleString("en")} before`}), ", ",
    el("span", {className: "future", textContent: `${counts[FUTURE].toLocaleString("en")} after`}),
    `, ${counts[CONCURRENT].toLocaleString("en")} neither: concurrent.`);
}

function accusations(app, message) {
  // One sentence may break several properties: it is told once.
  const found = new Map();
  for (const violation of app.run.violations) {
    if (violation.message !== message && violation.predecessor !== message) continue;
    const {sentence, property} = violation, same = found.get(sentence);
    found.set(sentence, same ? {...same, names: `${same.names}, ${property}`} : {violation, names: property});
  }
  return [...found.values()].slice(0, NAMED_MAX).map(({violation, names}) => foundButton(app, violation, names));
}

function foundButton(app, violation, names = "") {
  return el("button", {
    className: "found", sentence: violation.sentence, ariaCurrent: String(isFound(app, violation.sentence)),
    onclick: () => app.accuse(violation),
  }, names ? el("strong", {textContent: `${names}: `}) : "", violation.sentence);
}

function isFound(app, sentence) { return app.violation !== null && sentence === app.violation.sentence; }

// Which of the sentences is the one looked at; what was unfolded stays unfolded.
function markFound(app, section) {
  for (const button of section.querySelectorAll(".found")) button.ariaCurrent = String(isFound(app, button.sentence));
}

function deliveries(app, message) {
  const {run} = app, rows = run.deliveriesOfMessage(message), got = new Set();
  for (const d of rows) got.add(run.deliveryProcess[d]);
  const lacking = [];
  for (let p = 0; p < run.processCount; p++) if (!got.has(p) && run.isFor(message, p)) lacking.push(p);
  const parts = [el("h3", {textContent: `Delivered by ${rows.length} of ${rows.length + lacking.length}`})];
  if (rows.length) parts.push(deliveryTable(app, message, rows));
  if (lacking.length) {
    const {label, fate} = run.processes;
    const named = lacking.slice(0, NAMED_MAX).map((p) => (fate[p] === "alive" ? label[p] : `${label[p]} (${fate[p]})`));
    const more = lacking.length > NAMED_MAX ? ` and ${lacking.length - NAMED_MAX} more` : "";
    parts.push(soft(`Not by ${named.join(", ")}${more}.`));
  }
  return parts;
}

function deliveryTable(app, message, rows) {
  const {run} = app, compare = run.clock === "global" && !run.logical;
  const sorted = Array.from(rows).sort((a, b) => run.time[run.deliveryEvent[a]] - run.time[run.deliveryEvent[b]]);
  const {known} = run.waiting;
  const head = ["process", "at", ...(compare ? ["after"] : []), ...(known ? ["waited"] : []), "pos."];
  const body = sorted.slice(0, ROWS_MAX).map((d) => {
    const process = run.deliveryProcess[d], event = run.deliveryEvent[d];
    const label = run.processes.label[process], waited = run.waiting.waited(d);
    const go = el("button", {className: "link", textContent: label, onclick: () => app.goTo([event])});
    const cells = [el("td", {}, go), numberCell(timeWords(run, run.logical ? run.time[event] : run.deliveryTime[d]))];
    if (compare) cells.push(numberCell(timeWords(run, Math.max(0, run.deliveryTime[d] - run.saidTime[message]))));
    if (known) cells.push(numberCell(waited ? timeWords(run, waited) : "–"));
    return el("tr", {}, ...cells, numberCell(`${d - run.deliveryOffsets[process]}`));
  });
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...head.map((name, place) =>
    el("th", {textContent: name, className: place ? "number" : ""})))), el("tbody", {}, ...body));
  const more = rows.length - ROWS_MAX;
  return el("div", {className: "wide"}, table, more > 0 ? soft(`… and ${more} more`) : null);
}

function numberCell(words) { return el("td", {className: "number", textContent: words}); }
