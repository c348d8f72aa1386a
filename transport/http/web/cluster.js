// Apps, nodes and the history of changes.

import { look } from './api.js';
import { offer } from './revert.js';
import { byID, called, el, fill, lasting, plain, table, whole } from './dom.js';

// apps shows the programs that asked for a route table.
export async function apps(page) {
  const [{ data }, relay] = await Promise.all([look('/v1/apps'), look('/v1/routes/relay')]);
  const version = relay.data.version;
  const rows = data.map((a) => [called(a.name), a.node, had(a, version), a.age_seconds > 0 ? lasting(a.age_seconds) + ' ago' : '', a.error ? el('span', { class: 'bad' }, plain(a.error)) : 'none']);
  show('apps', [data, version], el('div', { class: 'card' },
    el('h2', {}, 'Apps ', el('span', { class: 'count' }, whole(data.length))),
    el('p', { class: 'note' }, `The table that apps should have is version ${version}. ${relayed(relay.data)}`),
    rows.length ? table('Apps', ['App', 'Served by', 'Table', 'Heard', 'Error'], rows) : el('p', {}, 'No program asked for a route table yet.')));
}

// show fills a view where the answer is another one than before.
const before = new Map();
function show(id, answer, ...children) {
  const now = JSON.stringify(answer);
  if (before.get(id) !== now) fill(byID(id), ...children);
  before.set(id, now);
}

function had(a, version) {
  if (!a.version_acked) return el('span', { class: 'warn' }, a.version_sent ? `sent version ${a.version_sent}, nothing acknowledged` : 'none yet');
  if (a.version_acked >= version) return el('span', { class: 'good' }, `acknowledged version ${a.version_acked}: up to date`);
  return el('span', { class: 'warn' }, `acknowledged version ${a.version_acked}: behind`);
}

const relayed = ({ all, except }) => {
  const but = except.length ? ', but not for types ' + except.join(', ') : '';
  if (all) return 'All messages go through floe' + but + '.';
  return except.length ? 'Messages of types ' + except.join(', ') + ' go through floe.' : 'Programs send messages straight to each other.';
};

// nodes shows the members, and more of the node that answers.
export function nodes(status) {
  const rows = status.members.map((m) => [
    el('span', {}, called(m.id), m.id === status.node ? el('span', { class: 'tag' }, 'this page') : null),
    el('span', { class: m.role === 'leader' ? 'good' : m.role === 'follower' || m.role === 'non-voter' ? '' : 'bad' }, m.role + (m.draining ? ', draining' : '')),
    m.voter ? 'yes' : 'no', m.version, where(m)]);
  const facts = [['Cluster', status.cluster_id], ['Leader', status.leader || 'none'], ['Term', status.term], ['Index', whole(status.applied_index) + ' of ' + whole(status.commit_index)],
    ['State digest', status.digest], ['Ice instance', status.ice_instance], ['Cluster version', status.cluster_version], ['Data', status.data], ['Running for', lasting(status.uptime_seconds)]];
  show('nodes', status,
    el('div', { class: 'card' }, el('h2', {}, 'Nodes ', el('span', { class: 'count' }, whole(rows.length))), table('Nodes', ['Node', 'Role', 'Votes', 'Version', 'Addresses'], rows)),
    el('div', { class: 'card' }, el('h2', {}, 'As node ', called(status.node), ' sees it'),
      el('dl', { class: 'facts' }, ...facts.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, called(String(value ?? '')))]))));
}

// where says where a node listens. Its page is a link: figures are each node's own.
function where(m) {
  const listeners = Object.entries({ peer: [m.address], ...m.addresses });
  return el('span', {}, ...listeners.flatMap(([name, all], i) => [i ? ', ' : '', name + ' ', name === 'http' && /^[\w.:[\]-]+:\d+$/.test(all[0]) ? el('a', { href: `${location.protocol}//${all[0]}/` }, all[0]) : called(all.join(' '))]));
}

const mostLines = 20; // of a change that are shown

// history shows who changed what, the newest on top.
export async function history(page) {
  const { changes } = (await look('/v1/history', { limit: 200 })).data;
  const rows = [...changes].reverse().map((c) => [String(c.index), c.time ? new Date(c.time).toLocaleString() : '', c.from ? called(c.from) : c.by_node ? 'a node' : '',
    page.editing ? el('div', {}, what(c), el('button', { type: 'button', class: 'small', 'data-key': 'to ' + c.index, onclick: () => offer(c.index) }, 'Go back to this …')) : what(c)]);
  show('history-list', [changes, page.editing], el('div', { class: 'card' }, el('h2', {}, 'Changes ', el('span', { class: 'count' }, whole(rows.length))),
    rows.length ? table('Changes', ['Index', 'When', 'Who', 'What'], rows) : el('p', {}, 'Nothing was changed yet.')));
}

function what(c) {
  const lines = [...c.removed.map((r) => ['del', '− ' + plain(r)]), ...c.added.map((r) => ['ins', '+ ' + plain(r)])];
  return el('div', {}, called(c.text), lines.length ? el('div', { class: 'diff' }, ...lines.slice(0, mostLines).map(([tag, text]) => el(tag, {}, text)),
    lines.length > mostLines || c.cut ? el('p', { class: 'note' }, 'and more') : null) : null);
}
