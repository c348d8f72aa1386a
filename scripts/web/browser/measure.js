// What is wrong with the form of a page: sideways scrolling, texts over each other or outside, controls without a name.
'use strict';

exports.measure = (page) => page.evaluate(() => {
  const wrong = [];
  const html = document.documentElement;
  if (html.scrollWidth > html.clientWidth) wrong.push(`scrolls sideways: ${html.scrollWidth} in ${html.clientWidth}`);
  for (const e of document.querySelectorAll('body *')) { // boxes may scroll sideways in the graph only
    if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 30 && getComputedStyle(e).overflowX === 'auto' && !e.closest('#graph')) wrong.push(`scrolls sideways: ${e.id || e.className || e.tagName}`);
  }

  // visible cuts a box to what its surroundings let see.
  const visible = (rect, e) => {
    let { left, top, right, bottom } = rect;
    for (let p = e; p; p = p.parentElement) {
      const style = getComputedStyle(p);
      if (style.visibility === 'hidden' || style.clipPath !== 'none') return undefined;
      if (style.overflowX === 'visible' && style.overflowY === 'visible') continue;
      const box = p.getBoundingClientRect();
      left = Math.max(left, box.left); top = Math.max(top, box.top); right = Math.min(right, box.right); bottom = Math.min(bottom, box.bottom);
    }
    return right - left > 1 && bottom - top > 1 ? { left, top, right, bottom } : undefined;
  };

  const dialog = document.querySelector('dialog[open]');
  const texts = [];
  const walk = document.createTreeWalker(dialog ?? document.body, NodeFilter.SHOW_TEXT);
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    if (n.data.trim() === '' || n.parentElement.closest('option, title, script, noscript, dialog:not([open]), details:not([open]) > :not(summary)')) continue;
    const range = document.createRange();
    range.selectNodeContents(n);
    for (const rect of range.getClientRects()) {
      const box = visible(rect, n.parentElement);
      if (box) texts.push({ ...box, text: n.data.slice(0, 40), n });
    }
  }
  for (const i of document.querySelectorAll(dialog ? 'dialog input' : 'input, select, textarea')) {
    const rect = i.getBoundingClientRect();
    const box = rect.width ? visible(rect, i) : undefined;
    if (box) texts.push({ ...box, text: `<${i.tagName} ${i.name || i.id}>`, n: i });
  }
  for (const t of texts) if (t.right > html.clientWidth + 1 || t.left < -1) wrong.push(`outside: ${t.text} (${Math.round(t.left)} to ${Math.round(t.right)})`);
  const slack = 2;
  for (let i = 0; i < texts.length; i++) {
    for (let k = i + 1; k < texts.length; k++) {
      const a = texts[i], b = texts[k];
      if (a.n === b.n) continue;
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > slack && high > slack + 1) wrong.push(`overlap: “${a.text}” and “${b.text}” by ${Math.round(wide)}×${Math.round(high)}`);
    }
  }

  const boxes = [...document.querySelectorAll('#graph .node rect')].map((r) => r.getBoundingClientRect());
  boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
    if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) wrong.push('two topics are drawn over each other');
  }));

  for (const c of document.querySelectorAll('button, input, select, textarea, [role=listbox], [role=tab]')) {
    if (!c.getClientRects().length) continue;
    const name = c.getAttribute('aria-label') || [...(c.labels ?? [])].map((l) => l.textContent).join('').trim() || (c.tagName === 'BUTTON' ? c.textContent.trim() : '');
    if (!name) wrong.push('no name: ' + c.outerHTML.slice(0, 80));
  }
  return wrong;
});
