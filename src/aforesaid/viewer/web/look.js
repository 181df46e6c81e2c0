"use strict";
// Colours and sizes, from the style sheet, so that dark and light are decided in one place; words for times.

const ORIGIN_COLOURS = 8;

class Look {
  constructor(element) {
    const style = getComputedStyle(element), of = (name) => style.getPropertyValue(`--${name}`).trim();
    for (const name of ["paper", "ink", "soft", "faint", "wash", "past", "future", "bad", "waiting", "fault"]) {
      this[name] = of(name);
    }
    this.origins = Array.from({length: ORIGIN_COLOURS}, (_, i) => of(`line${i + 1}`));
    this.font = style.fontFamily;
  }

  origin(process) { return process < 0 ? this.soft : this.origins[process % ORIGIN_COLOURS]; }
}

function rgbOf(hex) { return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)); }

// Gaps between ticks of an axis that read well: 1, 2 or 5 times a power of ten.
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= least);
}

const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

// A time in ticks, with as many digits as tell neighbours `step` ticks apart.
function timeWords(run, ticks, step) {
  if (run.logical) return `${Math.round(ticks)}`;
  if (!ticks) return "0";
  const ns = ticks * run.tick_ns, stepNs = Math.max(1, (step || ticks / 1000 || 1) * run.tick_ns);
  const [unit, size] = UNITS.find(([, size]) => Math.abs(ns) >= size) || UNITS[3];
  const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(stepNs / size))));
  return `${(ns / size).toFixed(digits)} ${unit}`;
}

function plural(count, one, many = `${one}s`) { return `${count.toLocaleString("en")} ${count === 1 ? one : many}`; }

function ordinal(number) {
  const tens = number % 100, ending = tens > 10 && tens < 14 ? "th" : ["th", "st", "nd", "rd"][number % 10] || "th";
  return `${number}${ending}`;
}
