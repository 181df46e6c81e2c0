"use strict";
// Far out, events are not drawn one by one: each lane has a shade per pixel, the darker the more events.
//
// The events of a lane are sorted by time, so how many fall into a pixel is the distance of two places that are
// found by galloping from the one before: a million events cost a few thousand steps, whatever the zoom.

const SHADES = 64;

class Density {
  constructor() { this.image = null; }

  draw(context, state, scale) {
    const {view, look, cone} = state;
    const width = Math.round(view.plotWidth * scale), height = Math.round(view.plotHeight * scale);
    if (width < 1 || height < 1) return;
    if (!this.image || this.image.width !== width || this.image.height !== height) {
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.counts = new Uint32Array(width);
    }
    if (this.look !== look) {
      this.look = look;
      // By relation: concurrent, past, future.
      this.shades = [look.soft, look.past, look.future].map((colour) => shadesOf(look, colour));
    }
    this.pixels.fill(this.shades[CONCURRENT][0]);
    for (const process of view.visibleLanes()) {
      const most = this.count(view, process, width);
      if (!most) continue;
      const middle = (view.y(process) - AXIS) * scale, half = Math.max(1, view.laneHeight * 0.38 * scale);
      const [past, future] = cone ? this.coneOn(state, process, scale) : [0, width];
      const top = Math.max(0, Math.round(middle - half)), bottom = Math.min(height, Math.round(middle + half));
      this.paint(top, bottom, most, past, future);
    }
    context.putImageData(this.image, Math.round(view.gutter * scale), Math.round(AXIS * scale));
  }

  // The pixels where the past of a message ends and its future begins on a lane.
  coneOn({run, view, cone}, process, scale) {
    const pixel = (event) => (view.x(run.time[event]) - view.gutter) * scale;
    const {past, future} = cone, [first, last] = [run.eventOffsets[process], run.eventOffsets[process + 1]];
    const ends = past[process] > first ? pixel(past[process] - 1) : -1;
    return [ends, future[process] < last ? pixel(future[process]) : Infinity];
  }

  // Events of a process by pixel; the most in one.
  count(view, process, width) {
    const {run, from} = view, {counts} = this, perPixel = (view.until - from) / width;
    const [first, last] = view.eventsOf(process);
    const filtered = view.only || !view.shown.said || !view.shown.delivered;
    let most = 0;
    counts.fill(0);
    if (filtered || last - first < 4 * width) {
      for (let e = first; e < last; e++) {
        if (filtered && !view.isShown(e)) continue;
        const pixel = Math.min(width - 1, ((run.time[e] - from) / perPixel) | 0);
        most = Math.max(most, ++counts[pixel]);
      }
      return most;
    }
    let low = first;
    for (let pixel = 0; pixel < width && low < last; pixel++) {
      const high = gallop(run.time, from + (pixel + 1) * perPixel, low, last);
      counts[pixel] = high - low;
      most = Math.max(most, high - low);
      low = high;
    }
    return most;
  }

  paint(top, bottom, most, past, future) {
    const {counts, pixels, shades} = this, width = counts.length, scale = (SHADES - 2) / Math.log(1 + most);
    if (top >= bottom) return;
    const row = pixels.subarray(top * width, (top + 1) * width);
    for (let pixel = 0; pixel < width; pixel++) {
      const relation = pixel < past ? PAST : pixel >= future ? FUTURE : CONCURRENT;
      const shade = counts[pixel] ? 1 + ((Math.log(1 + counts[pixel]) * scale) | 0) : 0;
      row[pixel] = shades[relation][shade];
    }
    for (let y = top + 1; y < bottom; y++) pixels.copyWithin(y * width, top * width, (top + 1) * width);
  }
}

// From paper to a colour, as the bytes of a pixel.
function shadesOf(look, colour) {
  const paper = rgbOf(look.paper), full = rgbOf(colour), shades = new Uint32Array(SHADES);
  for (let i = 0; i < SHADES; i++) {
    const share = i === 0 ? 0 : 0.18 + 0.72 * (i / (SHADES - 1));
    const [red, green, blue] = paper.map((from, at) => Math.round(from + (full[at] - from) * share));
    shades[i] = (255 << 24) | (blue << 16) | (green << 8) | red;
  }
  return shades;
}

// As lowerBound, for a place that is likely to be near.
function gallop(values, value, low, high) {
  let step = 1;
  while (low + step < high && values[low + step] < value) { low += step; step *= 2; }
  return lowerBound(values, value, low, Math.min(high, low + step + 1));
}
