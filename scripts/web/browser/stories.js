// The stories: what is done on the page, and what it has to show then.
'use strict';

const assert = require('node:assert');
const { measure } = require('./measure');

const sizes = [
  { name: 'wide', width: 1280, height: 800 },
  { name: 'wide-dark', width: 1280, height: 800, dark: true },
  { name: 'phone', width: 360, height: 740, touch: true },
];

// good fails where the form of the page is not.
async function good(page, where) {
  const wrong = await measure(page);
  assert.deepStrictEqual(wrong, [], where);
}

// holds waits until an element's text has a part.
async function holds(page, selector, ...parts) {
  for (const part of parts) {
    await page.waitForFunction(([s, p]) => document.querySelector(s)?.textContent.includes(p), [selector, part], { timeout: 60000 })
      .catch(async () => assert.fail(`${selector} does not hold “${part}”: ${await page.locator(selector).first().textContent()}`));
  }
}

const tab = (page, name) => page.getByRole('tab', { name }).click();

// inTurn has stories told two at a time: a machine with few processors that opens eight pages at once has
// connections wait for seconds for their first request, and nodes close those.
async function inTurn(...stories) {
  const teller = async () => { for (let s = stories.shift(); s; s = stories.shift()) await s(); };
  await Promise.all([teller(), teller()]);
}

// page: one of everything.
exports.page = async (visit, facts) => {
  await inTurn(...sizes.map((s) => () => everyView(visit, facts, s)), () => names(visit, facts), () => shapes(visit), () => keys(visit), () => rights(visit), () => alone(visit));
  await changes(visit);
};

// everyView: what there is stands in each view, on each screen.
async function everyView(visit, facts, size) {
  const page = await visit.open({ ...size, hash: '#topics/quotes' });
  await holds(page, '#where', 'node n1', 'leader n');
  await holds(page, '#topic-count', String(facts.topics));
  await holds(page, '#detail', 'quotes', '<b>datagrams</b>', 'retryCount=-1', 'can’t be reached', 'Last error', 'queued');
  await holds(page, '#detail', 'cost -2147483648', 'cost 5', 'cost 2147483647');
  await page.waitForFunction(() => [...document.querySelectorAll('#graph .label .rate')].some((e) => /\d\/s/.test(e.textContent)));
  await page.waitForFunction(() => document.querySelectorAll('#graph path.flow').length > 0);
  await visit.shot(page, 'topics-' + size.name);
  await good(page, 'topics ' + size.name);
  await page.locator('#as-text summary').click();
  await good(page, 'topics as text ' + size.name);
  assert.equal(await page.locator('#graph .node').count(), facts.topics + 1, 'topics and messages');
  assert.equal(await page.locator('#graph-table tbody tr').count(), facts.links);
  await holds(page, '#graph-table', 'rmr:110/7');
  await page.evaluate(() => document.getElementById('detail').scrollIntoView());
  await visit.shot(page, 'detail-' + size.name, true);

  await tab(page, 'Routes');
  await holds(page, '#route-list', '1000', '10.0.1.1:4560,10.0.1.2:4560;10.0.2.1:4560');
  await holds(page, '#meid-list', 'gnb_<b>002</b>');
  await page.locator('#route-search').fill('3007');
  await holds(page, '#route-count', '1 of 304');
  await page.locator('#route-list .row').first().click();
  await holds(page, '#route-picked', 'mse|3007,10.7.0.7:4560|7|10.8.0.7:4560');
  await ask(page, { mtype: '1000', subid: '', sender: '' });
  await holds(page, '#traced', '10.0.1.1:4560 or 10.0.1.2:4560, in turns', 'and a copy to 10.0.2.1:4560');
  await ask(page, { mtype: '1001', meid: 'gnb_001' });
  await holds(page, '#traced', '10.0.2.1:38000', 'the owner of the MEID');
  await ask(page, { mtype: '1001', meid: 'gnb_oo1' });
  await holds(page, '#traced', 'the MEID is not known');
  await page.locator('#route-search').fill('110 7');
  await page.waitForFunction(() => /\d\/s/.test(document.querySelector('#route-list .row .rate')?.textContent));
  await page.locator('#route-list .row').first().click();
  await page.waitForFunction(() => /^mse\|110\|7\|.*: [1-9][\d\u202f]* messages of this type and sub id went through floe/.test(document.getElementById('route-picked').textContent));
  await page.locator('#endpoint-list .row').first().click();
  await holds(page, '#endpoint-picked', facts.endpoint + ': 0 delivered', 'dropped');
  await holds(page, '#endpoint-list', facts.endpoint, '⚠');
  await page.locator('#route-search').fill('');
  await visit.shot(page, 'routes-' + size.name, true);
  await good(page, 'routes ' + size.name);

  await tab(page, 'Apps');
  await holds(page, '#apps', 'n1', 'n2', 'up to date');
  await visit.shot(page, 'apps-' + size.name);
  await good(page, 'apps ' + size.name);
  await tab(page, 'History');
  await holds(page, '#history', 'market', 'http ');
  await visit.shot(page, 'history-' + size.name);
  await good(page, 'history ' + size.name);
  await tab(page, 'Nodes');
  await holds(page, '#nodes', 'leader', 'follower', facts.follower);
  await visit.shot(page, 'nodes-' + size.name);
  await good(page, 'nodes ' + size.name);
  await visit.done(page);
}

async function ask(page, fields) {
  for (const [name, value] of Object.entries(fields)) await page.locator(`#trace [name=${name}]`).fill(value);
  await page.getByRole('button', { name: 'Find out' }).click();
}

// names: whatever a topic is called, it stands there as text and can be chosen.
async function names(visit, facts) {
  const page = await visit.open();
  await holds(page, '#topic-count', String(facts.topics));
  for (const name of facts.odd) {
    await page.evaluate((n) => { location.hash = '#topics/' + encodeURIComponent(n); }, name);
    const text = await page.evaluate((n) => import('/web/dom.js').then((dom) => dom.plain(n)), name);
    assert.ok(!/[\n\t\u202e]/.test(text) && text !== '', JSON.stringify(text));
    await holds(page, '#detail h2', text);
    await holds(page, '#detail', 'Links from 1');
    await good(page, 'topic ' + JSON.stringify(name));
  }
  assert.equal(await page.locator('script').count(), 1);
  assert.equal(await page.locator('main img, main b').count(), 0);
  assert.match(await page.title(), /^floe n1/);
  await visit.done(page);
}

// shapes: whatever the graph is like, no two topics are drawn over each other, and links go from border to border.
async function shapes(visit) {
  const page = await visit.open();
  const wrong = await page.evaluate(async () => {
    const { layout } = await import('/web/layout.js');
    let seed = 1;
    const random = (n) => { seed = (seed * 48271) % 2147483647; return seed % n; };
    const wrong = [];
    for (let round = 0; round < 60; round++) {
      const nodes = Array.from({ length: 1 + random(60) }, (_, i) => ({ id: i, w: 56 + random(120), h: 40 }));
      const links = Array.from({ length: random(90) }, () => ({ from: random(nodes.length), to: random(nodes.length), label: 44 }));
      const { width, height, place, lines } = layout(nodes, links, { down: round % 2 === 1, room: 900 });
      const boxes = nodes.map((n) => ({ ...n, ...place.get(n.id) }));
      boxes.forEach((a, i) => {
        if (!(a.x - a.w / 2 > -1 && a.y - a.h / 2 > -1 && a.x + a.w / 2 < width + 1 && a.y + a.h / 2 < height + 1)) wrong.push(`${round}: node ${i} is outside`);
        for (const b of boxes.slice(i + 1)) if (Math.abs(a.x - b.x) < (a.w + b.w) / 2 && Math.abs(a.y - b.y) < (a.h + b.h) / 2) wrong.push(`${round}: ${a.id} lies over ${b.id}`);
      });
      for (const l of links) {
        const points = lines.get(l), at = (p, n) => Math.abs(p[0] - boxes[n].x) < boxes[n].w / 2 + 1 && Math.abs(p[1] - boxes[n].y) < boxes[n].h / 2 + 1;
        if (!points || !at(points[0], l.from) || !at(points.at(-1), l.to)) wrong.push(`${round}: the line from ${l.from} to ${l.to} is ${points}`);
      }
    }
    return wrong;
  });
  assert.deepStrictEqual(wrong, []);
  await visit.done(page);
}

// keys: everything can be reached without a mouse.
async function keys(visit) {
  const page = await visit.open();
  await holds(page, '#topic-list', 'archive');
  await page.locator('#topic-search').fill('quo');
  await holds(page, '#topic-count', '1 of');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await holds(page, '#detail h2', 'quotes');
  await page.locator('#graph .node[aria-label="topic rome"]').focus();
  await page.keyboard.press('Enter');
  await holds(page, '#detail h2', 'rome');
  await page.locator('#tab-topics').focus();
  await page.keyboard.press('ArrowRight');
  await holds(page, '#route-list', '1000');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'tab-routes');
  await page.locator('#theme').selectOption('dark');
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(17, 22, 26)');
  await visit.shot(page, 'switched-to-dark');
  await page.reload();
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(17, 22, 26)');
  await visit.done(page);
}

// changes: a topic, a link, a table, and all that can be refused.
async function changes(visit) {
  const page = await visit.open();
  page.expected = ['409', '400', '404'];
  await holds(page, '#topic-list', 'archive');
  assert.equal(await page.locator('.change:visible').count(), 0, 'nothing can be changed at first');
  await page.getByLabel('Make changes').check();
  await page.locator('#create [name=name]').fill('fresh');
  await page.getByRole('button', { name: 'Create' }).click();
  await holds(page, '#create', 'Topic “fresh” is there.');
  await holds(page, '#detail h2', 'fresh');
  await page.locator('#create [name=name]').fill('fresh');
  await page.getByRole('button', { name: 'Create' }).click();
  await holds(page, '#create', 'topic exists');
  await page.locator('#link [name=to]').fill('rome');
  await page.locator('#link [name=cost]').fill('1.5');
  await page.getByRole('button', { name: 'Link', exact: true }).click();
  await holds(page, '#link', 'The cost is a whole number');
  await page.locator('#link [name=cost]').fill('-7');
  await page.getByRole('button', { name: 'Link', exact: true }).click();
  await holds(page, '#link', 'Linked to “rome”.');
  await holds(page, '#detail', 'cost -7');
  await page.locator('#link [name=to]').fill('paris');
  await page.getByRole('button', { name: 'Link', exact: true }).click();
  await holds(page, '#link', 'Linked to “paris”.');
  page.agree = true;
  await page.getByRole('button', { name: 'Unlink' }).nth(1).click();
  await holds(page, '#detail', 'The link is gone.', 'Links to 1');
  await visit.shot(page, 'changes');
  await good(page, 'changes');
  await tables(visit, page);
  await back(visit, page);
  await visit.done(page);
}

async function tables(visit, page) {
  await tab(page, 'Routes');
  await holds(page, '#route-count', '304');
  const text = page.locator('#load [name=text]'), load = page.getByRole('button', { name: 'Load', exact: true }), compare = page.getByRole('button', { name: 'Show what would change' });
  await text.fill('newrt|start\nmse|2000|-1\nnewrt|end|7\n');
  await compare.click();
  await holds(page, '#load .said', 'can’t be loaded', 'line');
  assert.ok(await load.isDisabled());
  await text.fill('newrt|start\nmse|2000|-1|10.9.9.9:4560\nnewrt|end|1\n');
  await compare.click();
  await holds(page, '#load .said', '304 records removed, 1 record added', '− mse|1000', '+ mse|2000|-1|10.9.9.9:4560');
  await visit.shot(page, 'comparison');
  await good(page, 'a comparison');
  await page.evaluate(() => fetch('/v1/meids', { method: 'POST', body: '{"owner":"10.0.2.1:38000","meids":["meanwhile"]}' }));
  await load.click();
  await holds(page, '#load .said', 'Somebody changed the routes meanwhile');
  await holds(page, '#meid-list', 'meanwhile');
  await compare.click();
  await holds(page, '#load .said', '1 record added');
  await load.click();
  await holds(page, '#load .said', 'Loaded: version');
  await holds(page, '#route-count', '1 · version');
}

// back: an earlier state, which comes back only as it was shown.
async function back(visit, page) {
  await tab(page, 'History');
  const rows = page.locator('#history-list tbody tr'), said = '#revert .said';
  const change = (method, path, body) => page.evaluate(([method, path, body]) => fetch(path, { method, body }), [method, path, body]);
  await holds(page, '#history-list', 'Go back to this');
  const index = await rows.first().locator('td').first().textContent();
  await change('POST', '/v1/topics', '{"name":"a mistake"}');
  await change('POST', '/v1/links', '{"from":"fresh","to":"a mistake","cost":3}');
  await change('POST', '/v1/meids', '{"owner":"10.0.2.1:38000","meids":["mistaken"]}');
  await holds(page, '#history-list', 'mistaken');
  await rows.filter({ hasText: new RegExp('^' + index) }).getByRole('button').click();
  await holds(page, said, `back to index ${index}`, '− topic “a mistake”', '− mme_ar|10.0.2.1:38000|', 'mistaken');
  await visit.shot(page, 'revert');
  await good(page, 'what would come back');
  await change('POST', '/v1/topics', '{"name":"meanwhile"}');
  await page.getByRole('button', { name: 'Go back', exact: true }).click();
  await holds(page, said, 'nothing was done');
  await page.locator('#revert [name=to]').fill('x');
  await page.locator('#revert [name=compare]').click();
  await holds(page, said, 'The index is a whole number');
  await page.locator('#revert [name=to]').fill(index);
  await page.locator('#revert [name=compare]').click();
  await holds(page, said, '− topic “meanwhile”');
  await page.getByRole('button', { name: 'Go back', exact: true }).click();
  await holds(page, said, `All is as it was at index ${index}.`);
  await tab(page, 'Topics');
  await page.waitForFunction(() => { const t = document.getElementById('topic-list').textContent; return t.includes('fresh') && !t.includes('mistake') && !t.includes('meanwhile'); });
}

// rights: a node that wants a token, and one that has a history to tell.
async function rights(visit) {
  const page = await visit.open();
  page.expected = ['401', '403'];
  let sent, answer = 401;
  await page.route('**/v1/topics', (route) => {
    sent = route.request().headers().authorization;
    route.fulfill({ status: answer, contentType: 'application/json', body: '{"error":{"kind":"x","message":"role operate is needed"}}' });
  });
  await page.route('**/v1/history*', (route) => route.fulfill({
    contentType: 'application/json', body: JSON.stringify({ index: 9, floor: 0, changes: [
      { index: 7, time: '2026-01-02T03:04:05Z', from: 'http 127.0.0.1:5', op: 'create', text: 'create "<i>x</i>"', topics: ['<i>x</i>'], graph: [], removed: [], added: [] },
      { index: 9, op: 'routes', text: 'routes changed', topics: [], graph: [], removed: ['mse|1|-1|a:1'], added: ['mse|1|-1|b:1'], cut: true },
    ] }),
  }));
  await page.reload();
  await holds(page, '#topic-list', 'archive');
  await page.getByLabel('Make changes').check();
  const create = page.getByRole('button', { name: 'Create' });
  await create.click();
  await holds(page, '#create', 'This needs a token');
  await visit.shot(page, 'token');
  await good(page, 'token');
  await page.locator('#token-dialog input').fill('secret');
  await page.getByRole('button', { name: 'Use it' }).click();
  answer = 403;
  await create.click();
  await holds(page, '#create', 'You may not do that: role operate is needed');
  assert.equal(sent, 'Bearer secret');
  assert.equal(await page.evaluate(() => sessionStorage.getItem('floe-token')), 'secret');
  await tab(page, 'History');
  await holds(page, '#history', 'create "<i>x</i>"', 'http 127.0.0.1:5', '− mse|1|-1|a:1', '+ mse|1|-1|b:1', 'and more');
  assert.match(await page.locator('#history tbody tr').first().textContent(), /^9/, 'the newest is on top');
  await visit.shot(page, 'history');
  await good(page, 'history');
  await visit.done(page);
}

// tokens: a node that wants tokens, one of which may only read.
exports.tokens = async (visit, { reader, root }) => {
  const page = await visit.open();
  page.expected = ['401', '403'];
  const use = async (token) => {
    if (!await page.locator('#token-dialog').isVisible()) await page.locator('#token').click();
    await page.locator('#token-dialog input').fill(token);
    await page.getByRole('button', { name: 'Use it' }).click();
  };
  const create = page.getByRole('button', { name: 'Create' });
  await page.locator('#token-dialog').waitFor();
  await holds(page, '#problems', 'This needs a token');
  await use('nonsense');
  await holds(page, '#problems', 'The token was not taken');
  await use(reader);
  await holds(page, '#topic-list', 'there');
  await holds(page, '#problems', 'Nothing is wrong.');
  await page.getByLabel('Make changes').check();
  await page.locator('#create [name=name]').fill('mine');
  await create.click();
  await holds(page, '#create', 'You may not do that: this needs the role operate');
  await use(root);
  await create.click();
  await holds(page, '#create', 'Topic “mine” is there.');
  await holds(page, '#topic-list', 'mine');
  await good(page, 'with a token');
  await visit.done(page);
};

// alone: figures of several nodes, of which one does not answer; a node without a history; and the page when its node is gone.
async function alone(visit) {
  const page = await visit.open();
  page.expected = ['404', 'ERR_FAILED', 'Failed to load'];
  let published = 0;
  await page.route('**/v1/top*', (route) => route.fulfill({ json: { node: 'n1', nodes: ['n1', 'n2'], missing: ['n3'], topics: [{ name: 'berlin', published: published += 9000, arrived: 0, offered: 0, delivered: 0, dropped: 0, queued: 0, failing: 0 }] } }));
  await page.route('**/v1/history*', (route) => route.fulfill({ status: 404, contentType: 'application/json', body: '{"error":{"kind":"not_found","message":"no call"}}' }));
  await page.reload();
  await holds(page, '#topic-list', 'archive');
  assert.ok(await page.getByRole('tab', { name: 'History' }).isHidden());
  await holds(page, '#graph-note', 'Rates are those of n1, n2.', 'n3 did not answer.');
  await page.waitForFunction(() => [...document.querySelectorAll('#topic-list .row')].some((r) => /berlin.*k\/s/.test(r.textContent)));
  await page.route('**/v1/status*', (route) => route.abort());
  await holds(page, '#problems', 'This node does not answer.', 'old.');
  await page.unroute('**/v1/status*');
  await page.route('**/v1/status*', async (route) => {
    const answer = await (await route.fetch()).json();
    route.fulfill({ json: { ...answer, problems: ['node <b>n3</b> can\'t be reached', 'disk is full'] } });
  });
  await holds(page, '#problems', 'node <b>n3</b> can\'t be reached');
  await visit.shot(page, 'problems');
  await good(page, 'problems');
  await visit.done(page);
}

// many: 10 000 topics.
exports.many = (visit) => inTurn(...sizes.filter((s) => !s.dark).map((size) => async () => {
  const page = await visit.open(size);
  await holds(page, '#topic-count', '10\u202f000');
  assert.ok(await page.locator('#topic-list .row').count() < 60, 'only the rows in sight are drawn');
  const drawn = await page.locator('#graph .node').count();
  assert.ok(drawn > 10 && drawn <= 60, `${drawn} topics drawn`);
  await holds(page, '#graph-note', `${drawn} of 10000 are drawn`);
  await visit.shot(page, 'many-' + size.name);
  await good(page, 'many ' + size.name);
  await page.locator('#topic-search').fill('t04321');
  await holds(page, '#topic-count', '1 of 10\u202f000');
  await page.locator('#topic-list .row').first().click();
  await holds(page, '#detail', 't04321', 'Links from 1');
  await page.locator('#graph .node.selected').waitFor();
  await page.locator('#detail button.link').first().click();
  await holds(page, '#detail h2', 't01080');
  await page.locator('#topic-search').fill('');
  await page.locator('#topic-list').focus();
  const began = Date.now();
  await page.keyboard.press('End');
  await holds(page, '#topic-list', 't09999');
  assert.ok(Date.now() - began < 10000, 'the list is quick');
  await visit.shot(page, 'one-of-many-' + size.name);
  await good(page, 'one of many ' + size.name);
  await visit.done(page);
}));
