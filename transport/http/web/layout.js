// Where the nodes and links of a graph are drawn: in layers, as links lead,
// each connected part for itself. Pure: numbers in, numbers out.

const between = { layers: 64, label: 46, nodes: 22, parts: 34 };

// layout takes nodes {id, w, h} and links {from, to} by id, with the size of
// the label along the link. It returns width,
// height, nodes with x and y of their centre, and for each link the points
// that its line goes through, from border to border. With down, links lead
// downwards instead of to the right. Room is the width to fill.
export function layout(nodes, links, { down = false, room = 900 } = {}) {
  const parts = split(nodes, links).map((p) => arrange(p, down));
  parts.sort((a, b) => b.links.length - a.links.length || b.nodes.length - a.nodes.length);
  const size = pack(parts, Math.max(room, ...parts.map((p) => p.width)));
  const place = new Map();
  const lines = new Map();
  for (const p of parts) {
    for (const n of p.nodes) place.set(n.id, { x: n.x + p.left, y: n.y + p.top });
    for (const l of p.links) lines.set(l.link, l.points.map(([x, y]) => [x + p.left, y + p.top]));
  }
  return { ...size, place, lines };
}

// split returns the connected parts.
function split(nodes, links) {
  const next = new Map(nodes.map((n) => [n.id, []]));
  for (const l of links) { next.get(l.from).push(l.to); next.get(l.to).push(l.from); }
  const part = new Map();
  const parts = [];
  const byID = new Map(nodes.map((n) => [n.id, n]));
  for (const n of nodes) {
    if (part.has(n.id)) continue;
    const p = { nodes: [], links: [] };
    const todo = [n.id];
    part.set(n.id, p);
    while (todo.length) {
      const id = todo.pop();
      p.nodes.push(byID.get(id));
      for (const to of next.get(id)) if (!part.has(to)) { part.set(to, p); todo.push(to); }
    }
    parts.push(p);
  }
  for (const l of links) part.get(l.from).links.push(l);
  return parts;
}

// pack puts the parts into lines, as words on a page.
function pack(parts, room) {
  let x = 0, y = 0, line = 0, width = 0;
  for (const p of parts) {
    if (x > 0 && x + p.width > room) { x = 0; y += line + between.parts; line = 0; }
    p.left = x; p.top = y;
    x += p.width + between.parts;
    line = Math.max(line, p.height);
    width = Math.max(width, x - between.parts);
  }
  return { width, height: y + line };
}

// arrange lays out one part. "Along" is the way that links lead, "across" the other.
function arrange(part, down) {
  const cells = part.nodes.map((n) => ({ id: n.id, along: down ? n.h : n.w, across: down ? n.w : n.h, before: [], after: [] }));
  const byID = new Map(cells.map((c) => [c.id, c]));
  const loops = part.links.filter((l) => l.from === l.to);
  const chains = forward(part.links.filter((l) => l.from !== l.to), cells, byID);
  layer(cells);
  const all = [...cells];
  for (const c of chains) stretch(c, all);
  const layers = [];
  for (const c of all) (layers[c.layer] ??= []).push(c);
  order(layers);
  spread(layers);
  return drawn(part, layers, byID, chains, loops, down);
}

// forward turns the links that close a circle, so that all lead one way.
function forward(links, cells, byID) {
  const out = new Map(cells.map((c) => [c, []]));
  const into = new Map(cells.map((c) => [c, 0]));
  for (const l of links) {
    out.get(byID.get(l.from)).push(l);
    into.set(byID.get(l.to), into.get(byID.get(l.to)) + 1);
  }
  const state = new Map(); // 1: on the way, 2: done
  const chains = [];
  const walk = (start) => { // without recursion: graphs may be deep
    const stack = [[start, 0]];
    state.set(start, 1);
    while (stack.length) {
      const top = stack.at(-1);
      const l = out.get(top[0])[top[1]++];
      if (!l) { state.set(top[0], 2); stack.pop(); continue; }
      const to = byID.get(l.to);
      const back = state.get(to) === 1;
      const [a, b] = back ? [to, top[0]] : [top[0], to];
      chains.push({ link: l, back, cells: [a, b] });
      a.after.push(b); b.before.push(a);
      if (!state.has(to)) { state.set(to, 1); stack.push([to, 0]); }
    }
  };
  const starts = cells.filter((c) => into.get(c) === 0);
  for (const c of [...starts, ...cells]) if (!state.has(c)) walk(c);
  return chains;
}

// layer gives each cell the number of its layer: one more than any before it.
function layer(cells) {
  const open = new Map(cells.map((c) => [c, c.before.length]));
  const ready = cells.filter((c) => c.before.length === 0);
  for (const c of ready) c.layer = 0;
  const done = [];
  while (ready.length) {
    const c = ready.shift();
    done.push(c);
    for (const a of c.after) {
      a.layer = Math.max(a.layer ?? 0, c.layer + 1);
      open.set(a, open.get(a) - 1);
      if (open.get(a) === 0) ready.push(a);
    }
  }
  for (const c of done.reverse()) { // those with nothing before them go near what they lead to
    if (c.before.length === 0 && c.after.length) c.layer = Math.min(...c.after.map((a) => a.layer)) - 1;
  }
}

// stretch puts a cell without size into each layer that a link passes.
function stretch(chain, all) {
  const [a, b] = chain.cells;
  if (b.layer - a.layer < 2) return;
  a.after.splice(a.after.indexOf(b), 1);
  b.before.splice(b.before.indexOf(a), 1);
  let last = a;
  const cells = [a];
  for (let i = a.layer + 1; i < b.layer; i++) {
    const c = { layer: i, along: 0, across: 6, before: [last], after: [], bend: true };
    last.after.push(c);
    cells.push(c);
    all.push(c);
    last = c;
  }
  last.after.push(b);
  b.before.push(last);
  chain.cells = [...cells, b];
}

// order sorts each layer so that few links cross.
function order(layers) {
  const number = () => layers.forEach((l) => l.forEach((c, i) => { c.at = i; }));
  number();
  for (let sweep = 0; sweep < 12; sweep++) {
    const side = sweep % 2 ? 'after' : 'before';
    for (const l of sweep % 2 ? [...layers].reverse() : layers) {
      for (const c of l) c.mean = c[side].length ? average(c[side].map((o) => o.at)) : c.at;
      l.sort((a, b) => a.mean - b.mean || a.at - b.at);
      l.forEach((c, i) => { c.at = i; });
    }
  }
}

const average = (all) => all.reduce((a, b) => a + b, 0) / all.length;

// spread finds the place of each cell across: near those it is linked with.
function spread(layers) {
  for (const l of layers) {
    let at = 0;
    for (const c of l) { c.pos = at + c.across / 2; at += c.across + between.nodes; }
  }
  for (let round = 0; round < 10; round++) {
    const side = round % 2 ? 'after' : 'before';
    for (const l of round % 2 ? [...layers].reverse() : layers) {
      settle(l, l.map((c) => c[side].length ? average(c[side].map((o) => o.pos)) : c.pos));
    }
  }
}

// settle places the cells of a layer as near as can be to where they want to
// be, in their order and without touching: blocks that meet go to their mean.
function settle(cells, wants) {
  const blocks = [];
  let offset = 0;
  cells.forEach((c, i) => {
    if (i > 0) offset += (cells[i - 1].across + c.across) / 2 + between.nodes;
    c.offset = offset;
    blocks.push({ sum: wants[i] - offset, n: 1 });
    while (blocks.length > 1 && mean(blocks.at(-2)) > mean(blocks.at(-1))) {
      const b = blocks.pop();
      blocks.at(-1).sum += b.sum;
      blocks.at(-1).n += b.n;
    }
  });
  let i = 0;
  for (const b of blocks) for (let k = 0; k < b.n; k++, i++) cells[i].pos = cells[i].offset + mean(b);
}

const mean = (b) => b.sum / b.n;

// drawn turns places along and across into x and y.
function drawn(part, layers, byID, chains, loops, down) {
  const start = [];
  let along = 0, end = 0;
  for (const l of layers) {
    const deep = Math.max(...l.map((c) => c.along));
    start.push(along + deep / 2);
    end = along + deep;
    along = end + gap(chains, start.length - 1);
  }
  const low = Math.min(...layers.flat().map((c) => c.pos - c.across / 2));
  const high = Math.max(...layers.flat().map((c) => c.pos + c.across / 2));
  const point = (a, c) => down ? [c - low, a] : [a, c - low];
  ports(chains);
  const links = chains.map((c) => {
    const points = c.cells.map((cell, i) => {
      const last = c.cells.length - 1;
      if (i > 0 && i < last) return point(start[cell.layer], cell.pos);
      return point(start[cell.layer] + (i === 0 ? 1 : -1) * cell.along / 2, cell.pos + (i === 0 ? c.out : c.into));
    });
    return { link: c.link, points: c.back ? points.reverse() : points };
  });
  for (const l of loops) {
    const c = byID.get(l.from);
    const a = start[c.layer], side = c.along / 2;
    links.push({ link: l, points: [point(a + side * 0.5, c.pos + c.across / 2), point(a, c.pos + c.across / 2 + 14), point(a - side * 0.5, c.pos + c.across / 2)] });
  }
  const nodes = part.nodes.map((n) => {
    const c = byID.get(n.id);
    const [x, y] = point(start[c.layer], c.pos);
    return { id: n.id, x, y };
  });
  const [width, height] = point(end, high + (loops.length ? 16 : 0));
  return { nodes, links, width, height };
}

// gap is the room after a layer: for the labels of links that only cross it.
function gap(chains, layer) {
  const labels = chains.filter((c) => c.cells.length === 2 && c.cells[0].layer === layer).map((c) => c.link.label ?? 0);
  return Math.max(between.layers, between.label + Math.max(0, ...labels));
}

// ports gives each link a place of its own at the border of its two nodes.
function ports(chains) {
  for (const [end, other, field] of [[0, 1, 'out'], [-1, -2, 'into']]) {
    const at = new Map();
    for (const c of chains) {
      const cell = c.cells.at(end);
      if (!at.has(cell)) at.set(cell, []);
      at.get(cell).push(c);
    }
    for (const [cell, all] of at) {
      all.sort((a, b) => a.cells.at(other).pos - b.cells.at(other).pos);
      const step = Math.min(14, (cell.across - 8) / all.length);
      all.forEach((c, i) => { c[field] = (i - (all.length - 1) / 2) * step; });
    }
  }
}
