// SPDX-License-Identifier: MIT
"use strict";
const svg = document.getElementById("flame"), all = [...svg.querySelectorAll("g")];
const WIDTH = 1200, CHAR = 6.6;
let by = "u", top_ = all[0];
for (const g of all) {
  for (const key of ["a", "b", "u", "d"]) g[key] = +g.dataset[key];
  g.box = g.querySelector("rect"); g.label = g.querySelector("text");
  g.box.addEventListener("click", () => { top_ = g; draw(); });
}
// place finds where each function begins, and how wide it is, of the width of all: by its time in
// A, in B, or by the larger of the two, in which both have room.
function place() {
  const next = [0], whole = by === "u" ? all[0].u : Math.max(all[0].a, all[0].b);
  for (const g of all) {
    g.x = next[g.d]; g.w = g[by] / whole;
    next[g.d] = g.x + g.w; next[g.d + 1] = g.x;
  }
}
// draw shows what lies below one function over the whole width, with its callers above it.
function draw() {
  if (!all.length) return;
  place();
  if (top_.w <= 0) top_ = all[0];
  const from = top_ === all[0] ? 0 : top_.x, wide = top_ === all[0] ? 1 : top_.w;
  for (const g of all) {
    const x = Math.max(0, (g.x - from) / wide), end = Math.min(1, (g.x + g.w - from) / wide);
    g.style.display = end - x > 0.0004 ? "" : "none";
    g.box.setAttribute("x", x * WIDTH);
    g.box.setAttribute("width", Math.max(0, end - x) * WIDTH);
    g.label.setAttribute("x", x * WIDTH + 3);
    const room = Math.floor(((end - x) * WIDTH - 6) / CHAR), name = g.dataset.n;
    g.label.textContent = room >= name.length ? name : room < 3 ? "" : name.slice(0, room - 1) + "…";
  }
}
// find marks the functions of a name, and says how long one of them is in the stack.
function find() {
  const text = document.getElementById("find").value, told = document.getElementById("told");
  let wanted = null, a = 0, b = 0, inside = -1;
  try { wanted = text && new RegExp(text); } catch (e) { told.textContent = "not an expression"; return; }
  for (const g of all) {
    const found = !!wanted && wanted.test(g.dataset.n);
    g.box.classList.toggle("found", found);
    if (g.d <= inside) inside = -1; // what comes now is no part of the last that was found
    if (found && inside < 0) { a += g.a; b += g.b; inside = g.d; }
  }
  svg.classList.toggle("dim", !!wanted);
  const more = b >= a ? "+" : "";
  told.textContent = wanted ? "A " + a.toFixed(2) + ", B " + b.toFixed(2) + ", B - A " + more + (b - a).toFixed(2) + " ns/KB" : "";
}
document.getElementById("find").addEventListener("input", find);
document.getElementById("reset").addEventListener("click", () => { document.getElementById("find").value = ""; top_ = all[0]; find(); draw(); });
for (const button of document.querySelectorAll("button[data-by]")) {
  button.addEventListener("click", () => {
    by = button.dataset.by;
    for (const other of document.querySelectorAll("button[data-by]")) other.disabled = other === button;
    draw();
  });
}
