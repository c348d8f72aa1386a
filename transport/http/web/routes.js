// The route table, the MEID map, and where a message would go.

import { look } from './api.js';
import { byID, called, el, fill, plain, rate, whole, write } from './dom.js';
import { Rows } from './rows.js';

export class Routes {
  constructor(page) {
    this.page = page;
    this.state = { routes: [], meids: [] };
    this.routes = new Rows(byID('route-list'), {
      label: 'Routes', height: 30, columns: 'route',
      draw: (r) => [...[r.mtype, r.subid === '-1' ? 'none' : r.subid, r.sender || 'any', r.endpoints].map(cell), el('span', { class: 'rate' }, rate(this.flow(r).rate))],
      pick: (r) => { this.chosen = r; this.told(); this.trace(r); },
    });
    this.endpoints = new Rows(byID('endpoint-list'), {
      label: 'Endpoints', height: 30, columns: 'endpoint', draw: (e) => this.endpoint(e), key: (e) => e.name,
      pick: () => this.told(),
    });
    this.meids = new Rows(byID('meid-list'), {
      label: 'MEIDs', height: 30, columns: 'meid', draw: (m) => [m.meid, m.owner].map(cell),
      pick: (m) => { this.picked('meid-picked', `${m.meid} belongs to ${m.owner}`); byID('trace').elements.meid.value = m.meid; fill(byID('traced')); },
    });
    byID('route-search').addEventListener('input', () => this.refill());
    byID('meid-search').addEventListener('input', () => this.refill());
    byID('trace').addEventListener('submit', (e) => { e.preventDefault(); this.ask(); });
  }

  flow(r) { return this.page.rates.route(r); }

  endpoint(e) {
    const trouble = [e.dead ? 'dead' : '', e.dropped ? `${whole(e.dropped)} dropped` : '', e.queued ? `${whole(e.queued)} queued` : ''].filter(Boolean).join(', ');
    return [cell(e.name), el('span', { class: 'warn' }, trouble ? '⚠ ' + trouble : ''), el('span', { class: 'rate' }, rate(e.rate))];
  }

  // told says what there is to know of the chosen route and endpoint.
  told() {
    const r = this.chosen, e = this.page.rates.endpoints.get(this.endpoints.chosen);
    if (r) this.picked('route-picked', r.record + `: ${whole(this.flow(r).messages)} messages of this type and sub id went through floe`);
    if (e) this.picked('endpoint-picked', `${e.name}: ${whole(e.delivered)} delivered, ${whole(e.queued)} queued, ${whole(e.dropped)} dropped${e.dead ? '; groups pass it over, as it was found dead' : ''}`);
  }

  // tick shows new rates.
  tick() {
    const { endpoints, nodes } = this.page.rates;
    this.routes.paint();
    this.told();
    const all = [...endpoints.values()];
    byID('endpoints').hidden = all.length === 0;
    this.endpoints.show(all.sort((a, b) => Number(b.dead ?? false) - Number(a.dead ?? false) || b.rate - a.rate || b.offered - a.offered));
    write(byID('endpoint-count'), whole(all.length));
    write(byID('endpoint-note'), `Messages that ${plain(nodes ?? '')} sent on: per second, and since they started. What programs send each other straight is not counted.`);
  }

  picked(id, text) { if (byID(id).textContent !== plain(text)) fill(byID(id), called(text)); }

  trace(r) {
    const f = byID('trace').elements;
    f.mtype.value = r.mtype;
    f.subid.value = r.subid === '-1' ? '' : r.subid;
    f.sender.value = r.sender.split(',')[0];
    fill(byID('traced')); // what stands there is about something else
  }

  // refresh asks for the table where it is a newer one.
  async refresh() {
    const relay = (await look('/v1/routes/relay')).data;
    this.page.tableVersion = relay.version;
    this.tick();
    if (relay.version === this.version && !this.stale) return;
    const { data, headers } = await look('/v1/routes');
    this.state = parse(data);
    this.version = relay.version;
    this.stale = false;
    this.routesVersion = headers.get('Floe-Routes-Version');
    this.refill();
  }

  refill() {
    const { routes, meids } = this.state;
    const want = (id, all, text) => {
      const words = byID(id).value.toLowerCase().split(/\s+/).filter(Boolean);
      return words.length ? all.filter((x) => words.every((w) => text(x).includes(w))) : all;
    };
    const r = want('route-search', routes, (x) => (x.record + ' ' + plain(x.record)).toLowerCase()), m = want('meid-search', meids, (x) => (x.meid + ' ' + x.owner).toLowerCase());
    this.routes.show(r);
    this.meids.show(m);
    const count = (shown, all) => shown === all ? whole(all) : `${whole(shown)} of ${whole(all)}`;
    byID('route-count').textContent = count(r.length, routes.length) + (this.routesVersion > 0 ? ' · version ' + this.routesVersion : '');
    byID('meid-count').textContent = count(m.length, meids.length);
  }

  // ask asks where a message would go.
  async ask() {
    const form = byID('trace'), query = {};
    for (const name of ['mtype', 'subid', 'meid', 'sender']) {
      const value = form.elements[name].value;
      if (value !== '' || name === 'mtype') query[name] = value;
    }
    const box = byID('traced');
    try {
      fill(box, ...found((await look('/v1/trace/message', query)).data));
    } catch (e) {
      fill(box, el('p', { class: 'bad' }, e.words));
      this.page.refused(e);
    }
  }
}

const cell = (text) => el('span', {}, plain(text));

const reasons = { no_entry: 'Nowhere: the table has no entry for it.', unknown_meid: 'Nowhere: the MEID is not known.', dead_endpoint: 'Nowhere: all its endpoints are dead.' };

// found says where a message goes.
function found(f) {
  const out = [];
  if (f.reason) out.push(el('p', { class: 'bad' }, reasons[f.reason] ?? 'Nowhere: ' + f.reason));
  else if (f.owner) out.push(el('p', { class: 'answer' }, 'To ', called(f.owner), ', the owner of the MEID.'));
  else out.push(...(f.groups ?? []).map((g, i) => el('p', { class: 'answer' }, i ? 'and a copy to ' : 'To ', ...g.flatMap((m, k) => [k ? ' or ' : '', called(m)]), g.length > 1 ? ', in turns.' : '.')));
  if (f.near?.length) out.push(el('p', {}, 'Spelled almost alike: ', f.near.map(plain).join(', ')));
  if (f.record) out.push(el('p', { class: 'note' }, 'Record: ', el('code', {}, plain(f.record))));
  out.push(el('ol', {}, ...f.why.map((w) => el('li', {}, plain(w)))));
  return out;
}

// parse reads a route text as floe writes it.
export function parse(text) {
  const routes = [], meids = [];
  for (const record of text.split('\n')) {
    const part = record.split('|');
    if (part[0] === 'mse') {
      const [mtype, ...senders] = part[1].split(',');
      routes.push({ record, mtype, sender: senders.join(','), subid: part[2], endpoints: part.slice(3).join('|') });
    } else if (part[0] === 'rte') {
      const [mtype, ...senders] = part[1].split(',');
      routes.push({ record, mtype, sender: senders.join(','), subid: '-1', endpoints: part.slice(2).join('|') });
    } else if (part[0] === 'mme_ar') {
      for (const meid of part[2].split(' ')) if (meid) meids.push({ meid, owner: part[1] });
    }
  }
  return { routes, meids };
}

