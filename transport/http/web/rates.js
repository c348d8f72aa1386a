// Rates from counters: what two answers of GET /v1/top, or of GET /v1/traffic, differ by.

const forget = 30000; // milliseconds after which an older figure says nothing

export class Rates {
  constructor() {
    this.topics = new Map(); // by name: the node's figures, and those per second
    this.links = new Map(); // by linkKey
    this.inflow = new Map(); // by name: what comes over links inside the cluster
    this.routes = new Map(); // by routeKey
    this.endpoints = new Map(); // by name
  }

  // take takes an answer; all says that it is about all topics.
  take(answer, all, now = performance.now()) {
    const nodes = (answer.nodes ?? [answer.node]).join(', ');
    if (nodes !== this.nodes) for (const m of [this.topics, this.links, this.routes, this.endpoints]) m.clear(); // sums over other nodes tell nothing
    this.nodes = nodes;
    this.missing = answer.missing ?? [];
    for (const t of answer.topics) {
      const was = this.topics.get(t.name);
      this.topics.set(t.name, { ...t, at: now, rate: pace(was, t, now, (c) => c.published + c.arrived), lost: pace(was, t, now, (c) => c.dropped) });
      for (const l of t.links ?? []) {
        const key = linkKey(t.name, l.to, l.remote);
        this.links.set(key, { ...l, at: now, rate: pace(this.links.get(key), l, now, (c) => c.forwarded) });
      }
    }
    this.routes = paced(this.routes, answer.routes, now, routeKey, (c) => c.messages);
    this.endpoints = paced(this.endpoints, answer.endpoints, now, (e) => e.name, (c) => c.offered);
    if (all) for (const m of [this.topics, this.links]) for (const [key, f] of m) if (f.at !== now) m.delete(key); // they are gone
    this.inflow.clear();
    for (const l of this.links.values()) if (!l.remote && l.rate > 0) this.inflow.set(l.to, (this.inflow.get(l.to) ?? 0) + l.rate);
  }

  // flow is what goes through a topic, published on it or come over links.
  flow(name) { return this.topic(name).rate + (this.inflow.get(name) ?? 0); }

  topic(name) { return this.topics.get(name) ?? { published: 0, arrived: 0, offered: 0, delivered: 0, dropped: 0, queued: 0, failing: 0, rate: 0, lost: 0 }; }

  route(r) { return this.routes.get(routeKey(r)) ?? { messages: 0, rate: 0 }; }

  link(l) { return this.links.get(linkKey(l.from, l.to, l.remote)) ?? { forwarded: 0, rate: 0 }; }
}

// paced are figures by key, with how many per second since the older ones.
function paced(older, figures, now, key, count) {
  return new Map((figures ?? []).map((f) => [key(f), { ...f, at: now, rate: pace(older.get(key(f)), f, now, count) }]));
}

// routeKey is what messages are counted by: entries of one type and subscription id count together.
export const routeKey = ({ mtype, subid }) => mtype + '|' + subid;

export const linkKey = (from, to, remote = '') => JSON.stringify([from, to, remote]);

function pace(was, now, at, count) {
  if (!was || at - was.at > forget || at <= was.at) return 0;
  return Math.max(0, (count(now) - count(was)) / (at - was.at) * 1000);
}
