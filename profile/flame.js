// SPDX-License-Identifier: MIT
"use strict";
const WIDTH = 1200, CHAR = 6.6;
for (const part of document.querySelectorAll(".flamegraph")) flame(part);
// flame makes one graph of the page answer to clicks and to its field.
function flame(part) {
  const svg = part.querySelector("svg"), all = [...svg.querySelectorAll("g")];
  const field = part.querySelector(".find"), share = part.querySelector(".share");
  for (const g of all) {
    g.x = +g.dataset.x; g.w = +g.dataset.w; g.box = g.querySelector("rect"); g.label = g.querySelector("text");
    g.box.addEventListener("click", () => zoom(g));
  }
  // zoom shows what lies below one function over the whole width, with its callers above it.
  function zoom(to) {
    for (const g of all) {
      const x = Math.max(0, (g.x - to.x) / to.w), end = Math.min(1, (g.x + g.w - to.x) / to.w);
      g.style.display = end - x > 0.0004 ? "" : "none";
      g.box.setAttribute("x", x * WIDTH);
      g.box.setAttribute("width", Math.max(0, end - x) * WIDTH);
      g.label.setAttribute("x", x * WIDTH + 3);
      const room = Math.floor(((end - x) * WIDTH - 6) / CHAR), name = g.dataset.n;
      g.label.textContent = room >= name.length ? name : room < 3 ? "" : name.slice(0, room - 1) + "…";
    }
  }
  // find marks the functions of a name, and says what share of the time has one of them in its stack.
  function find() {
    let wanted = null;
    try { wanted = field.value && new RegExp(field.value); } catch (e) { share.textContent = "not an expression"; return; }
    let sum = 0, until = -1;
    for (const g of all) {
      const found = !!wanted && wanted.test(g.dataset.n);
      g.box.classList.toggle("found", found);
      // Boxes come from the outermost in: one inside the last that was found is counted with it.
      if (found && g.x + g.w > until + 1e-9) { sum += g.w; until = g.x + g.w; }
    }
    svg.classList.toggle("dim", !!wanted);
    share.textContent = wanted ? (100 * sum).toFixed(1) + " %" : "";
  }
  field.addEventListener("input", find);
  part.querySelector(".reset").addEventListener("click", () => { field.value = ""; find(); if (all.length) zoom(all[0]); });
}
