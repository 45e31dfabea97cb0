// Pages of other origins in a real browser try to reach a server.
// usage: node tests/e2e/hostile/foreign_page.mjs SERVER_URL; prints what each attempt came to, as JSON.
import { createServer } from 'node:http';
import chromium from '@sparticuz/chromium';
import { chromium as playwright } from 'playwright-core';

const target = new URL(process.argv[2]);
const request = JSON.stringify({ rubricName: 'anti-slop', content: 'A text.' });

const page = `<!doctype html><title>foreign</title><iframe name="sink"></iframe>
<form id="form" method="post" enctype="text/plain" target="sink">
<input name='${request.slice(0, -1)},"x":"' value='"}'></form>`;
const foreign = createServer((_, response) =>
  response.writeHead(200, { 'content-type': 'text/html' }).end(page),
);
await new Promise((resolve) => foreign.listen(0, '127.0.0.1', resolve));

const browser = await playwright.launch({
  executablePath: await chromium.executablePath(),
  // Not the package's own flags, which turn the browser's checks of origins off. The last one is a name that
  // an attacker turned to loopback, as in DNS rebinding.
  args: ['--no-sandbox', '--no-zygote', '--host-resolver-rules=MAP rebound.test 127.0.0.1'],
  headless: true,
});

/** Runs in the page: what a fetch comes to, as far as the page may see it. */
async function attempt({ url, init }) {
  try {
    const response = await fetch(url, init);
    return `${response.type} ${response.status}`;
  } catch (error) {
    return error.name;
  }
}

const post = (type, more = {}) => ({
  method: 'POST',
  headers: { 'content-type': type },
  body: request,
  ...more,
});
const judge = new URL('/v1/judge', target).href;
const attempts = {
  json: { url: judge, init: post('application/json') },
  simple: { url: judge, init: post('text/plain') },
  'no-cors': { url: judge, init: post('text/plain', { mode: 'no-cors' }) },
  read: { url: new URL('/v1/rubrics', target).href, init: {} },
};

try {
  const found = {};
  const tab = await browser.newPage();
  await tab.goto(`http://127.0.0.1:${foreign.address().port}/`);
  for (const [name, one] of Object.entries(attempts))
    found[name] = await tab.evaluate(attempt, one);
  const formed = tab.waitForResponse(judge);
  await tab.evaluate((action) => {
    const form = document.getElementById('form');
    form.action = action;
    form.submit();
  }, judge);
  found.form = `status ${(await formed).status()}`;
  const rebound = new URL('/v1/version', target);
  rebound.hostname = 'rebound.test';
  const opened = await tab.goto(rebound.href);
  found.rebound = `status ${opened.status()}`;
  const own = { url: '/v1/judge', init: post('application/json') };
  found['rebound, same origin'] = await tab.evaluate(attempt, own);
  console.log(JSON.stringify(found));
} finally {
  await browser.close();
  foreign.close();
}
