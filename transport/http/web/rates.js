// Rates from counters: what two answers of GET /v1/traffic differ by.

const forget = 30000; // milliseconds after which an older figure says nothing

export class Rates {
  constructor() {
    this.topics = new Map(); // name: the node's figures, and those per second
    this.links = new Map(); // see linkKey
  }

  // take takes an answer; whole says that it is about all topics.
  take(answer, whole, now = performance.now()) {
    if (answer.node !== this.node) { this.topics.clear(); this.links.clear(); }
    this.node = answer.node;
    if (whole) this.drop(answer);
    for (const t of answer.topics) {
      const was = this.topics.get(t.name);
      this.topics.set(t.name, { ...t, at: now, rate: pace(was, t, now, (c) => c.published + c.arrived), lost: pace(was, t, now, (c) => c.dropped) });
      for (const l of t.links ?? []) {
        const key = linkKey(t.name, l.to, l.remote);
        const before = this.links.get(key);
        this.links.set(key, { ...l, at: now, rate: pace(before, l, now, (c) => c.forwarded) });
      }
    }
  }

  // drop forgets topics that are gone.
  drop(answer) {
    const there = new Set(answer.topics.map((t) => t.name));
    for (const name of this.topics.keys()) if (!there.has(name)) this.topics.delete(name);
  }

  topic(name) { return this.topics.get(name) ?? { published: 0, arrived: 0, offered: 0, delivered: 0, dropped: 0, queued: 0, failing: 0, rate: 0, lost: 0 }; }

  link(l) { return this.links.get(linkKey(l.from, l.to, l.remote)) ?? { forwarded: 0, rate: 0 }; }
}

export const linkKey = (from, to, remote = '') => JSON.stringify([from, to, remote]);

function pace(was, now, at, count) {
  if (!was || at - was.at > forget || at <= was.at) return 0;
  return Math.max(0, (count(now) - count(was)) / (at - was.at) * 1000);
}
