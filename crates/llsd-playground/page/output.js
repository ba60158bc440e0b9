// The right side: config.yaml with the origin of every line, the objects, the environment, and the newest form
// of an older text.

import { coloured, span } from './colours.js';

const panel = document.getElementById('panel');
const note = document.getElementById('note');
const origin = document.getElementById('origin');
const part = document.getElementById('part');
const tabs = [...document.querySelectorAll('[role="tab"]')];
const KINDS = { field: 'from the resource', base: 'from the base', rule: 'by a rule of the operator' };
let shown = 'config';
let answer;
let stale = false;
let onSource = () => {};
let onGo = () => {};
let onTab = () => {};

const rendered = () => answer.rendered[Math.min(Number(part.dataset.resource ?? 0), answer.rendered.length - 1)];

// The text that the panel shows, byte for byte as the commands print it.
export function shownText() {
  if (shown === 'migrated') return answer.migrated?.text ?? '';
  if (!rendered()) return '';
  const file = (name) => rendered().files.find((one) => one.name === name)?.text ?? '';
  if (shown === 'config') return file('config.yaml');
  if (shown === 'env') return file('env.yaml');
  return part.value === '' || !file(part.value) ? answer.objects : file(part.value);
}

function plain(text) {
  const element = document.createElement('pre');
  element.className = 'plain';
  element.tabIndex = 0;
  for (const line of text.replace(/\n$/, '').split('\n')) element.append(...coloured(line), '\n');
  return element;
}

function legend() {
  origin.replaceChildren(span('Point at a line to see where it comes from:'),
    ...Object.entries(KINDS).map(([kind, words]) => span(words, `chip ${kind}`)));
  onSource(0);
}

function select(list, item) {
  list.querySelector('[aria-selected="true"]')?.setAttribute('aria-selected', 'false');
  if (!item) { list.removeAttribute('aria-activedescendant'); legend(); return; }
  item.setAttribute('aria-selected', 'true');
  list.setAttribute('aria-activedescendant', item.id);
  const line = rendered().lines[item.dataset.n - 1];
  const words = span(`Line ${item.dataset.n}, ${KINDS[line.kind]}`, `chip ${line.kind}`);
  const exact = document.createElement('code');
  exact.textContent = line.kind === 'rule' ? line.origin.replace(/^rule: /, '') : line.kind === 'field' ? line.origin : '';
  origin.replaceChildren(words, exact);
  if (line.at) origin.append(span(`line ${line.at.line} of the resource`));
  onSource(line.at?.line ?? 0);
}

// A list in which one line is current: by the pointer, or by the arrow keys.
function explained(lines) {
  const list = document.createElement('ol');
  list.className = 'code';
  list.tabIndex = 0;
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', 'config.yaml, line by line with its origin');
  list.append(...lines.map((line, index) => {
    const item = document.createElement('li');
    item.id = `line-${index + 1}`;
    item.className = line.kind;
    item.dataset.n = index + 1;
    item.setAttribute('role', 'option');
    item.setAttribute('aria-selected', 'false');
    item.setAttribute('aria-label', `${line.text.trim()}, ${KINDS[line.kind]}${line.kind === 'base' ? '' : ` ${line.origin}`}`);
    item.append(...coloured(line.text));
    return item;
  }));
  const current = () => list.querySelector('[aria-selected="true"]');
  const go = (item) => {
    const at = item && rendered().lines[item.dataset.n - 1].at;
    if (at) onGo(at);
  };
  list.addEventListener('mouseover', (event) => select(list, event.target.closest('li')));
  list.addEventListener('mouseleave', () => select(list, undefined));
  list.addEventListener('click', (event) => go(event.target.closest('li')));
  list.addEventListener('focus', () => { if (!current()) select(list, list.firstElementChild); });
  list.addEventListener('blur', () => select(list, undefined));
  list.addEventListener('keydown', (event) => {
    const item = current() ?? list.firstElementChild;
    const rows = Math.max(1, Math.floor(panel.clientHeight / item.offsetHeight) - 1);
    const index = Number(item.dataset.n) - 1;
    const to = { ArrowDown: index + 1, ArrowUp: index - 1, PageDown: index + rows, PageUp: index - rows, Home: 0, End: lines.length - 1 }[event.key];
    if (event.key === 'Enter') go(item);
    if (to === undefined) return;
    event.preventDefault();
    const next = list.children[Math.max(0, Math.min(lines.length - 1, to))];
    select(list, next);
    next.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  });
  return list;
}

function parts() {
  const objects = shown === 'objects';
  document.getElementById('part-label').hidden = !objects || !rendered();
  if (!objects || !rendered()) return;
  const chosen = part.value;
  const names = rendered().files.map((one) => one.name).filter((name) => !['config.yaml', 'env.yaml'].includes(name));
  part.replaceChildren(new Option(`All ${names.length} objects`, ''), ...names.map((name) => new Option(name.replace(/\.yaml$/, ''), name)));
  if (names.includes(chosen)) part.value = chosen;
}

function show() {
  for (const tab of tabs) {
    const chosen = tab.id === `tab-${shown}`;
    tab.setAttribute('aria-selected', String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
  }
  panel.setAttribute('aria-labelledby', `tab-${shown}`);
  parts();
  const migrated = shown === 'migrated';
  document.getElementById('use').hidden = !(migrated && answer.migrated?.text);
  const old = stale && !migrated;
  note.classList.toggle('stale', old);
  panel.classList.toggle('stale', old);
  origin.hidden = shown !== 'config';
  if (migrated) note.textContent = answer.migrated?.summary.trim().split('\n').at(-1) ?? '';
  else if (old) note.textContent = rendered() ? 'Of the last text without problems' : 'Nothing to show while there are problems';
  else note.textContent = shown === 'config' ? (rendered()?.source ?? '').replace(/, sha256:(.{12}).*$/, ', sha256:$1…') : '';
  const scrolled = [panel.scrollTop, panel.scrollLeft];
  if (shown === 'config' && rendered()) panel.replaceChildren(explained(rendered().lines));
  else panel.replaceChildren(plain(shownText()));
  [panel.scrollTop, panel.scrollLeft] = scrolled;
  legend();
}

// What a text became; a text with problems leaves the last output there, and says so.
export function showAnswer(next) {
  const empty = next.rendered.length === 0;
  stale = empty;
  answer = empty && answer ? { ...next, rendered: answer.rendered, objects: answer.objects } : next;
  const tab = document.getElementById('tab-migrated');
  const appeared = tab.hidden && answer.migrated;
  tab.hidden = !answer.migrated;
  if (appeared && answer.migrated.text) shown = 'migrated';
  if (!answer.migrated && shown === 'migrated') shown = 'config';
  show();
}

export const shownTab = () => shown;

export function openTab(name) {
  const tab = document.getElementById(`tab-${name}`);
  if (!tab || tab.hidden) return;
  shown = name;
  panel.scrollTop = 0;
  show();
  onTab();
}

export function startOutput({ source, go, tab }) {
  onSource = source;
  onGo = go;
  onTab = tab;
  for (const one of tabs) one.addEventListener('click', () => openTab(one.id.replace('tab-', '')));
  document.getElementById('tabs').addEventListener('keydown', (event) => {
    const visible = tabs.filter((one) => !one.hidden);
    const at = visible.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: visible.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = visible[(to + visible.length) % visible.length];
    openTab(next.id.replace('tab-', ''));
    next.focus();
  });
  part.addEventListener('change', show);
}
