// Light, dark, or as the system has it.

const root = document.documentElement;
const system = matchMedia('(prefers-color-scheme: dark)');
const dark = () => (root.dataset.theme ?? (system.matches ? 'dark' : 'light')) === 'dark';

export function startTheme() {
  const button = document.getElementById('theme');
  const named = () => { button.setAttribute('aria-label', dark() ? 'Light colours' : 'Dark colours'); button.title = button.getAttribute('aria-label'); };
  try { if (localStorage.theme) root.dataset.theme = localStorage.theme; } catch { /* A page from a disk may have no store. */ }
  button.addEventListener('click', () => {
    root.dataset.theme = dark() ? 'light' : 'dark';
    try { localStorage.theme = root.dataset.theme; } catch { /* As above. */ }
    named();
  });
  named();
}
