// The text on the left: a real text field, painted from behind with colours, underlines and line numbers.

import { marked, span } from './colours.js';
import { describe } from './problems.js';

const field = document.getElementById('text');
const paint = document.querySelector('.paint');
const gutter = document.querySelector('.gutter');
const bubble = document.getElementById('bubble');
let findings = [];
let sourceLine = 0;
let apply = () => {};
let hiding;

// What a finding underlines on its line: a key or a value, or the place where something is missing.
function extent(finding, line) {
  const characters = [...line];
  const from = characters.slice(0, finding.column - 1).join('').length;
  const rest = line.slice(from);
  const word = /^(?:"[^"]*"|'[^']*'|[^\s,}\]]*?(?=:(?:\s|$))|[^\s,}\]]+)/.exec(rest);
  return { from, to: from + Math.max(word ? word[0].length : 0, 1) };
}

export function repaint() {
  const lines = field.value.split('\n');
  const numbers = document.createElement('div');
  paint.replaceChildren(...lines.map((line, index) => {
    const here = findings.filter((one) => one.line === index + 1);
    const row = span('', 'row');
    row.append(...marked(line, here.map((one) => ({ ...extent(one, line), kind: one.kind }))));
    const worst = here.find((one) => one.kind === 'problem') ?? here[0];
    const number = span(String(index + 1), worst?.kind ?? '');
    if (index + 1 === sourceLine) for (const element of [row, number]) element.classList.add('source');
    numbers.append(number);
    return row;
  }));
  gutter.replaceChildren(numbers);
  follow();
}

function follow() {
  paint.style.transform = `translate(${-field.scrollLeft}px, ${-field.scrollTop}px)`;
  if (gutter.firstChild) gutter.firstChild.style.transform = `translateY(${-field.scrollTop}px)`;
}

export function showFindings(list) {
  findings = list.filter((one) => one.file === 'resource.yaml');
  field.setAttribute('aria-invalid', String(findings.some((one) => one.kind === 'problem')));
  bubble.hidden = true;
  repaint();
}

// Shows the line that a line of the output comes from.
export function showSource(line) {
  if (line === sourceLine) return;
  sourceLine = line;
  repaint();
}

const rowHeight = () => parseFloat(getComputedStyle(field).lineHeight);

function offsetOf(line, column) {
  const lines = field.value.split('\n');
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  return before + [...(lines[line - 1] ?? '')].slice(0, column - 1).join('').length;
}

export function goTo(line, column) {
  const at = offsetOf(line, column);
  field.focus();
  field.setSelectionRange(at, at);
  field.scrollTop = Math.max(0, (line - 1) * rowHeight() - field.clientHeight / 3);
  follow();
}

// Through the browser's own editing, so that undo works.
export function replace(from, to, inserted) {
  field.focus();
  field.setSelectionRange(from, to);
  const done = inserted === '' ? document.execCommand('delete') : document.execCommand('insertText', false, inserted);
  if (!done) {
    field.setRangeText(inserted, from, to, 'end');
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }
}

export const text = () => field.value;

// For undo's sake the field takes the focus, except at the start, when there is nothing to undo.
export function setText(value) {
  if (field.value === '') field.value = value;
  else replace(0, field.value.length, value);
  field.setSelectionRange(0, 0);
  field.scrollTop = 0;
  field.scrollLeft = 0;
  repaint();
}

function atCaret() {
  const line = field.value.slice(0, field.selectionStart).split('\n').length;
  return findings.filter((one) => one.line === line);
}

// The next problem behind the caret, or before it, and round again.
function step(direction) {
  if (findings.length === 0) return;
  const caret = field.selectionStart;
  const places = findings.map((one) => offsetOf(one.line, one.column)).sort((a, b) => a - b);
  const next = direction > 0 ? places.find((at) => at > caret) ?? places[0] : places.findLast((at) => at < caret) ?? places.at(-1);
  const line = field.value.slice(0, next).split('\n').length;
  goTo(line, [...field.value.slice(offsetOf(line, 1), next)].length + 1);
}

function underPointer(event) {
  const box = field.getBoundingClientRect();
  const style = getComputedStyle(field);
  const line = Math.floor((event.clientY - box.top - parseFloat(style.paddingTop) + field.scrollTop) / rowHeight()) + 1;
  const row = paint.children[line - 1];
  if (!row) return undefined;
  const inside = [...row.querySelectorAll('mark')].some((mark) => {
    const { left, right } = mark.getBoundingClientRect();
    return event.clientX >= left - 2 && event.clientX <= right + 2;
  });
  return inside ? { line, found: findings.filter((one) => one.line === line) } : undefined;
}

function hover(event) {
  const under = underPointer(event);
  clearTimeout(hiding);
  if (!under) {
    hiding = setTimeout(() => { bubble.hidden = true; }, 250);
    return;
  }
  bubble.replaceChildren(...under.found.map((one) => describe(one, apply)));
  bubble.hidden = false;
  const editor = bubble.parentElement.getBoundingClientRect();
  const row = paint.children[under.line - 1].getBoundingClientRect();
  const below = row.bottom - editor.top + 4;
  const fits = below + bubble.offsetHeight < editor.height;
  bubble.style.top = `${fits ? below : Math.max(4, row.top - editor.top - bubble.offsetHeight - 4)}px`;
  bubble.style.left = `${Math.max(4, Math.min(event.clientX - editor.left - 24, editor.width - bubble.offsetWidth - 8))}px`;
}

export function startEditor(changed, applied) {
  apply = applied;
  field.addEventListener('input', () => { sourceLine = 0; bubble.hidden = true; repaint(); changed(); });
  field.addEventListener('scroll', () => { bubble.hidden = true; follow(); });
  field.addEventListener('mousemove', hover);
  field.addEventListener('mouseleave', () => { hiding = setTimeout(() => { bubble.hidden = true; }, 250); });
  bubble.addEventListener('mouseenter', () => clearTimeout(hiding));
  bubble.addEventListener('mouseleave', () => { bubble.hidden = true; });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'F8') { event.preventDefault(); step(event.shiftKey ? -1 : 1); }
    if (event.key === 'Escape') bubble.hidden = true;
  });
  field.addEventListener('keydown', (event) => {
    const found = atCaret().find((one) => one.change);
    if (event.key === 'Enter' && event.altKey && found) { event.preventDefault(); apply(found); return; }
    if (event.key !== 'Enter' || event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
    // A new line begins where the last one did, one step in behind a key without a value.
    const line = field.value.slice(0, field.selectionStart).split('\n').at(-1);
    const indent = /^\s*/.exec(line)[0] + (/:\s*$/.test(line) ? '  ' : '');
    if (indent) { event.preventDefault(); document.execCommand('insertText', false, `\n${indent}`); }
  });
}
