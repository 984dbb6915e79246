"use strict";
(() => {
  const page = JSON.parse(document.getElementById("numbers").textContent);
  const about = new Map(page.about);
  const $ = (id) => document.getElementById(id);
  const SYMBOLS = ["circle", "diamond", "square", "triangle", "star", "cross"];

  // Text from the data enters the page as text only. Isolates keep right-to-left names from turning their neighbours.
  const isolated = (text) => "\u2068" + text + "\u2069";
  const onOneLine = (text) => text.replace(/\s+/g, " ").trim();
  // Text that is too long loses its end, or its middle if one of the others begins like it.
  const clipped = (text, most, others = []) => {
    const line = onOneLine(text), letters = Array.from(line);
    if (letters.length <= most) return isolated(line);
    const begin = letters.slice(0, most - 1).join("");
    if (!others.some((other) => other !== text && onOneLine(other).startsWith(begin))) return isolated(begin.trimEnd() + "…");
    const first = Math.ceil((most - 1) / 2);
    return isolated(letters.slice(0, first).join("").trimEnd() + "…" + letters.slice(letters.length - (most - 1 - first)).join("").trimStart());
  };
  const signed = (value, digits = 3) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits);
  const threeDigits = (value) => {
    const text = value.toPrecision(3);
    return text.includes("e") ? String(Number(text)) : text;
  };
  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const svg = (tag, attributes = {}, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const column = (place) => {
    const cell = element("th", { scope: "row" }, element("bdi", { class: "name" }, page.names[place]));
    if (about.has(place)) cell.append(element("span", { class: "about" }, element("bdi", {}, about.get(place))));
    return cell;
  };
  const bar = (value, all) => {
    const most = Math.max(...all.map(Math.abs)), left = Math.min(...all) < 0 ? -most : 0;
    return element("td", { class: "bar-cell" },
      svg("svg", { class: "bar", viewBox: `${left} 0 ${most - left} 1`, preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", { class: value >= 0 ? "plus" : "minus", x: Math.min(value, 0), y: 0.12, width: Math.abs(value), height: 0.76 }),
        svg("path", { d: "M0 0V1" })));
  };

  // Draw into a place of the page, and again when its width changes.
  const draw = (id, make) => {
    const place = $(id);
    if (!place) return () => {};
    let width = 0;
    const again = () => {
      width = place.clientWidth || width;
      if (width) place.replaceChildren(make(width));
    };
    new ResizeObserver(() => { if (place.clientWidth && place.clientWidth !== width) again(); }).observe(place);
    again();
    return again;
  };

  // Variance against the number of columns, with the slider, the click and the table of the set that is shown.
  page.paths.forEach((path) => {
    const number = path.component;
    const own = path.k.includes(path.chosen) ? [path.chosen] : [];
    const slider = $(`slider-${number}`), shown = $(`shown-${number}`), back = $(`back-${number}`);
    const words = $(`words-${number}`), body = $(`support-${number}`).tBodies[0], more = $(`more-${number}`);
    const first = { words: words.textContent, rows: Array.from(body.rows) };
    const data = path.k.map((k, i) => ({ k, found: path.found[i], upper: path.upper[i] }));
    let current = path.chosen;
    const again = draw(`path-chart-${number}`, (width) => {
      const i = path.k.indexOf(current);
      const bounded = data.filter((d) => d.upper !== null);
      const top = Math.max(...data.map((d) => d.upper ?? d.found));
      const picture = Charts.plot({
        width, height: Math.min(345, Math.max(255, width * 0.52)), marginLeft: 46, marginBottom: 42, marginTop: 44, marginRight: 14,
        ariaLabel: `Variance against the number of columns of component ${number}`,
        x: { label: "Number of columns", labelAnchor: "center", labelArrow: "none", domain: [path.k[0], path.k.at(-1)], ticks: Math.min(path.k.length, 10), tickFormat: (k) => (Number.isInteger(k) ? String(k) : "") },
        y: { label: page.unit, labelArrow: "none", domain: [0, top * 1.04], grid: true },
        marks: [
          Charts.areaY(bounded, { x: "k", y1: "found", y2: "upper", fill: "var(--band)", fillOpacity: 0.22 }),
          Charts.line(bounded, { x: "k", y: "upper", stroke: "var(--band)", strokeWidth: 1, strokeDasharray: "4 3" }),
          Charts.line(data, { x: "k", y: "found", stroke: "var(--band)", strokeWidth: 2 }),
          Charts.dot(data, { x: "k", y: "found", r: data.length > 30 ? 1.6 : 2.4, fill: "var(--band)" }),
          Charts.ruleX(own, { stroke: "var(--soft)", strokeDasharray: "2 3" }),
          Charts.text(own, { x: (k) => k, frameAnchor: "top", dy: -13, text: (k) => `chosen: ${k}`, fill: "currentColor", textAnchor: path.chosen > path.k[0] + 0.85 * (path.k.at(-1) - path.k[0]) ? "end" : "start" }),
          i < 0 ? null : Charts.ruleX([data[i]], { x: "k", y1: 0, y2: "found", stroke: "currentColor", strokeWidth: 1.2 }),
          i < 0 ? null : Charts.dot([data[i]], { x: "k", y: "found", r: 6, fill: "var(--ground)", stroke: "currentColor", strokeWidth: 2.2 }),
        ],
      });
      picture.addEventListener("click", (event) => {
        const box = picture.getBoundingClientRect();
        const at = picture.scale("x").invert(((event.clientX - box.left) / box.width) * width);
        show(Math.max(path.k[0], Math.min(path.k.at(-1), Math.round(at))));
      });
      return picture;
    });
    const show = (k) => {
      current = k;
      slider.value = String(k);
      shown.textContent = String(k);
      slider.setAttribute("aria-valuetext", `${k} columns`);
      back.disabled = k === path.chosen;
      const i = path.k.indexOf(k);
      if (k === path.chosen || i < 0) {
        words.textContent = first.words;
        body.replaceChildren(...first.rows);
      } else {
        words.textContent = path.words[i];
        const extra = first.rows.length && first.rows[0].cells.length > 3;
        body.replaceChildren(...path.features[i].map((place, at) => {
          const loading = path.loadings[i][at];
          const row = element("tr", {}, column(place), element("td", { class: "number" }, signed(loading)), bar(loading, path.loadings[i]));
          if (extra) row.append(element("td", { class: "number" }, ""));
          return row;
        }));
      }
      if (more) more.hidden = k !== path.chosen;
      again();
    };
    slider.form.hidden = false;
    slider.form.addEventListener("submit", (event) => event.preventDefault());
    slider.addEventListener("input", () => show(Number(slider.value)));
    back.addEventListener("click", () => show(path.chosen));
    back.disabled = true;
    slider.setAttribute("aria-valuetext", `${slider.value} columns`);
    window.addEventListener("beforeprint", () => show(path.chosen));
  });

  // All loadings as a heat map, with the sign and the number in each cell.
  const MOST_CELLS = 40, MOST_ARROWS = 12;
  const cells = [];
  const strongest = new Map();
  page.components.forEach((one, c) => one.features.forEach((place, i) => {
    const value = one.loadings[i];
    cells.push({ place, c: c + 1, value });
    if (!(strongest.get(place)?.size >= Math.abs(value))) strongest.set(place, { size: Math.abs(value), c });
  }));
  const rows = Array.from(strongest, ([place, top]) => ({ place, ...top })).sort((a, b) => b.size - a.size).slice(0, MOST_CELLS)
    .sort((a, b) => a.c - b.c || b.size - a.size).map((d) => d.place);
  if (rows.length < strongest.size) $("loadings-note").textContent = `Shown are the ${rows.length} with the largest loadings of ${strongest.size}.`;
  const kept = new Set(rows);
  draw("loadings-chart", (width) => {
    const left = Math.min(230, width * 0.4), count = page.components.length;
    const wide = Math.min(width, left + 110 * count + 20), each = (wide - left) / count;
    return Charts.plot({
      width: wide, height: 44 + 25 * rows.length, marginLeft: left, marginTop: 34, marginBottom: 8,
      ariaLabel: "Loadings of all components",
      x: { axis: "top", domain: page.components.map((_, c) => c + 1), label: null, tickSize: 0, tickFormat: (c) => (each > 95 ? `Component ${c}` : String(c)), padding: 0.04 },
      y: { domain: rows, label: null, tickSize: 0, tickFormat: (place) => clipped(page.names[place], Math.floor(left / 7.2), page.names), padding: 0.08 },
      marks: [
        Charts.cell(rows.flatMap((place) => page.components.map((_, c) => ({ place, c: c + 1 }))), { x: "c", y: "place", fill: "var(--panel)", rx: 2 }),
        Charts.cell(cells.filter((d) => kept.has(d.place)), { x: "c", y: "place", rx: 2, fill: (d) => (d.value >= 0 ? "var(--plus)" : "var(--minus)"), fillOpacity: (d) => 0.12 + 0.6 * Math.abs(d.value), title: (d) => `${isolated(page.names[d.place])}: ${signed(d.value)}` }),
        each > 42 ? Charts.text(cells.filter((d) => kept.has(d.place)), { x: "c", y: "place", text: (d) => signed(d.value, 2), fill: "currentColor" }) : null,
      ].filter(Boolean),
      opacity: { type: "identity" },
      color: { type: "identity" },
    });
  });

  // Variances of ordinary PCA.
  if (page.scree) {
    const { found, noise } = page.scree;
    const data = found.map((value, i) => ({ number: i + 1, value }));
    draw("scree-chart", (width) => Charts.plot({
      width: Math.min(width, 760), height: 290, marginLeft: 46, marginBottom: 42, marginTop: 26,
      ariaLabel: "Variances of the components of ordinary PCA",
      x: { label: "Component of ordinary PCA", labelAnchor: "center", labelArrow: "none", domain: [0.6, found.length + 0.4], ticks: found.length, tickFormat: (k) => (Number.isInteger(k) ? String(k) : "") },
      y: { label: page.unit, labelArrow: "none", grid: true, domain: [Math.min(0, ...found), Math.max(...found, ...(noise ?? [])) * 1.05] },
      marks: [
        Charts.line(data, { x: "number", y: "value", stroke: "var(--band)", strokeWidth: 2 }),
        Charts.dot(data, { x: "number", y: "value", fill: "var(--band)", r: 4 }),
        noise ? Charts.line(noise, { x: (_, i) => i + 1, y: (d) => d, stroke: "currentColor", strokeDasharray: "5 4" }) : null,
        noise ? Charts.text(noise.slice(-1), { x: noise.length, y: (d) => d, text: () => "noise", dy: -9, textAnchor: "end", fill: "currentColor" }) : null,
      ].filter(Boolean),
    }));
  }

  // The table of all columns.
  const table = $("search-table"), search = $("search"), top = $("search-top"), count = $("search-count");
  const columns = page.components.slice(0, 8).map((one) => new Map(one.features.map((place, i) => [place, one.loadings[i]])));
  const reasons = new Map();
  page.leftOut.forEach((place) => reasons.set(place, "It does not vary, or only by rounding."));
  const weight = page.names.map((_, place) => Math.max(0, ...columns.map((column) => Math.abs(column.get(place) ?? 0))));
  const byWeight = page.names.map((_, place) => place).sort((a, b) => weight[b] - weight[a] || (page.variances ? page.variances[b] - page.variances[a] : 0) || a - b);
  const said = count.textContent;
  const find = () => {
    const wanted = search.value.trim().toLocaleLowerCase();
    const hits = byWeight.filter((place) => !wanted || page.names[place].toLocaleLowerCase().includes(wanted) || (about.get(place) ?? "").toLocaleLowerCase().includes(wanted));
    const shown = hits.slice(0, Number(top.value));
    table.tBodies[0].replaceChildren(...shown.map((place) => {
      const row = element("tr", {}, column(place));
      if (reasons.has(place)) row.cells[0].append(element("span", { class: "about" }, reasons.get(place)));
      if (page.variances) row.append(element("td", { class: "number" }, page.variances[place] === null ? "" : threeDigits(page.variances[place])));
      columns.forEach((column) => row.append(element("td", { class: "number" }, column.has(place) ? signed(column.get(place)) : "·")));
      return row;
    }));
    count.textContent = `${said} ${shown.length.toLocaleString("en")} of ${hits.length.toLocaleString("en")} columns, those with the largest loadings first.`.trim();
  };
  table.hidden = false;
  $("search-controls").hidden = false;
  $("search-controls").addEventListener("submit", (event) => event.preventDefault());
  search.addEventListener("input", find);
  top.addEventListener("change", find);
  find();

  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
  if (page.points) rowsPicture();

  // The rows in the plane of two components, or along one.
  function rowsPicture() {
    const { scores, rows: numbers, labels, groups, sizes, codes, ordered } = page.points;
    const colour = (code) => (groups ? (ordered ? `var(--s${Math.min(code, 4)})` : `var(--g${code})`) : "var(--g0)");
    const symbol = (code) => (ordered ? "circle" : SYMBOLS[code % SYMBOLS.length]);
    const codeOf = (i) => (codes ? codes[i] : 0);
    const nameOf = (i) => (labels ? labels[i] : `row ${numbers[i] + 1}`);
    const xs = $("rows-x"), ys = $("rows-y"), arrowsOn = $("rows-arrows"), labelsOn = $("rows-labels");
    scores.forEach((_, c) => [xs, ys].forEach((one) => one.append(element("option", { value: c }, `component ${c + 1}`))));
    xs.value = "0";
    ys.value = String(Math.min(1, scores.length - 1));
    if (scores.length < 2) { ys.parentElement.hidden = true; xs.parentElement.hidden = true; arrowsOn.parentElement.hidden = true; }
    if (!labels || scores.length < 2) labelsOn.parentElement.hidden = true;
    $("rows-controls").hidden = scores.length < 2;
    $("rows-controls").addEventListener("submit", (event) => event.preventDefault());
    if (groups) {
      $("rows-legend").append(...groups.map((name, code) => {
        const number = sizes[code];
        const mark = Charts.plot({ width: 14, height: 14, margin: 0, axis: null, x: { domain: [-1, 1] }, y: { domain: [-1, 1] }, symbol: { type: "identity" }, marks: [Charts.dot([0], { x: 0, y: 0, r: 5, symbol: symbol(code), fill: colour(code) })] });
        mark.setAttribute("aria-hidden", "true");
        return element("span", {}, mark, element("bdi", { title: name }, clipped(name, 60)), ` (${number.toLocaleString("en")})`);
      }));
    }
    const label = (c) => `Component ${c + 1}` + (page.components[c].share ? `: ${page.components[c].share}` : "");
    const note = $("rows-note");

    const histogram = (width) => {
      const data = scores[0].map((x, i) => ({ x, code: codeOf(i) })).filter((d) => d.x !== null);
      return Charts.plot({
        width, height: 330, marginLeft: 44, marginBottom: 42, marginTop: 26, ariaLabel: "Scores of component 1",
        x: { label: label(0), labelAnchor: "center", labelArrow: "none" }, y: { label: "rows", labelArrow: "none", grid: true },
        marks: [Charts.rectY(data, Charts.binX({ y: "count" }, { x: "x", z: "code", fill: (d) => colour(d.code), thresholds: 30, inset: 0.5 })), Charts.ruleY([0])],
        color: { type: "identity" },
      });
    };

    const plane = (width) => {
      const a = Number(xs.value), b = Number(ys.value);
      const height = Math.max(320, Math.min(560, width * 0.78));
      const margin = { left: 48, right: 18, top: 22, bottom: 44 };
      const points = scores[a].map((x, i) => ({ i, x, y: scores[b][i], code: codeOf(i) })).filter((d) => d.x !== null && d.y !== null);
      const span = (values) => {
        const low = Math.min(0, ...values), high = Math.max(0, ...values), pad = 0.09 * (high - low || 1);
        return [low - pad, high + pad];
      };
      const dx = span(points.map((d) => d.x)), dy = span(points.map((d) => d.y));
      const perX = (width - margin.left - margin.right) / (dx[1] - dx[0]), perY = (height - margin.top - margin.bottom) / (dy[1] - dy[0]);
      const px = (x) => margin.left + (x - dx[0]) * perX, py = (y) => height - margin.bottom - (y - dy[0]) * perY;
      const x_ = (p) => (p - margin.left) / perX + dx[0], y_ = (p) => (height - margin.bottom - p) / perY + dy[0];
      const inside = (box) => box[0] >= 2 && box[2] <= width - 2 && box[1] >= 2 && box[3] <= height - margin.bottom + 6;
      const size = points.length > 800 ? 2.2 : points.length > 250 ? 3 : 4;

      // Rows of one group at one place are one spot; its area is their number.
      const spots = new Map();
      for (const d of points) {
        const key = `${d.x}|${d.y}|${d.code}`;
        if (!spots.has(key)) spots.set(key, { ...d, members: [], place: `${d.x}|${d.y}` });
        spots.get(key).members.push(d.i);
      }
      const marks = Array.from(spots.values());
      const most = Math.max(...marks.map((d) => d.members.length), 1);
      const unit = Math.min(size, (0.055 * Math.min(width, height)) / Math.sqrt(most));
      const least = most > 1 ? Math.max(unit, 2.6) : unit;
      marks.forEach((d) => { d.r = Math.max(least, unit * Math.sqrt(d.members.length)); d.px = px(d.x); d.py = py(d.y); });
      // Groups at one place stand above each other.
      const stacks = new Map();
      marks.forEach((d) => stacks.set(d.place, [...(stacks.get(d.place) ?? []), d]));
      for (const stack of stacks.values()) {
        if (stack.length < 2) continue;
        let at = -stack.reduce((sum, d) => sum + 2 * d.r + 1, 0) / 2;
        for (const d of stack.sort((m, n) => m.code - n.code)) { d.py += at + d.r; at += 2 * d.r + 1; }
      }
      // Spots of data with few values that still overlap are pushed apart a little.
      if (most > 1 && marks.length < 300) {
        marks.forEach((d) => { d.home = [d.px, d.py]; });
        for (let pass = 0; pass < 30; pass += 1) {
          for (let i = 0; i < marks.length; i += 1) {
            for (let j = 0; j < i; j += 1) {
              const m = marks[i], n = marks[j], gap = m.r + n.r + 1;
              const away = [m.px - n.px, m.py - n.py], distance = Math.hypot(...away);
              if (distance >= gap) continue;
              const push = (gap - distance) / 2, unit = distance > 0.01 ? [away[0] / distance, away[1] / distance] : [0, 1];
              m.px += push * unit[0]; m.py += push * unit[1]; n.px -= push * unit[0]; n.py -= push * unit[1];
            }
          }
        }
        const near = 14;
        marks.forEach((d) => {
          d.px = Math.max(d.home[0] - near, Math.min(d.home[0] + near, d.px));
          d.py = Math.max(d.home[1] - near, Math.min(d.home[1] + near, d.py));
        });
      }
      marks.sort((m, n) => n.r - m.r);
      marks.forEach((d) => { d.X = x_(d.px); d.Y = y_(d.py); d.title = titleOf(d); });

      const taken = [];
      const free = (box) => inside(box) && !taken.some((t) => box[0] < t[2] && t[0] < box[2] && box[1] < t[3] && t[1] < box[3]);
      const around = (text, x, y, r, near) => {
        const w = 6.6 * Math.min(Array.from(text).length, 60) + 2, h = 14;
        const spotsAround = near.concat([[1, 0], [-1, 0], [0, -1], [0, 1], [0.8, -0.8], [-0.8, -0.8], [0.8, 0.8], [-0.8, 0.8], [1.6, -1.6], [-1.6, -1.6], [1.6, 1.6], [-1.6, 1.6], [0, -2.4], [0, 2.4]]);
        for (const [u, v] of spotsAround) {
          const cx = x + u * (r + 5) + (u > 0.3 ? w / 2 : u < -0.3 ? -w / 2 : 0), cy = y + v * (r + 9);
          const box = [cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2];
          if (free(box)) { taken.push(box); return { text, X: x_(cx), Y: y_(cy), far: Math.hypot(u, v) > 1.3 }; }
        }
        return null;
      };

      // Arrows of the columns that either component uses.
      const arrows = [], names = [];
      if (arrowsOn.checked) {
        const found = new Map();
        [[a, "u"], [b, "v"]].forEach(([c, axis]) => page.components[c].features.forEach((place, i) => {
          const one = found.get(place) ?? { place, u: 0, v: 0 };
          one[axis] = page.components[c].loadings[i];
          found.set(place, one);
        }));
        let all = Array.from(found.values()).sort((m, n) => Math.hypot(n.u, n.v) - Math.hypot(m.u, m.v));
        note.textContent = `Arrows: loadings of the ${all.length > MOST_ARROWS ? `${MOST_ARROWS} columns with the largest of ${all.length}` : "chosen columns"}, enlarged to fit.`;
        all = all.slice(0, MOST_ARROWS);
        const reach = Math.min(...all.map((d) => Math.min(
          d.u ? (0.52 * (d.u > 0 ? dx[1] : -dx[0])) / Math.abs(d.u) : Infinity,
          d.v ? (0.52 * (d.v > 0 ? dy[1] : -dy[0])) / Math.abs(d.v) : Infinity)));
        // Arrows along an axis would cover each other: they stand side by side.
        const shift = (d, axis, other) => {
          if (d[other] !== 0) return 0;
          const beside = all.filter((one) => one[other] === 0 && one[axis] * d[axis] > 0);
          return 15 * (beside.indexOf(d) - (beside.length - 1) / 2);
        };
        all.forEach((d) => {
          const shiftY = shift(d, "u", "v"), shiftX = shift(d, "v", "u");
          const end = [px(reach * d.u) + shiftX, py(reach * d.v) + shiftY], start = [px(0) + shiftX, py(0) + shiftY];
          arrows.push({ x1: x_(start[0]), y1: y_(start[1]), x2: x_(end[0]), y2: y_(end[1]) });
          taken.push([Math.min(start[0], end[0]), Math.min(start[1], end[1]) - 1, Math.max(start[0], end[0]), Math.max(start[1], end[1]) + 1]);
          d.end = end;
        });
        all.forEach((d) => {
          const text = clipped(page.names[d.place], 18, page.names);
          const near = d.v === 0 ? [[Math.sign(d.u), 0]] : d.u === 0 ? [[0, -Math.sign(d.v)]] : [[Math.sign(d.u), 0]];
          const placed = around(text, d.end[0], d.end[1], 0, near);
          if (placed) names.push(placed);
        });
      } else note.textContent = "";
      marks.forEach((d) => taken.push([d.px - d.r, d.py - d.r, d.px + d.r, d.py + d.r]));
      const tags = [];
      if (labels && labelsOn.checked) {
        const far = (d) => Math.hypot((d.px - px(0)) / width, (d.py - py(0)) / height);
        const few = marks.filter((d) => d.members.length <= 3).sort((m, n) => far(n) - far(m));
        for (const d of few.slice(0, 120)) {
          if (tags.length >= (width < 480 ? 8 : 28)) break;
          const words = d.members.map((i) => clipped(nameOf(i), d.members.length > 1 ? 14 : 22)).join(", ");
          const placed = around(words, d.px, d.py, d.r, []);
          if (placed) tags.push({ ...placed, x: d.X, y: d.Y });
        }
      }
      const halo = { stroke: "var(--ground)", strokeWidth: 3, strokeLinejoin: "round", paintOrder: "stroke" };
      return Charts.plot({
        width, height, marginLeft: margin.left, marginRight: margin.right, marginTop: margin.top, marginBottom: margin.bottom,
        ariaLabel: `Rows in the plane of component ${a + 1} and component ${b + 1}`,
        x: { domain: dx, label: label(a), labelAnchor: "center", labelArrow: "none", ticks: 6 },
        y: { domain: dy, label: label(b), labelArrow: "none", ticks: 6 },
        r: { type: "identity" }, color: { type: "identity" }, symbol: { type: "identity" }, opacity: { type: "identity" },
        marks: [
          Charts.gridX({ ticks: 6, strokeOpacity: 0.09 }), Charts.gridY({ ticks: 6, strokeOpacity: 0.09 }),
          Charts.ruleX([0], { strokeOpacity: 0.25 }), Charts.ruleY([0], { strokeOpacity: 0.25 }),
          Charts.dot(marks, { x: "X", y: "Y", r: "r", symbol: (d) => symbol(d.code), fill: (d) => colour(d.code), fillOpacity: points.length > 800 ? (arrowsOn.checked ? 0.4 : 0.6) : 0.9, stroke: points.length > 800 ? null : "var(--ground)", strokeWidth: 0.8 }),
          Charts.text(marks.filter((d) => d.members.length > 1 && d.r >= 8), { x: "X", y: "Y", text: (d) => String(d.members.length), fill: "var(--ground)", fontWeight: 600 }),
          Charts.link(tags.filter((d) => d.far), { x1: "x", y1: "y", x2: "X", y2: "Y", stroke: "var(--soft)", strokeOpacity: 0.5 }),
          Charts.text(tags, { x: "X", y: "Y", text: "text", fill: "var(--soft)", ...halo }),
          Charts.arrow(arrows, { x1: "x1", y1: "y1", x2: "x2", y2: "y2", stroke: "currentColor", strokeWidth: 1.5, headLength: 7 }),
          Charts.text(names, { x: "X", y: "Y", text: "text", fill: "currentColor", fontWeight: 600, ...halo }),
          Charts.tip(marks, Charts.pointer({ x: "X", y: "Y", title: "title", fill: "var(--panel)", stroke: "var(--line)" })),
        ],
      });
    };
    const titleOf = (d) => {
      const listed = d.members.slice(0, 8).map((i) => clipped(nameOf(i), 40));
      if (d.members.length > 8) listed.push(`and ${d.members.length - 8} more`);
      return (groups ? clipped(groups[d.code], 40) + "\n" : "") + listed.join("\n");
    };
    const again = draw("rows-chart", scores.length < 2 ? histogram : plane);
    [xs, ys, arrowsOn, labelsOn].forEach((one) => one.addEventListener("change", again));
  }
})();
