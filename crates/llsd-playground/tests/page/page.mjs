// Real Chromium on the playground, from a disk and without a server: what a person sees and does, with a mouse and
// without one. Usage: node page.mjs CHROMIUM PAGE.html [FOLDER for pictures]

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { deflateRawSync } from 'node:zlib';
import { Chromium } from './chromium.mjs';

const [program, file, pictures] = process.argv.slice(2);
const url = pathToFileURL(resolve(file)).href;
const browser = new Chromium(program);
const ALT = 1;
const SHIFT = 8;
let passed = 0;
const failed = [];

const value = "document.getElementById('text').value";
const state = "document.getElementById('state').textContent";
const caretAt = (needle) => `(() => { const field = document.getElementById('text'); field.focus(); const at = ${value}.indexOf(${JSON.stringify(needle)}); field.setSelectionRange(at, at + ${needle.length}); return at; })()`;

const opened = [];

async function fresh(fragment = '', width = 1360, height = 860, options = {}) {
  const page = await browser.page();
  opened.push(page);
  await page.size(width, height, options);
  await page.open(url + fragment);
  await page.until('the page is ready', "document.body?.dataset.ready === 'yes'");
  return page;
}

async function check(name, run) {
  const started = Date.now();
  opened.length = 0;
  let page;
  try {
    page = await fresh().finally(() => { [page] = opened; });
    await run(page);
    if (page.complaints.length) throw new Error(`the console says: ${page.complaints.join('; ')}`);
    passed += 1;
    console.log(`ok    ${name} (${Date.now() - started} ms)`);
  } catch (error) {
    failed.push(name);
    console.log(`FAIL  ${name}: ${error.message}${page?.complaints.length ? `; the console says: ${page.complaints.join('; ')}` : ''}`);
    if (pictures && page) await page.screenshot(join(pictures, `failed-${failed.length}.png`)).catch(() => {});
  }
}

function must(what, holds) { if (!holds) throw new Error(what); }

// A page that never begins would fail every check, each after its minute.
try {
  await fresh();
} catch (error) {
  console.log(`FAIL  ${error.message}; the console says: ${opened[0]?.complaints.join('; ')}`);
  await browser.close();
  process.exit(1);
}

if (pictures) mkdirSync(pictures, { recursive: true });

await check('a sample is rendered at once', async (page) => {
  await page.until('it is valid', `${state} === 'Valid'`);
  must('config.yaml is there', (await page.look("document.querySelectorAll('#panel li').length")) > 20);
});

await check('a mistake is underlined as one types, and a click on its remedy heals it', async (page) => {
  const before = await page.look(value);
  await page.look(caretAt('starter'));
  await page.type('startr');
  await page.until('it is underlined', "document.querySelector('.paint mark.problem')?.textContent === 'startr'");
  await page.until('it is listed', `${state} === '1 problem'`);
  must('the output says that it is old', await page.look("document.getElementById('note').classList.contains('stale')"));
  const { x, y } = await page.middle('.paint mark.problem');
  await page.point(x, y);
  await page.until('the bubble shows the remedy', "!document.getElementById('bubble').hidden && document.getElementById('bubble').textContent.includes('did you mean starter?')");
  if (pictures) await page.screenshot(join(pictures, 'playground-mistake.png'));
  await page.click('#bubble .apply');
  await page.until('it is healed', `${state} === 'Valid'`);
  must('the text is as it was', (await page.look(value)) === before);
  must('the output is new', await page.look("!document.getElementById('note').classList.contains('stale')"));
});

await check('the remedy in the list works too, and undo takes it back', async (page) => {
  await page.look(caretAt('endpoint:'));
  await page.type('endpont:');
  await page.until('it is listed', "document.querySelector('#problems .apply')?.textContent === 'Replace endpont by endpoint'");
  // What is typed without a pause is undone as one.
  await page.press('End');
  await page.click('#problems .apply');
  await page.until('it is healed', `${state} === 'Valid'`);
  await page.look("document.execCommand('undo')");
  await page.until('it is back', `${value}.includes('endpont:')`);
});

await check('pointing at a line shows its origin and the field', async (page) => {
  const line = await page.look("[...document.querySelectorAll('#panel li.field')].find((one) => one.textContent.includes('url')).id");
  const { x, y } = await page.middle(`#${line}`);
  await page.point(x, y);
  await page.until('the origin is shown', "document.getElementById('origin').textContent.includes('spec.providers.inference')");
  must('the field is lit', (await page.look("document.querySelector('.paint .source').textContent")).includes('endpoint'));
  await page.click(`#${line}`);
  must('a click goes there', await page.look(`document.activeElement.id === 'text' && ${value}.slice(0, document.activeElement.selectionStart).split('\\n').at(-1).includes('endpoint')`));
});

await check('a link restores text, release and tab', async (page) => {
  await page.look(`(() => { const release = document.getElementById('release'); release.value = '0.3.5'; release.dispatchEvent(new Event('change')); })()`);
  await page.click('#tab-env');
  await page.look(caretAt('metadata'));
  await page.press('Home');
  await page.type('# Grüße 🦙\n');
  await page.until('the address follows', "location.hash.length > 10 && document.getElementById('text').value.includes('🦙')");
  let hash = '';
  await page.until('the address rests', `(() => { const same = window.last === location.hash; window.last = location.hash; return same; })()`);
  await new Promise((done) => { setTimeout(done, 500); });
  hash = await page.look('location.hash');
  const text = await page.look(value);
  const other = await fresh(hash);
  must('the same text', (await other.look(value)) === text);
  must('the same release', (await other.look("document.getElementById('release').value")) === '0.3.5');
  must('the same tab', await other.look("document.getElementById('tab-env').getAttribute('aria-selected') === 'true'"));
  must('no complaint', other.complaints.length === 0);
  const broken = await fresh('#1notastate');
  must('a broken link shows the first sample', (await broken.look(value)).includes('LlamaStackDistribution') && broken.complaints.length === 0);
});

await check('a link that unpacks to more than a state is none', async () => {
  const bomb = deflateRawSync(JSON.stringify({ text: 'a'.repeat(50_000_000) })).toString('base64url');
  const other = await fresh(`#1${bomb}`);
  must('it shows the first sample', (await other.look(value)).includes('LlamaStackDistribution') && other.complaints.length === 0);
});

await check('the page runs nothing but its own script, and asks nobody', async (page) => {
  const violated = (act) => `new Promise((done) => {
    document.addEventListener('securitypolicyviolation', (violation) => done(violation.effectiveDirective), { once: true });
    ${act}
  })`;
  must('no request', (await page.look(violated("fetch('https://example.org').catch(() => {});"))) === 'connect-src');
  const script = "const script = document.createElement('script'); script.textContent = 'window.ran = true'; document.body.append(script);";
  must('no other script', (await page.look(violated(script))).startsWith('script-src'));
  must('it did not run', await page.look('window.ran === undefined'));
  // What the browser says of the two attempts.
  page.complaints.length = 0;
});

await check('an older version becomes v1alpha2, and its text can be taken', async (page) => {
  await page.look(`(() => { const sample = document.getElementById('sample'); sample.value = 'v1alpha1-ollama'; sample.dispatchEvent(new Event('change')); })()`);
  await page.until('the tab is there', "document.getElementById('tab-migrated').getAttribute('aria-selected') === 'true'");
  if (pictures) await page.screenshot(join(pictures, 'playground-migrated.png'));
  await page.click('#use');
  await page.until('it is the text now', `${value}.includes('llamastack.io/v1alpha2') && document.getElementById('tab-migrated').hidden`);
});

await check('a group of other documents is healed and rendered', async (page) => {
  await page.look(caretAt('llamastack.io'));
  await page.type('llamastack.ai');
  await page.until('it is a warning', `${state} === '1 warning'`);
  must('it is rendered all the same', await page.look("!document.getElementById('note').classList.contains('stale')"));
  await page.click('#problems .apply');
  await page.until('it is healed', `${state} === 'Valid'`);
});

await check('another distribution and another release are a choice away', async (page) => {
  await page.look(`(() => { const one = document.getElementById('distribution'); one.value = 'ogx-starter'; one.dispatchEvent(new Event('change')); })()`);
  await page.until('the text follows', `/name: ogx-starter/.test(${value})`);
  await page.until('the releases follow', "document.getElementById('release').textContent.includes('OGX 1.2.5')");
  await page.look(`(() => { const one = document.getElementById('release'); one.value = 'ogx-1.2.5'; one.dispatchEvent(new Event('change')); })()`);
  await page.until('the base follows', "document.getElementById('note').textContent.includes('starter-ogx-1.2.5.yaml')");
});

await check('everything is reached and done without a mouse', async (page) => {
  const reached = [];
  for (let step = 0; step < 14; step += 1) {
    await page.press('Tab');
    reached.push(await page.look('document.activeElement.id || document.activeElement.className || document.activeElement.tagName'));
  }
  for (const id of ['skip', 'sample', 'distribution', 'release', 'share', 'theme', 'text', 'tab-config', 'copy', 'code']) must(`Tab reaches ${id}: ${reached}`, reached.includes(id));
  await page.look(caretAt('starter'));
  await page.type('startr');
  await page.until('it is listed', `${state} === '1 problem'`);
  await page.press('F8');
  await page.press('Enter', ALT);
  await page.until('it is healed', `${state} === 'Valid'`);
  await page.press('Tab', SHIFT);
  await page.look("document.getElementById('tab-config').focus()");
  await page.press('ArrowRight');
  must('arrows choose a tab', await page.look("document.activeElement.id === 'tab-objects' && document.getElementById('panel').textContent.includes('kind: Deployment')"));
  await page.press('ArrowLeft');
  await page.look("document.querySelector('.code').focus()");
  const field = await page.look("[...document.querySelectorAll('#panel li')].findIndex((one) => one.className === 'field')");
  for (let step = 0; step < field; step += 1) await page.press('ArrowDown');
  must('a screen reader hears the origin', (await page.look("document.getElementById(document.querySelector('.code').getAttribute('aria-activedescendant')).getAttribute('aria-label')")).includes('from the resource spec.'));
  await page.press('Enter');
  must('Enter goes to the field', await page.look("document.activeElement.id === 'text'"));
});

await check('every control has a name, and what changes is announced', async (page) => {
  const { nodes } = await page.send('Accessibility.getFullAXTree');
  const controls = nodes.filter((node) => !node.ignored && ['button', 'combobox', 'textbox', 'tab', 'listbox', 'tabpanel'].includes(node.role?.value));
  const unnamed = controls.filter((node) => !node.name?.value).map((node) => node.role.value);
  must(`unnamed: ${unnamed}`, unnamed.length === 0 && controls.length > 8);
  must('states are announced', (await page.look("document.querySelectorAll('[role=status]').length")) === 2);
});

await check('colours can be read, light and dark', async (page) => {
  // Contrast as WCAG counts it; 4.5 is what text needs.
  const measure = `(() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const channels = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
    const light = (colour) => { const [r, g, b] = channels(colour).map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const probe = document.body.appendChild(document.createElement('i'));
    const colour = (name) => { probe.style.color = 'var(--' + name + ')'; return getComputedStyle(probe).color; };
    const ratio = (a, b) => { const [x, y] = [light(colour(a)), light(colour(b))].sort((m, n) => n - m); return (x + 0.05) / (y + 0.05); };
    const pairs = [['ink', 'card'], ['soft', 'card'], ['soft', 'ground'], ['accent', 'card'], ['problem', 'card'], ['warning', 'card'], ['warning', 'warning-ground'], ['rule', 'card'], ['key', 'card'], ['value', 'card'], ['key', 'problem-ground'], ['ink', 'accent-ground']];
    return pairs.map(([a, b]) => [a + ' on ' + b, ratio(a, b)]).filter(([, found]) => found < 4.5).map(([name, found]) => name + ' ' + found.toFixed(1));
  })()`;
  for (const dark of [false, true]) {
    await page.size(1360, 860, { dark });
    const weak = await page.look(measure);
    must(`${dark ? 'dark' : 'light'}: ${weak}`, weak.length === 0);
  }
});

await check('on a phone nothing is wider than the screen', async (page) => {
  await page.size(390, 844, { scale: 2 });
  await page.until('it fits', 'document.documentElement.scrollWidth <= 390');
});

if (pictures) {
  for (const [name, width, height, options] of [['playground-light', 1360, 860, {}], ['playground-dark', 1360, 860, { dark: true }], ['playground-phone', 390, 1500, {}], ['playground-phone-dark', 390, 1500, { dark: true }]]) {
    const page = await fresh('', width, height, options);
    const line = await page.look("[...document.querySelectorAll('#panel li.field')].find((one) => one.textContent.includes('url')).id");
    await page.look(`document.getElementById('panel').scrollTop = document.getElementById('${line}').offsetTop - 420`);
    const { x, y } = await page.middle(`#${line}`);
    await page.point(x, y);
    if (width > 600) await page.until('the field is lit', "document.querySelector('.paint .source')");
    await page.screenshot(join(pictures, `${name}.png`));
  }
}
await browser.close();
console.log(`${passed} passed, ${failed.length} failed`);
process.exit(failed.length === 0 ? 0 : 1);
