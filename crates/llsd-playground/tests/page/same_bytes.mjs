// The engine in WebAssembly gives the bytes that the command line prints: for every sample, every golden case, and
// every release that the page offers. Usage: node same_bytes.mjs ENGINE.wasm LLSD REPOSITORY

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [engine, llsd, repository] = process.argv.slice(2);
const compiled = new WebAssembly.Module(readFileSync(engine));
const { exports } = new WebAssembly.Instance(compiled);

function ask(question) {
  const bytes = new TextEncoder().encode(JSON.stringify(question));
  const place = exports.question(bytes.length);
  new Uint8Array(exports.memory.buffer, place, bytes.length).set(bytes);
  const length = exports.ask();
  return JSON.parse(new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.answer(), length)));
}

const work = mkdtempSync(join(tmpdir(), 'playground-'));
const texts = (folder) => Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
// The page shows in one list what the command separates: the objects to apply, in `files` what is not an object, and its own record.
function written(folder) {
  if (!existsSync(folder)) return {};
  const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile() && entry.name !== '.llsd-rendered');
  const objects = entries.map(({ name }) => [name, readFileSync(join(folder, name), 'utf8')]);
  return { ...Object.fromEntries(objects), ...texts(join(folder, 'files')) };
}

// Texts have the names that the page gives them, since messages repeat those.
function command(words, { text, facts, base, release }, baseName = 'base.yaml') {
  const folder = mkdtempSync(join(work, 'run-'));
  const flags = [];
  writeFileSync(join(folder, 'resource.yaml'), text);
  if (facts !== undefined) { writeFileSync(join(folder, 'facts.yaml'), facts); flags.push('--facts', 'facts.yaml'); }
  if (base !== undefined) { writeFileSync(join(folder, baseName), base); flags.push('--base', baseName); }
  if (release !== undefined) flags.push('--release', release);
  const done = spawnSync(llsd, [...words, '-f', 'resource.yaml', ...flags], { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 26 });
  if (done.error) throw done.error;
  return { ...done, folder };
}

let compared = 0;
let texted = 0;
const wrong = [];
function same(what, ours, theirs) {
  texted += 1;
  if (ours !== theirs) wrong.push(`${what}\n--- page\n${String(ours).slice(0, 600)}\n--- llsd\n${String(theirs).slice(0, 600)}`);
}

function compare(name, known, baseName) {
  compared += 1;
  // A release of the page's own brings its base along; the command is given the same file.
  const asked = baseName ? { ...known, base: undefined } : known;
  const answer = ask({ ask: 'render', ...asked });
  const yaml = command(['render'], known, baseName);
  same(`${name}: objects`, answer.objects, yaml.stdout);
  const done = command(['render', '-o', 'dir=out'], known, baseName);
  same(`${name}: messages`, answer.messages, done.stderr.split('\n').filter((line) => !/^wrote |^config.yaml was left out/.test(line)).join('\n'));
  const files = written(join(done.folder, 'out'));
  const ours = Object.fromEntries((answer.rendered[0]?.files ?? []).map((file) => [file.name, file.text]));
  same(`${name}: names of files`, Object.keys(ours).sort().join(), Object.keys(files).sort().join());
  for (const [file, text] of Object.entries(files)) same(`${name}: ${file}`, ours[file], text);
  if (files['config.yaml'] !== undefined) {
    same(`${name}: lines`, answer.rendered[0].lines.map((line) => `${line.text}\n`).join(''), files['config.yaml'].replace(/\n?$/, '\n'));
    same(`${name}: origins`, answer.explained, command(['explain'], known, baseName).stdout);
  }
  if (answer.migrated) same(`${name}: v1alpha2`, answer.migrated.text ?? '', command(['migrate'], known, baseName).stdout);
  for (const finding of answer.findings.filter((one) => one.change)) {
    const { from, to, inserted } = finding.change;
    const healed = asked.text.slice(0, from) + inserted + asked.text.slice(to);
    const after = ask({ ask: 'render', ...asked, text: healed });
    const left = after.findings.some((one) => one.path === finding.path && one.message === finding.message);
    same(`${name}: remedy of ${finding.path}`, left, false);
  }
}

const samples = join(repository, 'deploy/samples');
for (const file of readdirSync(samples).filter((one) => one.endsWith('.yaml'))) {
  compare(file, { text: readFileSync(join(samples, file), 'utf8') });
}
const cases = join(repository, 'crates/llsd-plan/tests/cases');
const bases = join(repository, 'crates/llsd-plan/tests/bases');
for (const name of readdirSync(cases, { withFileTypes: true }).filter((one) => one.isDirectory()).map((one) => one.name)) {
  const read = (file) => (existsSync(join(cases, name, file)) ? readFileSync(join(cases, name, file), 'utf8') : undefined);
  const text = read('resource.yaml');
  const shared = /^# base: (\S+)$/m.exec(text)?.[1];
  compare(name, { text, facts: read('facts.yaml'), base: shared ? readFileSync(join(bases, `${shared}.yaml`), 'utf8') : read('base.yaml') });
}
const simple = readFileSync(join(samples, 'v1alpha2-simple.yaml'), 'utf8');
for (const { name, older } of ask({ ask: 'catalogue' }).distributions) {
  const { text } = ask({ ask: 'distribution', text: simple, name });
  compare(`distribution ${name}`, { text });
  for (const release of older) {
    const file = `starter-${release}.yaml`;
    compare(`${name} ${release}`, { text, release, base: readFileSync(join(bases, file), 'utf8') }, file);
  }
}
// The worst a text can do to the page is to be refused.
for (const text of ['', '\u0000', '[', 'a: &a [*a]', '{'.repeat(100000), '🦙: 1\nkind: LlamaStackDistribution']) ask({ ask: 'render', text });

rmSync(work, { recursive: true });
for (const one of wrong) console.error(one);
console.log(`${compared} resources, ${texted} texts compared with llsd, ${wrong.length} different`);
process.exit(wrong.length === 0 && compared > 200 ? 0 : 1);
