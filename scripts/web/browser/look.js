// Opens floe's page in Debian's chromium, does one story there and fails where something is not as it should be.
// Usage: node look.js STORY URL DIRECTORY-FOR-SCREENSHOTS FACTS-AS-JSON
'use strict';

const path = require('node:path');
const { chromium } = require('playwright-core');
const stories = require('./stories');

const [story, url, shots, facts] = process.argv.slice(2);

async function main() {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
  try {
    await stories[story](new Visit(browser), JSON.parse(facts));
  } finally {
    await browser.close();
  }
}

// Visit opens pages and notes what must not happen on any.
class Visit {
  constructor(browser) { this.browser = browser; this.url = url; }

  async open({ width = 1280, height = 800, dark = false, hash = '', touch = false } = {}) {
    const context = await this.browser.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', hasTouch: touch, isMobile: touch, reducedMotion: 'reduce' });
    context.setDefaultTimeout(60000);
    const page = await context.newPage();
    page.wrong = [];
    page.expected = []; // what the console may say
    page.on('pageerror', (e) => page.wrong.push('error in the page: ' + e.stack));
    page.on('console', (m) => {
      if (m.location().url.includes('/v1/history')) return; // the page asks whether the node has that call
      if (m.type() === 'error' && !page.expected.some((x) => m.text().includes(x))) page.wrong.push('console: ' + m.text());
    });
    page.on('dialog', (d) => {
      if (!page.agree) page.wrong.push('a dialog: ' + d.message());
      page.agree ? d.accept() : d.dismiss();
    });
    page.on('request', (r) => { if (!r.url().startsWith(url)) page.wrong.push('asks elsewhere: ' + r.url()); });
    await page.goto(url + hash);
    return page;
  }

  shot(page, name, fullPage = false) { return page.screenshot({ path: path.join(shots, name + '.png'), fullPage }); }

  // done closes a page on which nothing was wrong.
  async done(page) {
    if (page.wrong.length) throw new Error(page.wrong.join('\n'));
    await page.context().close();
  }
}

main().catch((e) => {
  console.error(e.stack ?? e);
  process.exitCode = 1;
});
