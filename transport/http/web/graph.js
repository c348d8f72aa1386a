// The picture of the topic graph.

import { amount, byID, el, fill, plain, rate, short, svg, table, called, write } from './dom.js';
import { layout } from './layout.js';
import { linkKey } from './rates.js';

// limits are how many nodes are drawn at a time, and of how many links of each.
const limits = () => innerWidth < 700 ? { nodes: 24, links: 6 } : { nodes: 60, links: 12 };

const pen = document.createElement('canvas').getContext('2d');
const font = '13px system-ui, sans-serif';

function measure(text) {
  pen.font = font;
  return pen.measureText(text).width;
}

// costText is a cost in few characters; the table has it in full.
function costText(cost) {
  if (cost === 2147483647) return 'max';
  if (cost === -2147483648) return 'min';
  return Math.abs(cost) < 1e6 ? String(cost) : (cost < 0 ? '≈-' : '≈') + amount(Math.abs(cost));
}

const labelWidth = (l) => Math.max(44, measure(costText(l.cost)) + 10);

// nodeID tells the topics of this cluster from other targets of links.
const nodeID = (name, remote) => JSON.stringify([name, remote ?? '']);

export class Graph {
  constructor(box, pick) {
    Object.assign(this, { box, pick, zoom: 1, drawnAs: '' });
    byID('zoom-in').addEventListener('click', () => this.scale(this.zoom * 1.25));
    byID('zoom-out').addEventListener('click', () => this.scale(this.zoom / 1.25));
    byID('zoom-fit').addEventListener('click', () => this.fit());
    this.drag();
    let width = 0;
    new ResizeObserver(() => {
      if (box.clientWidth === width || !box.clientWidth) return;
      width = box.clientWidth;
      this.drawnAs = '';
      if (this.model) this.draw(this.model, this.selected, this.rates);
    }).observe(box);
  }

  // draw draws the graph, or what lies around the selected topic.
  draw(model, selected, rates) {
    Object.assign(this, { model, selected, rates });
    if (!this.box.clientWidth) return;
    const part = around(model, selected, limits());
    const as = JSON.stringify([part.nodes.map((n) => n.id), part.links.map((l) => [l.from, l.to, l.cost, l.remote]), this.box.clientWidth]);
    if (as !== this.drawnAs) {
      this.drawnAs = as;
      this.part = part;
      this.paint();
      this.write();
    }
    this.mark();
    this.flow();
  }

  // names are the topics that are drawn.
  names() { return this.part ? this.part.nodes.filter((n) => !n.remote).map((n) => n.name) : []; }

  paint() {
    const { nodes, links } = this.part;
    const down = this.box.clientWidth < 560;
    for (const n of nodes) {
      n.text = short(n.name, down ? 13 : 20);
      n.w = Math.max(n.more ? 84 : 56, Math.ceil(measure(n.text)) + 26);
      n.h = 40;
    }
    const ways = new Set(links.map((l) => l.a + l.b));
    for (const l of links) l.paired = l.a !== l.b && ways.has(l.b + l.a);
    const placed = layout(nodes, links.map((l) => ({ from: l.a, to: l.b, of: l, label: (down ? 32 : labelWidth(l)) * (l.paired ? 2 : 1) })), { down, room: this.box.clientWidth * (down ? 1 : 1.15) });
    this.size = { w: placed.width + 24, h: placed.height + 24 };
    this.edges = [];
    const lines = svg('g', { class: 'lines' });
    const labels = svg('g', { class: 'labels' });
    const taken = nodes.map((n) => ({ ...placed.place.get(n.id), w: n.w + 4, h: n.h + 4 }));
    for (const [line, points] of placed.lines) this.edge(line.of, points, down, lines, labels, taken);
    const boxes = svg('g', {}, ...nodes.map((n) => this.node(n, placed.place.get(n.id))));
    const about = `${nodes.length} nodes and ${links.length} links drawn; the table below says the same`;
    this.picture = svg('svg', { viewBox: `-12 -12 ${this.size.w} ${this.size.h}`, role: 'group', 'aria-label': about }, arrowhead(), lines, labels, boxes);
    fill(this.box, this.picture);
    this.fit();
  }

  node(n, { x, y }) {
    const act = () => { if (!n.remote) this.pick(n.name); };
    n.y = y;
    n.rate = svg('text', { class: 'rate', x, y: y + 14, 'text-anchor': 'middle' });
    n.words = svg('text', { x, y, 'text-anchor': 'middle', class: n.name === '' ? 'dim' : '' }, n.text);
    const label = (n.remote ? n.remote + ' ' : 'topic ') + plain(n.name);
    n.group = svg('g', {
      class: 'node' + (n.remote ? ' remote' : ''), 'data-key': n.id, 'aria-label': label,
      ...(n.remote ? { role: 'img' } : { tabindex: 0, role: 'button', onclick: act, onkeydown: (e) => { if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); act(); } } }),
    }, svg('title', {}, label), svg('rect', { x: x - n.w / 2, y: y - n.h / 2, width: n.w, height: n.h, rx: n.remote ? 3 : 10 }), n.words, n.rate);
    return n.group;
  }

  edge(l, points, down, lines, labels, taken) {
    const path = svg('path', { d: curve(points, down), 'marker-end': 'url(#arrow)' });
    lines.append(path);
    const cost = costText(l.cost);
    const spot = free(points, { w: labelWidth(l), h: 31 }, taken, down, l.paired ? [0.3, 0.7, ...spots] : spots);
    const text = svg('text', { x: spot.x, y: spot.y - 2, 'text-anchor': 'middle' }, cost);
    const flow = svg('text', { class: 'rate', x: spot.x, y: spot.y + 11, 'text-anchor': 'middle' });
    const plate = svg('rect', { x: spot.x - measure(cost) / 2 - 5, y: spot.y - 15, width: measure(cost) + 10, height: 17, rx: 5 });
    labels.append(svg('g', { class: 'label' }, svg('title', {}, `${plain(l.from)} → ${plain(l.to)}, cost ${l.cost}`), plate, text, flow));
    this.edges.push({ l, path, flow, plate, spot });
  }

  mark() {
    const id = this.selected === undefined ? '' : nodeID(this.selected);
    for (const n of this.part.nodes) {
      n.group.classList.toggle('selected', n.id === id);
      n.group.classList.toggle('bad', !n.remote && this.rates.topic(n.name).failing > 0);
    }
    for (const e of this.edges) e.path.classList.toggle('near', e.l.a === id || e.l.b === id);
  }

  // flow shows what goes over the links at the moment.
  flow() {
    const { nodes, missing } = this.rates;
    write(byID('graph-note'), [this.part.note, nodes ? `Rates are those of ${plain(nodes)}.` : '', missing?.length ? `${plain(missing.join(', '))} did not answer.` : ''].filter(Boolean).join(' '));
    for (const n of this.part.nodes) {
      const events = n.remote ? '' : rate(this.rates.flow(n.name));
      const below = events || (n.more ? `+${n.more} links` : '');
      write(n.rate, below);
      n.rate.classList.toggle('dim', !events);
      n.words.setAttribute('y', below ? n.y - 1 : n.y + 5);
    }
    for (const e of this.edges) {
      const r = this.rates.link(e.l).rate;
      this.label(e, rate(r));
      e.path.setAttribute('class', (e.path.classList.contains('near') ? 'near ' : '') + (r > 0 ? r < 10 ? 'flow slow' : r < 1000 ? 'flow' : 'flow fast' : ''));
    }
    for (const [e, cell] of this.cells ?? []) write(cell, amount(this.rates.link(e).rate) + '/s');
  }

  // label writes a rate below a link's cost, on a plate that keeps the line off both.
  label({ l, flow, plate, spot }, text) {
    if (flow.textContent === text) return;
    write(flow, text);
    const width = Math.max(measure(costText(l.cost)), measure(text)) + 10;
    plate.setAttribute('width', width);
    plate.setAttribute('x', spot.x - width / 2);
    plate.setAttribute('height', text ? 30 : 17);
  }

  // write says what is drawn as text.
  write() {
    this.cells = [];
    const rows = this.part.links.map((l) => {
      const cell = el('span', {}, '0/s');
      this.cells.push([l, cell]);
      return [called(l.from), called(l.to), String(l.cost), l.remote ?? 'topic', cell];
    });
    const linked = new Set(this.part.links.flatMap((l) => [l.a, l.b]));
    const alone = this.part.nodes.filter((n) => !linked.has(n.id));
    fill(byID('graph-table'),
      rows.length ? table('Links drawn', ['From', 'To', 'Cost', 'Leads to', 'Events'], rows) : null,
      alone.length ? el('p', {}, 'Without links: ', ...alone.flatMap((n, i) => [i ? ', ' : '', called(n.name)])) : null);
    write(byID('graph-title'), this.part.title);
  }

  fit() {
    const wide = this.box.clientWidth / this.size.w;
    this.scale(Math.min(1, Math.max(wide, innerWidth < 700 ? 0.72 : 0.6)));
    const id = this.part.centre ?? (this.selected === undefined ? '' : nodeID(this.selected));
    const at = this.part.nodes.find((n) => n.id === id);
    const rect = at?.group.querySelector('rect');
    if (rect) {
      this.box.scrollLeft = (Number(rect.getAttribute('x')) + at.w / 2 + 12) * this.zoom - this.box.clientWidth / 2;
      this.box.scrollTop = (Number(rect.getAttribute('y')) + at.h / 2 + 12) * this.zoom - this.box.clientHeight / 2;
    }
  }

  scale(z) {
    this.zoom = Math.min(3, Math.max(0.15, z));
    this.picture.setAttribute('width', this.size.w * this.zoom);
    this.picture.setAttribute('height', this.size.h * this.zoom);
  }

  // drag has the mouse move the picture; fingers and keys scroll it anyway.
  drag() {
    let from;
    this.box.addEventListener('pointerdown', (e) => {
      if (e.pointerType === 'mouse' && !e.target.closest('.node')) from = { x: e.clientX + this.box.scrollLeft, y: e.clientY + this.box.scrollTop };
    });
    addEventListener('pointermove', (e) => {
      if (!from) return;
      this.box.scrollLeft = from.x - e.clientX;
      this.box.scrollTop = from.y - e.clientY;
    });
    addEventListener('pointerup', () => { from = undefined; });
  }
}

// around returns what is drawn: all of a small graph, else what is within a
// few links of the selected topic, or of the one with the most links.
function around(model, selected, limit) {
  const remotes = new Map();
  for (const l of model.links) if (l.remote) remotes.set(l.b, { id: l.b, name: l.to, remote: l.remote });
  const all = [...model.topics.map((t) => ({ id: nodeID(t.name), name: t.name })), ...remotes.values()];
  if (all.length <= limit.nodes) return cut(model, all, 'Graph', all.length ? '' : 'There are no topics yet.');
  const centre = model.names.has(selected) ? selected : model.most;
  const near = new Map([[nodeID(centre), { id: nodeID(centre), name: centre }]]);
  for (const id of near.keys()) { // those that are added come up, too
    let fresh = 0;
    for (const l of model.at.get(id) ?? []) {
      const other = l.a === id ? { id: l.b, name: l.to, remote: l.remote } : { id: l.a, name: l.from };
      if (near.has(other.id)) continue;
      if (near.size >= limit.nodes || fresh >= limit.links) break;
      near.set(other.id, other);
      fresh++;
    }
  }
  return cut(model, [...near.values()], 'Around “' + short(centre, 24) + '”', `${near.size} of ${all.length} are drawn, those nearest to “${short(centre, 40)}”. “+ links” are not drawn.`, nodeID(centre));
}

// cut are some nodes with the links among them, and how many more each has.
function cut(model, nodes, title, note, centre) {
  const links = new Set();
  const there = new Set(nodes.map((n) => n.id));
  for (const n of nodes) {
    const its = model.at.get(n.id) ?? [], drawn = its.filter((l) => there.has(l.a) && there.has(l.b));
    for (const l of drawn) links.add(l);
    n.more = its.length - drawn.length;
  }
  return { nodes, links: [...links], title, note, centre };
}

// modelOf prepares an answer of GET /v1/graph.
export function modelOf({ topics, links }) {
  const at = new Map();
  const add = (id, l) => { if (at.has(id)) at.get(id).push(l); else at.set(id, [l]); };
  for (const l of links) {
    l.a = nodeID(l.from);
    l.b = nodeID(l.to, l.remote);
    l.key = linkKey(l.from, l.to, l.remote);
    add(l.a, l);
    if (l.b !== l.a) add(l.b, l);
  }
  const names = new Set(topics.map((t) => t.name));
  let most = topics[0]?.name, n = -1;
  for (const t of topics) {
    const has = at.get(nodeID(t.name))?.length ?? 0;
    if (has > n) { most = t.name; n = has; }
  }
  const of = (name) => at.get(nodeID(name)) ?? [];
  return { topics, links, at, names, most, out: (name) => of(name).filter((l) => l.from === name), into: (name) => of(name).filter((l) => l.to === name && !l.remote) };
}

// curve is a line through the points that leaves and arrives the way links lead.
function curve(points, down) {
  const [first, ...rest] = points;
  let d = `M${first}`, [x, y] = first;
  for (const [u, v] of rest) {
    d += down ? `C${x},${(y + v) / 2} ${u},${(y + v) / 2} ${u},${v}` : `C${(x + u) / 2},${y} ${(x + u) / 2},${v} ${u},${v}`;
    [x, y] = [u, v];
  }
  return d;
}

// spots are the parts of a line at which its label may be, the best first.
const spots = [0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78, 0.15, 0.85];

// free finds a place for a label on a line, or beside it, where nothing is yet.
function free(points, size, taken, down, parts) {
  let best;
  for (const aside of [0, -0.65, 0.65, -1.3, 1.3]) {
    for (const t of parts) {
      const spot = { ...along(points, t, down), ...size };
      spot[down ? 'x' : 'y'] += aside * (down ? size.w : size.h);
      const hits = taken.filter((b) => Math.abs(b.x - spot.x) < (b.w + spot.w) / 2 && Math.abs(b.y - spot.y) < (b.h + spot.h) / 2).length;
      if (!best || hits < best.hits) best = { ...spot, hits };
    }
    if (!best.hits) break;
  }
  taken.push(best);
  return best;
}

// along is the point of curve at a part of the way through all points.
function along(points, t, down) {
  const at = t * (points.length - 1);
  const i = Math.min(points.length - 2, Math.floor(at));
  const [a, b] = [points[i], points[i + 1]];
  const f = at - i;
  const fast = 1.5 * f * (1 - f) + f * f * f, slow = f * f * (3 - 2 * f); // Bézier's curve along, and across
  return { x: a[0] + (b[0] - a[0]) * (down ? slow : fast), y: a[1] + (b[1] - a[1]) * (down ? fast : slow) };
}

function arrowhead() {
  return svg('defs', {}, svg('marker', { id: 'arrow', viewBox: '0 0 8 8', refX: 7.5, refY: 4, markerWidth: 8, markerHeight: 8, orient: 'auto-start-reverse', markerUnits: 'userSpaceOnUse' },
    svg('path', { d: 'M0,0.6L8,4L0,7.4z' })));
}
