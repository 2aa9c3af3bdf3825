// SPDX-License-Identifier: MIT
"use strict";
// The page is whole without this: it makes tables sortable, and tells of marks where they are.

// value is what a cell of a table is sorted by: its first number where the column has numbers, null
// where nothing was measured.
function value(td, number) {
  const text = td ? td.textContent.trim() : "";
  if (!number) return text;
  const m = text.match(/-?\d+(\.\d+)?/);
  if (!m || /^-(?!\d)|^n=/.test(text)) return null;
  return +m[0] + (text[0] === "<" ? -1e-9 : text[0] === ">" ? 1e-9 : 0);
}
// wanted makes a test of a filter: ">20", "<= 3", "5..7", else words that have to be there.
function wanted(filter, number) {
  const f = filter.trim();
  let m;
  if (number && (m = f.match(/^(<=|>=|<|>|=)\s*(-?[\d.]+)$/))) {
    const [, op, n] = m;
    return td => {
      const v = value(td, true);
      return v !== null && { "<": v < +n, ">": v > +n, "<=": v <= +n, ">=": v >= +n, "=": v === +n }[op];
    };
  }
  if (number && (m = f.match(/^(-?[\d.]+)\s*\.\.\s*(-?[\d.]+)$/))) {
    return td => { const v = value(td, true); return v !== null && v >= +m[1] && v <= +m[2]; };
  }
  const words = f.toLowerCase().split(/\s+/);
  return td => { const text = td ? td.textContent.toLowerCase() : ""; return words.every(w => text.includes(w)); };
}
function element(name, of, into) { return into.appendChild(Object.assign(document.createElement(name), of)); }
// sortable gives a table buttons in its head, and below it fields to filter by.
function sortable(table) {
  const body = table.tBodies[0], rows = [...body.rows], head = table.tHead.rows[0], heads = [...head.cells];
  if (rows.length < 2) return;
  table.classList.add("sortable");
  const names = heads.map(th => [...th.childNodes].map(n => n.textContent).join(" ").trim() || th.textContent.trim());
  const numbers = heads.map(th => th.classList.contains("n"));
  let by = -1, down = false;
  const tools = document.createElement("div");
  tools.className = "tools";
  const label = element("label", { textContent: "Sort by " }, tools), choice = element("select", {}, label);
  element("option", { value: -1, textContent: "the plan's order" }, choice);
  names.forEach((name, i) => element("option", { value: i, textContent: name }, choice));
  const open = element("button", { type: "button", textContent: "Filter" }, tools);
  const count = element("span", { className: "count" }, tools);
  count.setAttribute("aria-live", "polite");
  open.setAttribute("aria-expanded", "false");
  const frame = table.closest(".scroll") || table;
  frame.before(tools);

  function sort(column, fall) {
    by = column; down = fall;
    const order = rows.map((row, i) => ({ row, i, v: by < 0 ? i : value(row.cells[by], numbers[by]) }));
    order.sort((a, b) => {
      if (by < 0) return a.i - b.i;
      if (a.v === null || b.v === null) return (a.v === null) - (b.v === null) || a.i - b.i;
      const c = numbers[by] ? a.v - b.v : a.v.localeCompare(b.v, undefined, { numeric: true });
      return (down ? -c : c) || a.i - b.i;
    });
    body.append(...order.map(o => o.row));
    heads.forEach((th, i) => i === by ? th.setAttribute("aria-sort", down ? "descending" : "ascending") : th.removeAttribute("aria-sort"));
    choice.value = by;
  }
  // A column is sorted the way that one looks for first, then the other way round, then as it was.
  function next(column) {
    const begin = numbers[column];
    if (by !== column) sort(column, begin);
    else if (down === begin) sort(column, !begin);
    else sort(-1, false);
  }
  heads.forEach((th, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...th.childNodes);
    th.append(button);
    button.addEventListener("click", () => next(i));
  });
  choice.addEventListener("change", () => sort(+choice.value, +choice.value >= 0 && numbers[+choice.value]));

  const line = table.tHead.insertRow();
  line.className = "filter";
  line.hidden = true;
  const fields = names.map((name, i) => {
    const field = element("input", { type: "search", placeholder: numbers[i] ? "> 0" : "words" }, element("th", {}, line));
    field.setAttribute("aria-label", "filter by " + name);
    field.addEventListener("input", filter);
    return field;
  });
  function filter() {
    const tests = fields.map((f, i) => f.value.trim() && !line.hidden ? wanted(f.value, numbers[i]) : null);
    let shown = 0;
    for (const row of rows) {
      row.hidden = tests.some((t, i) => t && !t(row.cells[i]));
      if (!row.hidden) shown++;
    }
    count.textContent = shown < rows.length ? shown + " of " + rows.length + " rows" : "";
  }
  open.addEventListener("click", () => {
    line.hidden = !line.hidden;
    table.classList.toggle("filtering", !line.hidden);
    open.setAttribute("aria-expanded", String(!line.hidden));
    filter();
    if (!line.hidden) fields[0].focus({ preventScroll: true });
  });
  const phone = matchMedia("(max-width: 64rem)"), named = () => fields.forEach((f, i) => { f.placeholder = phone.matches ? names[i] : numbers[i] ? "> 0" : "words"; });
  phone.addEventListener("change", named);
  named();
}
// told shows what a mark stands for beside it, in place of the browser's slow and plain way.
function told(chart) {
  const tip = element("div", { className: "tip", hidden: true }, document.body);
  tip.setAttribute("role", "tooltip");
  for (const mark of chart.querySelectorAll("a.m")) {
    const title = mark.querySelector("title"), text = title.textContent;
    mark.setAttribute("aria-label", text);
    title.remove();
    const show = () => {
      tip.textContent = text;
      tip.hidden = false;
      const at = (mark.querySelector(".s") || mark).getBoundingClientRect(), room = document.documentElement.clientWidth;
      const left = Math.max(8, Math.min(at.right + 12, room - tip.offsetWidth - 8));
      const below = left < at.right + 4 ? at.bottom + 10 : at.top;
      tip.style.left = left + scrollX + "px";
      tip.style.top = below + scrollY + "px";
    };
    const hide = () => { tip.hidden = true; };
    mark.addEventListener("pointerenter", show);
    mark.addEventListener("focus", show);
    mark.addEventListener("pointerleave", hide);
    mark.addEventListener("blur", hide);
  }
}
// Where the window is narrow each row becomes a card, whose figures have their headings beside them.
document.querySelectorAll("table.wide:not(.cards):not(.env)").forEach(table => {
  const heads = [...table.querySelectorAll("thead th")].map(th => [...th.childNodes].map(n => n.textContent).join(" ").trim());
  table.querySelectorAll("tbody tr").forEach(tr => [...tr.cells].forEach((td, i) => {
    if (td.classList.contains("mode")) td.classList.add("all"); else if (heads[i]) td.dataset.h = heads[i];
  }));
  table.classList.add("cards");
});
document.querySelectorAll("table.sort").forEach(sortable);
document.querySelectorAll(".chart").forEach(told);
// Who follows a link to what is folded, or prints, sees it.
function unfold() { const at = document.getElementById(decodeURIComponent(location.hash.slice(1))), part = at && at.closest("details"); if (part) { part.open = true; at.scrollIntoView(); } }
addEventListener("hashchange", unfold);
unfold();
addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details.part:not([open])")) { d.open = true; d.dataset.printed = ""; } });
addEventListener("afterprint", () => { for (const d of document.querySelectorAll("details[data-printed]")) { d.open = false; delete d.dataset.printed; } });
