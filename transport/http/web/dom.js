// Small helpers that make elements. Whatever came over the API gets in as
// text nodes only.

// el makes an element: attributes, on... functions, then children.
export function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  set(e, attributes);
  e.append(...children.filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

const namespace = 'http://www.w3.org/2000/svg';

// svg is el for pictures.
export function svg(tag, attributes = {}, ...children) {
  const e = document.createElementNS(namespace, tag);
  set(e, attributes);
  e.append(...children);
  return e;
}

function set(e, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') e.addEventListener(name.slice(2), value);
    else if (value === true) e.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) e.setAttribute(name, value);
  }
}

export const byID = (id) => document.getElementById(id);

// fill gives an element new children. What has the keyboard's focus in it
// keeps it, if something with the same data-key is there again.
export function fill(parent, ...children) {
  const active = document.activeElement;
  const key = parent.contains(active) ? active.dataset.key : undefined;
  parent.replaceChildren(...children.filter((c) => c !== null && c !== undefined && c !== false));
  if (key === undefined) return;
  for (const e of parent.querySelectorAll('[data-key]')) {
    if (e.dataset.key === key) return e.focus({ preventScroll: true });
  }
}

// write changes an element's text if it is another one.
export function write(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// Characters that nobody sees, or that turn the text around them.
const unseen = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u205f-\u206f\u3164\ufeff\ufff9-\ufffb]|^ +| +$/g;

// plain is a name as people can read it in one line.
export function plain(name) {
  if (name === '') return '(empty)';
  return name.replace(unseen, (s) => [...s].map((c) => c === '\n' ? '\\n' : c === '\t' ? '\\t' : c === ' ' ? '␣' : '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0')).join(''));
}

// short is plain with at most so many characters; the middle goes.
export function short(name, most) {
  const all = [...plain(name)];
  if (all.length <= most) return all.join('');
  const half = (most - 1) / 2;
  return all.slice(0, Math.ceil(half)).join('') + '…' + all.slice(all.length - Math.floor(half)).join('');
}

// called is a name as an element that wraps where it has to.
export const called = (name) => el('span', { class: name === '' ? 'name dim' : 'name' }, plain(name));

// rate is a figure per second, empty for none.
export function rate(n) {
  if (!(n > 0)) return '';
  return amount(n) + '/s';
}

// amount is a number in few characters.
export function amount(n) {
  if (n < 10) return String(Math.round(n * 10) / 10);
  if (n < 1000) return String(Math.round(n));
  if (n < 1e6) return (n / 1e3).toFixed(n < 1e4 ? 1 : 0) + 'k';
  return (n / 1e6).toFixed(n < 1e7 ? 1 : 0) + 'M';
}

// whole is a number in full, with thin spaces that don't break.
export const whole = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f');

// bytes is a number of bytes in a fitting unit.
export function bytes(n) {
  if (n < 1024) return n + ' B';
  return n < 1 << 20 ? (n / 1024).toFixed(1) + ' KiB' : (n / (1 << 20)).toFixed(1) + ' MiB';
}

// lasting is a time in seconds in words.
export function lasting(s) {
  if (s < 90) return (s < 10 ? Math.round(s * 10) / 10 : Math.round(s)) + ' s';
  if (s < 5400) return Math.round(s / 60) + ' min';
  return s < 129600 ? Math.round(s / 3600) + ' h' : Math.round(s / 86400) + ' days';
}

// plural is "1 topic", "2 topics".
export const plural = (n, thing) => whole(n) + ' ' + thing + (n === 1 ? '' : 's');

// table is a table of text or elements. Its columns wrap; on a phone each row
// becomes a block with the heads beside.
export function table(caption, heads, rows) {
  return el('table', {},
    el('caption', { class: 'hidden' }, caption),
    el('thead', {}, el('tr', {}, ...heads.map((h) => el('th', { scope: 'col' }, h)))),
    el('tbody', {}, ...rows.map((cells) => el('tr', {}, ...cells.map((c, i) => el('td', { 'data-head': heads[i] }, el('div', {}, c)))))));
}
