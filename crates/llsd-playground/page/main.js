// Puts the page together: the text is judged as one types, and everything else follows from the answer.

import { ask, startEngine } from './engine.js';
import { goTo, replace, setText, showFindings, showSource, startEditor, text } from './editor.js';
import { listProblems } from './problems.js';
import { openTab, showAnswer, shownTab, shownText, startOutput } from './output.js';
import { fromFragment, toFragment } from './link.js';
import { startTheme } from './theme.js';

const at = (id) => document.getElementById(id);
const FIRST = 'v1alpha2-simple';
let catalogue;
// The release that was chosen, also while the text has a mistake that hides it.
let wanted = '';
let waiting;
let saving;

const samples = () => [...at('samples').children].map((one) => ({ name: one.dataset.name, text: one.textContent }));

function heal(finding) {
  const { from, to, inserted } = finding.change;
  replace(from, to, inserted);
}

const go = (place) => goTo(place.line, place.column);

function goToFinding(finding) {
  if (finding.file === 'resource.yaml') { go(finding); return; }
  const field = at(finding.file === 'facts.yaml' ? 'facts' : 'base');
  field.closest('details').open = true;
  field.focus();
}

const releaseName = (release) => (release.startsWith('ogx-') ? `OGX ${release.slice(4)}` : release);

// The releases that the text's distribution can be shown for.
function offerReleases({ name, image }) {
  const picker = at('release');
  const before = picker.value;
  const known = catalogue.distributions.find((one) => one.name === name);
  const starters = catalogue.distributions.filter((one) => one.older.length);
  const older = known ? known.older : image ? starters.flatMap((one) => [...one.older, one.release]) : [];
  const first = known ? `${releaseName(known.release)} (current)` : image ? 'as the image says' : '–';
  picker.replaceChildren(new Option(first, ''), ...older.toReversed().map((release) => new Option(image ? `starter ${releaseName(release)}` : releaseName(release), release)));
  picker.disabled = older.length === 0;
  picker.value = older.includes(wanted) ? wanted : '';
  return picker.value !== before;
}

function offerDistributions({ name, image }) {
  const picker = at('distribution');
  const names = catalogue.distributions.map((one) => one.name);
  const own = names.includes(name) ? [] : [new Option(image ? 'its own image' : name ?? '–', '')];
  picker.replaceChildren(...own, ...names.map((one) => new Option(one, one)));
  picker.value = names.includes(name) ? name : '';
}

const given = (id) => (at(id).value.trim() ? at(id).value : undefined);

const question = () => ({ ask: 'render', text: text(), facts: given('facts'), base: given('base'), release: given('release') });

function judge() {
  let answer = ask(question());
  offerDistributions(answer.distribution);
  if (offerReleases(answer.distribution)) answer = ask(question());
  listProblems(answer.findings, heal, goToFinding);
  showFindings(answer.findings);
  showAnswer(answer);
}

function save() {
  clearTimeout(saving);
  saving = setTimeout(async () => history.replaceState(null, '', await fragment()), 300);
}

const fragment = () => toFragment({ ...question(), ask: undefined, tab: shownTab() });

// Judged when the fingers rest.
function changed() {
  clearTimeout(waiting);
  waiting = setTimeout(() => { judge(); save(); }, 120);
}

function now() {
  clearTimeout(waiting);
  judge();
  save();
}

function load({ text: value, facts = '', base = '', release = '', tab }) {
  at('facts').value = facts;
  at('base').value = base;
  at('facts').closest('details').open = facts + base !== '';
  wanted = release;
  setText(value);
  clearTimeout(waiting);
  judge();
  if (tab) openTab(tab);
}

async function copied(button, value) {
  const before = button.dataset.words ?? (button.dataset.words = button.textContent);
  try {
    await navigator.clipboard.writeText(value);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Copying is not allowed';
  }
  setTimeout(() => { button.textContent = before; }, 1500);
}

function startPickers() {
  const titled = samples().map((one) => new Option(one.name, one.name));
  at('sample').replaceChildren(new Option('choose…', ''), ...titled);
  at('sample').addEventListener('change', () => {
    const chosen = samples().find((one) => one.name === at('sample').value);
    if (chosen) { load({ text: chosen.text }); save(); at('sample').focus(); }
  });
  at('distribution').addEventListener('change', () => {
    const name = at('distribution').value;
    if (!name) return;
    wanted = '';
    setText(ask({ ask: 'distribution', text: text(), name }).text);
    now();
    at('distribution').focus();
  });
  at('release').addEventListener('change', () => { wanted = at('release').value; now(); });
  for (const id of ['facts', 'base']) at(id).addEventListener('input', changed);
}

async function start() {
  startTheme();
  await startEngine();
  catalogue = ask({ ask: 'catalogue' });
  at('version').textContent = catalogue.version;
  startEditor(changed, heal);
  startOutput({ source: showSource, go, tab: save });
  startPickers();
  at('share').addEventListener('click', async () => {
    history.replaceState(null, '', await fragment());
    copied(at('share'), location.href);
  });
  at('copy').addEventListener('click', () => copied(at('copy'), shownText()));
  at('use').addEventListener('click', () => { setText(shownText()); now(); });
  addEventListener('hashchange', async () => {
    const state = await fromFragment(location.hash);
    if (state) load(state);
  });
  load(await fromFragment(location.hash) ?? { text: samples().find((one) => one.name === FIRST)?.text ?? samples()[0].text });
  document.body.dataset.ready = 'yes';
}

start();
