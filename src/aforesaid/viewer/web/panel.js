"use strict";
// The panel beside the picture: what was found, and which processes, messages and kinds are shown.

const MARKS = {kept: "✓", violated: "✗", unknown: "?", unpromised: "!"}, CHECKS_MAX = 200, WAITED_MAX = 5, FIRST = 5;

// A property that was not promised and was broken is told, too, before anybody takes the run for faultless.
function verdictOf({verdict, properties}) {
  const broken = properties.filter((property) => property.value === "violated");
  const names = (some) => some.map((property) => property.name).join(", ");
  if (verdict === "violated") return [verdict, `broken: ${names(broken.filter((property) => property.required))}`];
  if (broken.length) return ["unpromised", `not promised, not kept: ${names(broken)}`];
  return [verdict, verdict];
}

function showVerdict(run, button) {
  const [value, words] = verdictOf(run);
  button.className = `badge ${value}`;
  button.textContent = `${MARKS[value]} ${words}`;
}

function tellFindings(app, section) {
  const {run} = app, open = run.properties.filter((property) => property.value !== "kept");
  const kept = run.properties.filter((property) => property.value === "kept").map((property) => property.name);
  section.replaceChildren(
    el("h2", {textContent: open.length ? "What was found" : "Everything was kept"}),
    el("p", {className: "soft", textContent: `${run.algorithm}, ${plural(run.processCount, "process", "processes")}, `
      + `${plural(run.messageCount, "message")}, ${plural(run.deliveryCount, "delivery", "deliveries")}`
      + `${run.ended === "drained" ? "" : `; the run ${run.ended === "cut" ? "was cut" : "failed"}`}.`
      + (run.clock === "local" ? " Each process had its own clock: compare times of one lane only." : "")
      + (run.shifts.some((shift) => shift) ? " Lanes are shifted so that nothing comes before it was said." : "")}),
    soft("A disc is where a message was said, a ring where it was delivered, a bar how long it waited there. "
      + "Point at a message to see what came before and after it; click it for its story."),
    ...open.map((property) => propertyFound(app, property)),
    kept.length ? el("p", {}, el("span", {className: "kept", textContent: `✓ kept: `}), kept.join(", ")) : "",
    ...waitedLongest(app),
  );
}

// Whoever asks why something waited need not look for it first.
function waitedLongest(app) {
  const {run} = app, {wait} = run.waiting;
  const found = run.waiting.longest(WAITED_MAX), held = run.waiting.longestHeld(WAITED_MAX);
  const one = (message, process, waited) => el("p", {className: "waited"}, linkTo(app, message),
    ` at ${run.processes.label[process]}, ${timeWords(run, waited)}`);
  return [
    ...(found.length ? [el("h3", {textContent: "Waited longest"})] : []),
    ...found.map((d) => one(run.delivery[d], run.deliveryProcess[d], run.waiting.waited(d))),
    ...(held.length ? [el("h3", {textContent: "Longest held back where it was said"})] : []),
    ...held.map((row) => one(wait.message[row], wait.process[row], run.waiting.held(row))),
  ];
}

function propertyFound(app, property) {
  const found = app.run.violations.filter((violation) => violation.property === property.name);
  const promised = property.required ? "" : ", not promised";
  const count = property.value === "violated" ? ` ${property.violations.toLocaleString("en")} times` : "";
  const part = el("details", {open: property.value === "violated" && property === app.run.properties[0]},
    el("summary", {}, el("strong", {className: property.value}, `${MARKS[property.value]} ${property.name}`),
      ` ${property.value === "violated" ? "broken" : "unknown"}${count}${promised}`),
    soft(property.note || property.meaning),
    ...found.slice(0, FIRST).map((violation) => foundButton(app, violation)));
  if (found.length > FIRST) part.append(theOthers(app, found.slice(FIRST)));
  const more = property.violations - found.length;
  if (more > 0) part.append(el("p", {className: "soft", textContent: `… and ${more.toLocaleString("en")} more`}));
  return part;
}

// The first few of a property leave the next property in sight.
function theOthers(app, found) {
  const button = el("button", {className: "link others", textContent: `show ${plural(found.length, "other")}`});
  button.addEventListener("click", () => {
    const shown = found.map((violation) => foundButton(app, violation));
    button.replaceWith(...shown);
    shown[0].focus();
  });
  return button;
}

function showFilters(app, section) {
  const {run, view} = app;
  const box = (words, checked, change) =>
    el("label", {}, el("input", {type: "checkbox", checked, onchange: (event) => change(event.target.checked)}), words);
  const kinds = Object.keys(view.shown).map((kind) =>
    box(kind, view.shown[kind], (on) => { view.shown[kind] = on; app.redraw(); }));
  const processes = run.processes.label.slice(0, CHECKS_MAX).map((label, process) =>
    box(label, !view.hidden.has(process), (on) => { view.hide(process, !on); app.redraw(); }));
  const pattern = el("input", {
    type: "text", value: app.pattern, ariaLabel: "messages",
    placeholder: "all; or p2, p2#5, p2#5-9, separated by spaces",
    oninput: (event) => { app.pattern = event.target.value; app.filterMessages(); },
  });
  section.replaceChildren(
    el("h2", {textContent: "Filter"}), el("h3", {textContent: "kinds"}), ...kinds,
    el("h3", {textContent: "messages"}), pattern,
    box("only what came before or after the chosen message", app.onlyCone, (on) => {
      app.onlyCone = on;
      app.filterMessages();
    }),
    el("h3", {textContent: "processes"}), ...processes,
    run.processCount > CHECKS_MAX ? soft(`… the other ${run.processCount - CHECKS_MAX} are shown.`) : "",
  );
}

// Which messages a filter lets through: by origin, by number, by range of numbers. Null for all.
function maskOf(run, pattern) {
  const wanted = pattern.trim().split(/\s+/).filter(Boolean).map((word) => {
    const [, origin, low, high] = /^(.*?)(?:#(\d+)?(?:-(\d+))?)?$/.exec(word);
    const [first, last] = low === undefined ? [0, Infinity] : [Number(low), Number(high ?? low)];
    return {origin: run.processes.label.indexOf(origin), first, last};
  });
  if (!wanted.length) return null;
  return Uint8Array.from({length: run.messageCount}, (_, m) =>
    wanted.some((w) => w.origin === run.origin[m] && run.number[m] >= w.first && run.number[m] <= w.last) ? 1 : 0);
}
