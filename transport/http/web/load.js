// Loading a route text: first what would change, then the load, at the version
// that was compared with.

import { call } from './api.js';
import { byID, el, fill, plain, plural } from './dom.js';
import { says } from './change.js';

const shownMost = 500; // lines of a comparison that are shown

export function loadForm(page) {
  const form = byID('load'), { text, file, compare, load } = form.elements, said = form.querySelector('.said');
  let compared; // the text and the version it was compared with
  const forget = () => { compared = undefined; load.disabled = true; };
  text.addEventListener('input', forget);
  file.addEventListener('change', async () => { if (file.files[0]) { text.value = await file.files[0].text(); forget(); } });

  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    forget();
    compare.disabled = true;
    try {
      const body = text.value;
      const checked = (await call('POST', '/v1/routes/check', {}, body)).data;
      if (!checked.ok) return fill(said, el('p', { class: 'bad' }, 'This can’t be loaded.'), findings(checked.findings));
      const diff = (await call('POST', '/v1/routes/diff', {}, body)).data;
      const n = diff.added.length + diff.removed.length;
      fill(said, el('p', {}, n ? `Against version ${diff.version}: ${plural(diff.removed.length, 'record')} removed, ${plural(diff.added.length, 'record')} added.` : 'Nothing would change.'), findings(checked.findings), changes(diff));
      compared = { body, version: diff.version };
      load.disabled = n === 0;
    } catch (e) {
      says(said, e.words, true);
      page.refused(e);
    } finally {
      compare.disabled = false;
    }
  });

  load.addEventListener('click', async () => {
    if (!compared) return;
    const { body, version } = compared;
    forget();
    try {
      const now = (await call('POST', '/v1/routes', { if_version: version }, body)).data;
      says(said, `Loaded: version ${now.version}, ${plural(now.routes, 'route')}, ${plural(now.meids, 'MEID')}.`);
      page.routes.stale = true;
      await page.now();
    } catch (e) {
      says(said, e.kind === 'changed_meanwhile' ? 'Somebody changed the routes meanwhile, nothing was loaded. Look again at what would change.' : e.words, true);
      page.refused(e);
    }
  });
}

function findings(all) {
  return all.length ? el('ul', { class: 'findings' }, ...all.map((f) => el('li', { class: f.severity === 'error' ? 'bad' : 'warn' }, `${f.line ? `line ${f.line}${f.column ? ', column ' + f.column : ''}: ` : ''}${plain(f.text)}`))) : null;
}

// changes shows records that go and come; first says what is above them, as
// pairs of an element's name and a text.
export function changes({ removed, added }, first = []) {
  const lines = [...first, ...removed.map((r) => ['del', '− ' + plain(r)]), ...added.map((r) => ['ins', '+ ' + plain(r)])];
  const more = lines.length - shownMost;
  return el('div', { class: 'diff' }, ...lines.slice(0, shownMost).map(([tag, text]) => el(tag, {}, text)), more > 0 ? el('p', { class: 'note' }, `and ${more} more`) : null);
}
