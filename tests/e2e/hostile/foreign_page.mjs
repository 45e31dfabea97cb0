// Pages of other origins in a real browser try to reach a server.
// usage: node tests/e2e/hostile/foreign_page.mjs SERVER_URL; prints what the page saw of each attempt and what the
// server answered, as JSON.
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

// Not the package's own flags, which turn the browser's checks of origins off. The names are an attacker's: one
// serves a page of his, the other he turned to loopback, as in DNS rebinding.
const names = ['foreign.test', 'rebound.test'].map((name) => `MAP ${name} 127.0.0.1`);
const browser = await playwright.launch({
  executablePath: await chromium.executablePath(),
  args: ['--no-sandbox', '--no-zygote', `--host-resolver-rules=${names.join(', ')}`],
  headless: true,
});

/** Runs in the page: what a fetch comes to, as far as the page may see it. */
async function fetchInPage({ url, init }) {
  try {
    const response = await fetch(url, init);
    return `${response.type} ${response.status}`;
  } catch (error) {
    return error.name;
  }
}

/** Runs in the page: sends the form, whose answer the page can't see. */
function submitInPage({ url }) {
  const form = document.getElementById('form');
  form.action = url;
  form.submit();
  return 'sent';
}

const post = (type, more = {}) => ({
  method: 'POST',
  headers: { 'content-type': type },
  body: request,
  ...more,
});
const judge = new URL('/v1/judge', target).href;
const rubrics = new URL('/v1/rubrics', target).href;
const attempts = [
  ['json', fetchInPage, { url: judge, init: post('application/json') }],
  ['simple', fetchInPage, { url: judge, init: post('text/plain') }],
  ['no-cors', fetchInPage, { url: judge, init: post('text/plain', { mode: 'no-cors' }) }],
  ['read', fetchInPage, { url: rubrics, init: {} }],
  ['form', submitInPage, { url: judge }],
];

/**
 * Makes one attempt, and tells what the page saw and what the server answered: to the preflight where the
 * browser sends one. The debugger sees that also where the page may not.
 */
async function attempt(tab, run, argument) {
  const debug = await tab.context().newCDPSession(tab);
  await debug.send('Network.enable');
  const answered = answerTo(debug, argument.url);
  const seen = await tab.evaluate(run, argument);
  const status = await answered;
  await debug.detach();
  return `${seen}, answered ${status}`;
}

/** The status of the first answer to a URL. Either event may come first. */
function answerTo(debug, url) {
  const asked = new Set();
  const statuses = new Map();
  return new Promise((resolve) => {
    const settle = (id) => asked.has(id) && statuses.has(id) && resolve(statuses.get(id));
    debug.on('Network.requestWillBeSent', ({ requestId, request }) => {
      if (request.url === url) asked.add(requestId);
      settle(requestId);
    });
    debug.on('Network.responseReceivedExtraInfo', ({ requestId, statusCode }) => {
      statuses.set(requestId, statusCode);
      settle(requestId);
    });
  });
}

try {
  const found = {};
  const tab = await browser.newPage();
  for (const host of ['127.0.0.1', 'foreign.test']) {
    await tab.goto(`http://${host}:${foreign.address().port}/`);
    for (const [name, run, argument] of attempts)
      found[`${host} ${name}`] = await attempt(tab, run, argument);
  }
  const rebound = new URL('/v1/version', target);
  rebound.hostname = 'rebound.test';
  const opened = await tab.goto(rebound.href);
  found.rebound = `status ${opened.status()}`;
  const own = { url: new URL('/v1/judge', rebound).href, init: post('application/json') };
  found['rebound, same origin'] = await attempt(tab, fetchInPage, own);
  console.log(JSON.stringify(found));
} finally {
  await browser.close();
  foreign.close();
}
