// Going back to an earlier state: first what would change, then the change, if
// nobody changed anything since.

import { call } from './api.js';
import { byID, el, fill, plain, plural } from './dom.js';
import { says } from './change.js';
import { changes } from './load.js';

export function revertForm(page) {
  const form = byID('revert'), { to, compare, revert } = form.elements, said = form.querySelector('.said');
  let compared; // what was asked for, and what the answer was worked out from
  const forget = () => { compared = undefined; revert.disabled = true; };
  to.addEventListener('input', forget);

  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    forget();
    const index = Number(to.value);
    if (!/^\d+$/.test(to.value.trim()) || !Number.isSafeInteger(index)) return says(said, 'The index is a whole number, as the list below names it.', true);
    compare.disabled = true;
    try {
      const would = (await call('POST', '/v1/revert', {}, { to: index, check: true })).data;
      const lines = graph(would.graph), n = lines.length + would.removed.length + would.added.length;
      fill(said, el('p', {}, n ? `To go back to index ${index}: ${plural(would.graph.length, 'change')} of topics and links, ${plural(would.removed.length, 'record')} removed, ${plural(would.added.length, 'record')} added.` : 'Nothing would change.'),
        n ? changes(would, lines) : null);
      compared = { to: index, seen: would.seen };
      revert.disabled = n === 0;
    } catch (e) {
      says(said, e.words, true);
      page.refused(e);
    } finally {
      compare.disabled = false;
    }
  });

  revert.addEventListener('click', async () => {
    if (!compared) return;
    const ask = compared;
    forget();
    try {
      const now = (await call('POST', '/v1/revert', {}, ask)).data;
      says(said, `All is as it was at index ${now.to}.`);
      page.routes.stale = true;
      await page.now();
    } catch (e) {
      says(said, e.kind === 'changed_meanwhile' ? 'Somebody changed something meanwhile, nothing was done. Look again at what would change.' : e.words, true);
      page.refused(e);
    }
  });
}

// offer fills the form in with an index, and shows what would change.
export function offer(index) {
  const form = byID('revert');
  form.elements.to.value = String(index);
  form.scrollIntoView();
  form.requestSubmit();
}

// graph are changes of topics and links as lines of a comparison.
function graph(all) {
  const link = (c) => `“${plain(c.from)}” to “${plain(c.to)}”`;
  return all.map((c) => {
    switch (c.op) {
      case 'create': return ['ins', `+ topic “${plain(c.from)}”`];
      case 'destroy': return ['del', `− topic “${plain(c.from)}”`];
      case 'link': return ['ins', `+ link ${link(c)}, cost ${c.cost}`];
      case 'unlink': return ['del', `− link ${link(c)}, cost ${c.cost}`];
      case 'cost': return ['ins', `+ link ${link(c)}, cost ${c.cost} instead of ${c.was}`];
      case 'subscribe': return ['ins', `+ subscriber “${plain(c.to)}” of “${plain(c.from)}”`];
    }
    return ['ins', `${c.op} ${link(c)}`];
  });
}
