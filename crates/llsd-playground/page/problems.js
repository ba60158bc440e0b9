// Problems and warnings in words, each with its place and, where a click can do it, its remedy.

import { span } from './colours.js';

const WORDS = { problem: 'Problem', warning: 'Warning', missing: 'Not known here' };

// One finding as an element.
export function describe(finding, apply, go) {
  const element = document.createElement('div');
  element.className = `finding ${finding.kind}`;
  const head = document.createElement('div');
  head.append(span(WORDS[finding.kind], 'kind'));
  const place = finding.path || 'text';
  const where = `${finding.file === 'resource.yaml' ? '' : `${finding.file}: `}${place}, line ${finding.line}`;
  if (go) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'where';
    button.textContent = where;
    button.addEventListener('click', () => go(finding));
    head.append(button);
  } else {
    head.append(span(where, 'soft'));
  }
  const message = document.createElement('p');
  message.textContent = finding.message;
  const remedy = document.createElement('p');
  remedy.className = 'remedy';
  remedy.textContent = finding.remedy;
  element.append(head, message, remedy);
  if (finding.change) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'apply';
    button.textContent = finding.change.label;
    button.addEventListener('click', () => apply(finding));
    element.append(button);
  }
  return element;
}

const counted = (count, what) => `${count} ${what}${count === 1 ? '' : 's'}`;

export function listProblems(findings, apply, go) {
  const list = document.getElementById('problems');
  list.replaceChildren(...findings.map((finding) => {
    const item = document.createElement('li');
    item.className = finding.kind;
    item.append(describe(finding, apply, go));
    return item;
  }));
  const count = (kind) => findings.filter((one) => one.kind === kind).length;
  const [problems, warnings, missing] = ['problem', 'warning', 'missing'].map(count);
  const state = document.getElementById('state');
  state.dataset.kind = problems ? 'problem' : warnings + missing ? 'warning' : '';
  const parts = [];
  if (problems) parts.push(counted(problems, 'problem'));
  if (warnings) parts.push(counted(warnings, 'warning'));
  if (missing) parts.push(`${counted(missing, 'thing')} not known here`);
  state.textContent = parts.length ? parts.join(', ') : 'Valid';
}
