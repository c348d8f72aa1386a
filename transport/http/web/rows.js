// A list of any length, of which only the rows in sight are drawn.

import { el } from './dom.js';

// most is how many rows a list shows: browsers end at some height.
const most = 300000;

export class Rows {
  // The box scrolls; draw(item) returns a row's children, and pick(item) is
  // called when one is chosen. All rows are of one height, in pixels.
  constructor(box, { label, height = 32, columns = '', draw, pick, key = (item) => item }) {
    Object.assign(this, { box, height, columns, draw, pick, key, items: [], active: -1, chosen: undefined, sight: [0, 0], drawn: new Map() });
    this.inner = el('div', { class: 'inner' });
    box.replaceChildren(this.inner);
    for (const [name, value] of Object.entries({ role: 'listbox', tabindex: '0', 'aria-label': label })) box.setAttribute(name, value);
    box.addEventListener('scroll', () => this.paint(), { passive: true });
    box.addEventListener('keydown', (e) => this.press(e));
    box.addEventListener('focus', () => { if (this.active < 0 && this.items.length) this.go(this.chosenAt() ?? 0); });
    this.inner.addEventListener('click', (e) => this.click(e));
    new ResizeObserver(() => this.paint()).observe(box);
  }

  // show changes what is listed.
  show(items) {
    this.items = items.length > most ? items.slice(0, most) : items;
    if (this.active >= this.items.length) this.active = -1;
    this.inner.style.height = this.items.length * this.height + 'px';
    this.paint();
  }

  // choose marks an item as the chosen one; into says whether to scroll to it.
  choose(key, into) {
    this.chosen = key;
    const at = this.chosenAt();
    if (into && at !== undefined) this.reveal(at);
    this.paint();
  }

  chosenAt() {
    const at = this.items.findIndex((i) => this.key(i) === this.chosen);
    return at < 0 ? undefined : at;
  }

  paint() {
    const from = Math.max(0, Math.floor(this.box.scrollTop / this.height) - 4);
    const to = Math.min(this.items.length, from + Math.ceil(this.box.clientHeight / this.height) + 9);
    this.sight = [from, to];
    for (const [i, row] of this.drawn) if (i < from || i >= to) { row.remove(); this.drawn.delete(i); }
    for (let i = from; i < to; i++) this.row(i);
    const current = this.active >= from && this.active < to ? this.id(this.active) : '';
    if (current) this.box.setAttribute('aria-activedescendant', current);
    else this.box.removeAttribute('aria-activedescendant');
  }

  // seen are the items that are drawn.
  seen() { return this.items.slice(...this.sight); }

  // row draws a row, into the element that it had: one that is replaced
  // between the press and the release of a button gets no click.
  row(i) {
    const item = this.items[i];
    let row = this.drawn.get(i);
    if (!row) {
      row = el('div', { id: this.id(i), role: 'option', 'aria-posinset': i + 1 });
      row.style.top = i * this.height + 'px';
      row.style.height = this.height + 'px';
      this.drawn.set(i, row);
      this.inner.append(row);
    }
    row.className = 'row ' + this.columns + (i === this.active ? ' active' : '');
    row.setAttribute('aria-selected', this.key(item) === this.chosen);
    row.setAttribute('aria-setsize', this.items.length);
    const cells = this.draw(item);
    row.title = cells.map((c) => c.textContent).filter(Boolean).join('  ');
    row.replaceChildren(...cells);
  }

  id(i) { return this.box.id + '-' + i; }

  click(e) {
    this.active = Math.floor((e.clientY - this.inner.getBoundingClientRect().top) / this.height);
    this.take();
  }

  take() {
    const item = this.items[this.active];
    if (item === undefined) return;
    this.chosen = this.key(item);
    this.paint();
    this.pick?.(item);
  }

  press(e) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.height) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.items.length, End: this.items.length };
    if (e.key in steps) this.go(this.active + steps[e.key]);
    else if (e.key === 'Enter' || e.key === ' ') this.take();
    else return;
    e.preventDefault();
  }

  go(at) {
    if (!this.items.length) return;
    this.active = Math.min(this.items.length - 1, Math.max(0, at));
    this.reveal(this.active);
    this.paint();
  }

  reveal(i) {
    const top = i * this.height, end = top + this.height;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (end > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = end - this.box.clientHeight;
  }
}
