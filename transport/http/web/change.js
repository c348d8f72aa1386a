// What changes topics and links. It is shown once "Make changes" is on; what
// somebody may do is up to the node, whose answer is told in words.

import { call } from './api.js';
import { byID, el, fill, plain } from './dom.js';

// says shows how a change went.
export function says(box, text, bad = false) {
  fill(box, el('span', { class: bad ? 'bad' : 'good' }, text));
}

// make makes a change, tells how it went, and has the page look again.
async function make(box, page, done, method, path, query, body) {
  says(box, '…');
  try {
    await call(method, path, query, body);
    says(box, done);
    await page.now();
    return true;
  } catch (e) {
    says(box, e.words, true);
    page.refused(e);
    return false;
  }
}

// createForm has the form for new topics work.
export function createForm(page) {
  const form = byID('create');
  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    const name = form.elements.name.value;
    if (await make(form.querySelector('.said'), page, `Topic “${plain(name)}” is there.`, 'POST', '/v1/topics', {}, { name })) {
      form.reset();
      page.topics.select(name, true);
    }
  });
}

// linkForm is a form that links a topic to others.
export function linkForm(from, page) {
  const said = el('p', { class: 'said', role: 'status' });
  const form = el('form', { class: 'change', id: 'link' },
    el('h3', {}, 'New link from here'),
    el('label', {}, 'To ', el('input', { name: 'to', autocomplete: 'off', spellcheck: 'false', placeholder: 'TOPIC or CLUSTER/TOPIC' })),
    el('label', {}, 'Cost ', el('input', { name: 'cost', inputmode: 'numeric', value: '0', autocomplete: 'off' })),
    el('label', { class: 'check' }, el('input', { type: 'checkbox', name: 'messages' }), ' to RMR messages: To is MTYPE or MTYPE/SUBID'),
    el('label', { class: 'check' }, el('input', { type: 'checkbox', name: 'replace' }), ' change the cost where the link exists'),
    el('button', {}, 'Link'), said);
  form.addEventListener('submit', (e) => {
    e.preventDefault();
    const { to, cost, messages, replace } = form.elements;
    const n = Number(cost.value);
    if (cost.value.trim() === '' || !Number.isInteger(n) || Math.abs(n + 0.5) > 2147483648) return says(said, 'The cost is a whole number from −2147483648 to 2147483647.', true);
    make(said, page, `Linked to “${plain(to.value)}”.`, 'POST', '/v1/links', {}, { from, to: to.value, cost: n, messages: messages.checked, replace: replace.checked });
  });
  return form;
}

// unlink removes a link after a question.
export function unlink(l, page, said) {
  if (!confirm(`Remove the link from “${plain(l.from)}” to “${plain(l.to)}”, cost ${l.cost}?`)) return;
  make(said, page, 'The link is gone.', 'DELETE', '/v1/links', { from: l.from, to: l.to });
}
