// SPDX-License-Identifier: MIT
"use strict";
const WIDTH = 1200, LINE = 17, CHAR = 6.6;
for (const part of document.querySelectorAll(".flamegraph")) flame(part);
// flame makes one graph of the page answer to clicks and to its field; one of two sides, A and B,
// also to the buttons that say by which of them a box is as wide as it is.
function flame(part) {
  const svg = part.querySelector("svg"), all = [...svg.querySelectorAll("g")];
  const field = part.querySelector(".find"), told = part.querySelector(".told");
  const sides = [...part.querySelectorAll("button[data-by]")];
  let top = all[0], by = "u";
  for (const g of all) {
    for (const key of sides.length ? ["a", "b", "u"] : ["x", "w"]) g[key] = +g.dataset[key];
    g.box = g.querySelector("rect"); g.label = g.querySelector("text");
    g.depth = g.box.getAttribute("y") / LINE;
    g.box.addEventListener("click", () => { top = g; draw(); if (!field.value) told.textContent = g.querySelector("title").textContent; });
  }
  // place finds where each box of two sides begins, and how wide it is, of the width of all: by its
  // time in A, in B, or by the larger of the two, in which both have room.
  function place() {
    const next = [0], whole = by === "u" ? all[0].u : Math.max(all[0].a, all[0].b);
    for (const g of all) {
      g.x = next[g.depth]; g.w = g[by] / whole;
      next[g.depth] = g.x + g.w; next[g.depth + 1] = g.x;
    }
    if (top.w <= 0) top = all[0];
  }
  // draw shows what lies below one function over the whole width, with its callers above it.
  function draw() {
    if (!all.length) return;
    if (sides.length) place();
    const from = top === all[0] ? 0 : top.x, wide = top === all[0] ? 1 : top.w;
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
  // find marks the functions of a name, and says how much of the time has one of them in its stack.
  function find() {
    let wanted = null, inside = -1;
    const sum = { w: 0, a: 0, b: 0 };
    try { wanted = field.value && new RegExp(field.value); } catch (e) { told.textContent = "not an expression"; return; }
    for (const g of all) {
      const found = !!wanted && wanted.test(g.dataset.n);
      g.box.classList.toggle("found", found);
      // Boxes come from the outermost in: one inside the last that was found is counted with it.
      if (g.depth <= inside) inside = -1;
      if (found && inside < 0) {
        for (const key in sum) sum[key] += g[key];
        inside = g.depth;
      }
    }
    svg.classList.toggle("dim", !!wanted);
    told.textContent = !wanted ? "" : sides.length ? ofSides(sum.a, sum.b) : (100 * sum.w).toFixed(1) + " %";
  }
  function ofSides(a, b) {
    return "A " + a.toFixed(2) + ", B " + b.toFixed(2) + ", B - A " + (b >= a ? "+" : "") + (b - a).toFixed(2) + " ns/kB";
  }
  field.addEventListener("input", find);
  part.querySelector(".reset").addEventListener("click", () => { field.value = ""; top = all[0]; find(); draw(); });
  for (const button of sides) {
    button.addEventListener("click", () => {
      by = button.dataset.by;
      for (const other of sides) other.disabled = other === button;
      draw();
    });
  }
}
