// SPDX-License-Identifier: MIT
"use strict";
const svg = document.getElementById("flame"), all = [...svg.querySelectorAll("g")];
const WIDTH = 1200, CHAR = 6.6;
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
  const text = document.getElementById("find").value, share = document.getElementById("share");
  let wanted = null;
  try { wanted = text && new RegExp(text); } catch (e) { share.textContent = "not an expression"; return; }
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
document.getElementById("find").addEventListener("input", find);
document.getElementById("reset").addEventListener("click", () => { document.getElementById("find").value = ""; find(); zoom(all[0]); });
