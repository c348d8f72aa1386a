// The page: its views, and what it asks the node every two seconds.

import { look, Refused, token, useToken } from './api.js';
import { byID, el, fill, lasting, plain, plural, short, write } from './dom.js';
import { apps, history, nodes } from './cluster.js';
import { createForm } from './change.js';
import { loadForm } from './load.js';
import { revertForm } from './revert.js';
import { Rates } from './rates.js';
import { Routes } from './routes.js';
import { Topics } from './topics.js';

const every = 2000; // milliseconds between two questions
const many = 1000; // of what is asked for each time; more are only every so many times:
const seldom = 5;

const views = ['topics', 'routes', 'apps', 'nodes', 'history'];

const page = {
  rates: new Rates(),
  editing: false,
  view: 'topics',
  turn: 0,

  // remember keeps the view in the address, so that it can be sent to others.
  remember(view, name) {
    const hash = '#' + view + (name === undefined ? '' : '/' + encodeURIComponent(name));
    if (location.hash !== hash) window.history.replaceState(null, '', hash);
  },

  // refused notes that a call was not allowed.
  refused(e) { if (e.status === 401) tokenDialog(); },

  // now looks again at once.
  async now() {
    page.index = undefined;
    page.turn = 0;
    await again();
  },
};

// again asks once more, after what is under way.
async function again() {
  while (page.asking) await page.asking;
  page.asking = ask().finally(() => { page.asking = undefined; });
  await page.asking;
}

// ask asks the node for all that is in sight.
async function ask() {
  try {
    const status = (await look('/v1/status')).data;
    page.status = status;
    page.last = performance.now();
    head(status);
    page.turn++;
    if (page.index === undefined || status.applied_index !== page.index && due(page.topics.model.topics.length)) {
      page.topics.take((await look('/v1/graph')).data);
      page.index = status.applied_index;
    }
    await figures();
    await inSight();
    problems(status.problems);
  } catch (e) {
    if (!(e instanceof Refused)) console.error(e);
    problems(page.status?.problems ?? [], e);
    if (e.status === 401 && !page.askedForToken) {
      page.askedForToken = true; // once: whoever closes the dialog wants to
      tokenDialog();
    }
  }
}

// due tells whether this is a turn to ask for so many things: many are asked for seldom.
const due = (n) => n <= many || page.turn % seldom === 1;

// figures asks for the counters of all nodes, or of this one where it does not ask the others.
async function figures() {
  const top = page.alone ? undefined : (await look('/v1/top').catch((e) => { if (e.status !== 404) throw e; }))?.data;
  if (top?.nodes.length) return page.rates.take(top, true);
  page.alone = true;
  const all = due(page.topics.model.topics.length);
  const query = all ? {} : { topic: [...new Set([...page.topics.graph.names(), ...page.topics.list.seen()])].slice(0, 150) };
  page.rates.take((await look('/v1/traffic', query)).data, all);
}

async function inSight() {
  switch (page.view) {
    case 'topics':
      page.topics.tick();
      if (due(page.topics.answer?.length ?? 0)) await page.topics.refresh();
      return undefined;
    case 'routes': return page.routes.refresh();
    case 'apps': return apps(page);
    case 'nodes': return nodes(page.status);
    case 'history': return history(page);
  }
}

function head(s) {
  const age = s.contact_age_seconds;
  const late = s.node !== s.leader && (age < 0 || age > 5) ? age < 0 ? ', no leader heard yet' : `, no leader heard for ${lasting(age)}` : '';
  write(byID('where'), `node ${plain(s.node)} · ${s.leader ? 'leader ' + plain(s.leader) : 'no leader'} · index ${s.applied_index}${late}`);
  document.title = `floe ${s.node}` + (s.problems.length ? ` (${s.problems.length})` : '');
}

function problems(all, e) {
  const said = [];
  if (e) said.push((e.words ?? 'This page failed: ' + e.message) + (e.status === 0 && page.last ? ` What is shown is ${lasting((performance.now() - page.last) / 1000)} old.` : ''));
  said.push(...all, ...failing());
  const box = byID('problems');
  const text = said.join('\n');
  if (box.said === text) return;
  box.said = text;
  box.className = said.length ? 'wrong' : 'fine';
  fill(box, said.length ? el('ul', {}, ...said.map((p) => el('li', {}, plain(p)))) : el('p', {}, 'Nothing is wrong.'));
}

// failing says of which topics receivers can't be reached.
function failing() {
  const bad = [...page.rates.topics.values()].filter((t) => t.failing > 0);
  if (!bad.length) return [];
  const n = bad.reduce((sum, t) => sum + t.failing, 0);
  return [`${plural(n, 'receiver')} can’t be reached, of ${bad.slice(0, 5).map((t) => `“${short(t.name, 40)}”`).join(', ')}${bad.length > 5 ? ` and ${bad.length - 5} more topics` : ''}; choose the topic to see why.`];
}

function open(view) {
  page.view = views.includes(view) ? view : 'topics';
  for (const v of views) {
    const on = v === page.view, tab = byID('tab-' + v);
    tab.setAttribute('aria-selected', on);
    tab.tabIndex = on ? 0 : -1;
    byID(v).hidden = !on;
  }
  again();
}

function tabs() {
  for (const v of views) byID('tab-' + v).addEventListener('click', () => { page.remember(v, v === 'topics' ? page.topics.selected : undefined); open(v); });
  document.querySelector('nav').addEventListener('keydown', (e) => {
    const there = views.filter((v) => !byID('tab-' + v).hidden);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    const tab = byID('tab-' + there.at((there.indexOf(page.view) + step) % there.length));
    tab.focus();
    tab.click();
  });
}

// goTo shows what the address says.
function goTo() {
  const [view, name] = location.hash.slice(1).split('/');
  if (name !== undefined) {
    try { page.topics.select(decodeURIComponent(name), true); } catch { /* no name: nothing to show */ }
  }
  open(view);
}

function tokenDialog() {
  const dialog = byID('token-dialog');
  if (dialog.open) return;
  dialog.querySelector('input').value = token();
  dialog.showModal();
}

function tools() {
  byID('token').addEventListener('click', tokenDialog);
  byID('token-dialog').addEventListener('close', (e) => {
    if (e.target.returnValue === 'use') useToken(e.target.querySelector('input').value.trim());
    write(byID('token'), token() === '' ? 'Token …' : 'Token ✓');
    featureTest();
    page.now();
  });
  write(byID('token'), token() === '' ? 'Token …' : 'Token ✓');
  byID('edit').addEventListener('change', (e) => {
    page.editing = e.target.checked;
    for (const f of document.querySelectorAll('#create, #load, #revert')) f.hidden = !page.editing;
    page.topics.detail();
    again();
  });
  const theme = byID('theme');
  theme.value = localStorage.getItem('floe-theme') ?? '';
  const paint = () => { document.documentElement.dataset.theme = theme.value; };
  theme.addEventListener('change', () => { localStorage.setItem('floe-theme', theme.value); paint(); });
  paint();
}

// featureTest shows the view of changes where the node has that call.
async function featureTest() {
  try {
    await look('/v1/history', { limit: 1 });
    byID('tab-history').hidden = false;
  } catch (e) {
    byID('tab-history').hidden = e.status === 404 || e.status === 0;
  }
}

async function forever() {
  for (;;) {
    await new Promise((done) => setTimeout(done, every));
    if (!document.hidden) await again();
  }
}

page.topics = new Topics(page);
page.routes = new Routes(page);
page.topics.detail();
tools();
tabs();
createForm(page);
loadForm(page);
revertForm(page);
featureTest();
addEventListener('hashchange', goTo);
goTo();
forever();
