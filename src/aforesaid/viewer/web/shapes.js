"use strict";
// What the picture is made of.

function line(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

function cross(context, x, y, size) {
  line(context, x - size, y - size, x + size, y + size);
  line(context, x - size, y + size, x + size, y - size);
}

function dot(context, x, y, size, full, colour, paper) {
  context.beginPath();
  context.arc(x, y, full ? size : size - 0.75, 0, 7);
  context.fillStyle = full ? colour : paper;
  context.fill();
  if (full) return;
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.stroke();
}

// A label on a ground of its own, readable over whatever is below.
function tag(context, look, words, x, y, colour) {
  context.font = `600 12px ${look.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const half = context.measureText(words).width / 2 + 5;
  context.fillStyle = colour;
  context.beginPath();
  context.roundRect(x - half, y - 9, 2 * half, 18, 4);
  context.fill();
  context.fillStyle = look.paper;
  context.fillText(words, x, y + 0.5);
}
