// The list of topics, and what one topic is like.

import { look } from './api.js';
import { byID, bytes, called, el, fill, lasting, plain, rate, whole } from './dom.js';
import { Graph, modelOf } from './graph.js';
import { Rows } from './rows.js';
import { linkForm, unlink } from './change.js';

const shownMost = 200; // subscribers that are shown in full

export class Topics {
  constructor(page) {
    this.page = page;
    this.model = modelOf({ topics: [], links: [] });
    this.list = new Rows(byID('topic-list'), {
      label: 'Topics', height: 34, columns: 'topic', key: (name) => name,
      draw: (name) => this.row(name), pick: (name) => this.pick(name),
    });
    this.graph = new Graph(byID('graph'), (name) => this.pick(name, true));
    byID('topic-search').addEventListener('input', () => this.refill());
    byID('topic-order').addEventListener('change', () => this.refill());
  }

  row(name) {
    const f = this.page.rates.topic(name);
    const what = f.failing ? `⚠ ${f.failing} failing` : f.lost > 0 ? '⚠ drops' : '';
    return [called(name), el('span', { class: 'warn' }, what), el('span', { class: 'rate' }, rate(this.page.rates.flow(name)))];
  }

  // take takes an answer of GET /v1/graph.
  take(graph) {
    this.model = modelOf(graph);
    this.refill();
    this.redraw();
  }

  refill() {
    const want = byID('topic-search').value.toLowerCase();
    const order = byID('topic-order').value;
    let names = this.model.topics.map((t) => t.name);
    if (want) names = names.filter((n) => n.toLowerCase().includes(want) || plain(n).toLowerCase().includes(want));
    const of = (n) => { const f = this.page.rates.topic(n); return order === 'rate' ? this.page.rates.flow(n) : f.failing * 1e9 + f.lost * 1e3 + f.queued; };
    if (order !== 'name') names = names.map((n) => [n, of(n)]).sort((a, b) => b[1] - a[1]).map(([n]) => n);
    this.list.show(names);
    byID('topic-count').textContent = names.length === this.model.topics.length ? whole(names.length) : `${whole(names.length)} of ${whole(this.model.topics.length)}`;
  }

  // tick shows new rates.
  tick() {
    if (byID('topic-order').value !== 'name') this.refill();
    else this.list.paint();
    this.redraw();
  }

  redraw() { this.graph.draw(this.model, this.selected, this.page.rates); }

  // pick selects; on a phone, what the topic is like comes into sight.
  pick(name, into) {
    this.select(name, into);
    if (innerWidth <= 700) byID('detail').scrollIntoView();
  }

  // select chooses a topic; an undefined name none.
  select(name, into) {
    if (name === this.selected) return;
    this.selected = name;
    this.answer = undefined;
    this.list.choose(name, into);
    this.page.remember('topics', name);
    this.redraw();
    this.detail();
    this.refresh();
  }

  // refresh asks for the subscribers of the selected topic.
  async refresh() {
    const name = this.selected;
    if (name === undefined) return;
    let answer;
    try {
      answer = (await look('/v1/subscribers', { topic: name })).data;
    } catch (e) {
      answer = e;
    }
    if (name !== this.selected) return;
    this.answer = answer;
    this.detail();
  }

  detail() {
    const box = byID('detail'), name = this.selected;
    if (name === undefined) return fill(box, el('h2', {}, 'Topic'), el('p', { class: 'note' }, 'Choose a topic in the list or the graph.'));
    const head = el('div', { class: 'bar' }, el('h2', {}, called(name)), el('button', { type: 'button', 'data-key': 'close', onclick: () => this.select(undefined) }, 'Close'));
    const told = this.answer instanceof Error ? [el('p', { class: 'bad' }, this.answer.kind === 'no_such_topic' ? 'There is no such topic.' : this.answer.words)] : this.told(name);
    if (!this.form || this.form.name !== name || this.form.on !== this.page.editing) {
      this.form = { name, on: this.page.editing, element: this.page.editing ? linkForm(name, this.page) : null, said: el('p', { class: 'said', role: 'status' }) };
    }
    if (this.body?.isConnected && this.body.of === this.form) return fill(this.body, ...told);
    this.body = el('div');
    this.body.of = this.form;
    fill(this.body, ...told);
    fill(box, head, this.body, this.form.element, this.form.said);
  }

  told(name) {
    const f = this.page.rates.topic(name), over = this.page.rates.inflow.get(name);
    const facts = el('dl', { class: 'facts' },
      ...fact('Published', whole(f.published), rate(f.rate)), ...f.arrived ? fact('From outside', whole(f.arrived)) : [],
      ...over ? fact('Over links', rate(over)) : [],
      ...fact('Delivered', whole(f.delivered)), ...fact('Queued', whole(f.queued)), ...fact('Dropped', whole(f.dropped), rate(f.lost), f.dropped > 0));
    if (!this.answer) return [facts, el('p', { class: 'note' }, 'Asks for subscribers …')];
    const links = this.answer.filter((s) => s.link), subscribers = this.answer.filter((s) => !s.link);
    const out = this.model.out(name), into = this.model.into(name);
    return [
      facts,
      el('p', { class: 'note' }, `Below: as node ${plain(this.page.status?.node ?? '')} counts, which delivers what is published there.`),
      el('h3', {}, 'Subscribers ', el('span', { class: 'count' }, whole(subscribers.length))),
      subscribers.length > shownMost ? el('p', { class: 'note' }, `${shownMost} are shown, those in trouble first.`) : null,
      ...worst(subscribers).map(subscriber),
      el('h3', {}, 'Links to ', el('span', { class: 'count' }, whole(out.length))),
      few(out),
      ...out.slice(0, shownMost).map((l, i) => this.link(l, links[i])),
      el('h3', {}, 'Links from ', el('span', { class: 'count' }, whole(into.length))),
      few(into),
      ...into.slice(0, shownMost).map((l) => el('div', { class: 'item' }, el('p', {}, this.jump(l.from), ` cost ${l.cost} `, el('span', { class: 'rate' }, rate(this.page.rates.link(l).rate))))),
    ];
  }

  jump(name) { return el('button', { type: 'button', class: 'link', 'data-key': 'to ' + name, onclick: () => this.select(name, true) }, called(name)); }

  link(l, told) {
    const r = this.page.rates.link(l);
    return el('div', { class: 'item' },
      el('p', {}, l.remote ? called(l.to) : this.jump(l.to), l.remote ? el('span', { class: 'tag' }, l.remote) : null, ` cost ${l.cost} `,
        el('span', { class: 'rate' }, rate(r.rate)), this.page.editing ? el('button', { type: 'button', class: 'small', 'data-key': 'unlink ' + l.key, onclick: () => unlink(l, this.page, this.form.said) }, 'Unlink') : null),
      el('p', { class: 'note' }, `${whole(told?.forwarded ?? r.forwarded)} events let pass`),
      told?.state ? state(told) : null);
  }
}

const few = (links) => links.length > shownMost ? el('p', { class: 'note' }, `The first ${shownMost} are shown.`) : null;

const fact = (name, value, more, bad) => [el('dt', {}, name), el('dd', { class: bad ? 'warn' : '' }, value, more ? el('span', { class: 'rate' }, ' ' + more) : null)];

function worst(subscribers) {
  if (subscribers.length <= shownMost) return subscribers;
  const trouble = (s) => (s.state === 'retrying' ? 1e12 : 0) + dropped(s) * 1e3 + (s.queued ?? 0);
  return [...subscribers].sort((a, b) => trouble(b) - trouble(a)).slice(0, shownMost);
}

const dropped = (s) => Object.values(s.dropped ?? {}).reduce((a, b) => a + b, 0);

function subscriber(s) {
  const qos = Object.entries(s.qos ?? {});
  return el('div', { class: 'item' },
    el('p', {}, called(s.identity)),
    s.proxy ? el('p', { class: 'note' }, called(s.proxy)) : null,
    el('p', {}, 'QoS: ', qos.length ? qos.map(([k, v]) => plain(k) + '=' + plain(v)).join(', ') : 'default'),
    s.state ? state(s) : null);
}

// state says how a receiver is doing on the node that answers.
function state(s) {
  const lost = Object.entries(s.dropped ?? {}).map(([why, n]) => `${whole(n)} ${why.replaceAll('_', ' ')}`);
  const waits = s.queued ? ` (${bytes(s.queued_bytes)}, the oldest for ${lasting(s.oldest_seconds)})` : '';
  return el('div', {},
    el('p', {}, el('span', { class: 'state ' + s.state }, s.state === 'retrying' ? 'can’t be reached, retrying' : s.state), ` ${whole(s.delivered)} delivered, ${whole(s.queued)} queued${waits}`),
    lost.length ? el('p', { class: 'warn' }, 'Dropped: ' + lost.join(', ')) : null,
    s.last_error ? el('p', { class: s.state === 'retrying' ? 'bad' : 'note' }, `Last error, ${when(s.last_failure)}: `, called(s.last_error)) : null);
}

const when = (t) => t ? new Date(t).toLocaleString() : 'some time ago';
