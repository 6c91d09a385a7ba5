/** Runs before the page is drawn, so that it has its colours from the beginning; the rest when the page is there. */
const root = document.documentElement;
const kept = (name) => localStorage.getItem(name);
const darkSystem = matchMedia('(prefers-color-scheme: dark)');
const isDark = () => (root.dataset.theme ?? (darkSystem.matches ? 'dark' : 'light')) === 'dark';

/** The reference's component has a class of its own. */
const setColours = () => root.classList.toggle('dark-mode', isDark());

if (kept('theme') !== null) root.dataset.theme = kept('theme');
setColours();
darkSystem.addEventListener('change', setColours);

function switchTheme() {
  root.dataset.theme = isDark() ? 'light' : 'dark';
  localStorage.setItem('theme', root.dataset.theme);
  setColours();
}

/** Shows the language in every group of the page that has it. */
function showLanguage(language) {
  for (const input of document.querySelectorAll('.tabs input')) if (input.value === language) input.checked = true;
}

/** Each block of code can be copied, where the browser lets pages of this origin copy. */
function addCopyButtons() {
  if (navigator.clipboard === undefined) return;
  for (const block of document.querySelectorAll('.code')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(block.querySelector('code').textContent);
      button.textContent = 'Copied';
      setTimeout(() => {
        button.textContent = 'Copy';
      }, 1500);
    });
    block.append(button);
  }
}

/** Sections that have all words: those with more of them in their headings first. */
function found(sections, text) {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  if (words.length === 0) return [];
  const beginnings = words.map((word) => new RegExp(`(?<![\\p{L}\\p{N}])${word}`, 'iu'));
  const count = (part) => beginnings.filter((beginning) => beginning.test(part)).length;
  return sections
    .filter(([, ...parts]) => count(parts.join(' ')) === words.length)
    .map((section) => ({ section, rank: 3 * count(section[2]) + 2 * count(section[1]) }))
    .sort((a, b) => b.rank - a.rank)
    .slice(0, 12)
    .map(({ section }) => section);
}

function setUpSearch() {
  const dialog = document.querySelector('#search');
  const [input, list, status] = ['input', 'ul', 'p'].map((part) => dialog.querySelector(part));
  let sections;

  async function show() {
    sections ??= fetch('/docs/search.json').then((answer) => answer.json());
    const shown = found(await sections, input.value);
    list.replaceChildren(
      ...shown.map(([address, title, heading, body]) => {
        const [item, link] = [document.createElement('li'), document.createElement('a')];
        const [name, text] = [document.createElement('strong'), document.createElement('span')];
        link.href = address;
        name.textContent = heading === '' ? title : `${title} › ${heading}`;
        text.textContent = body.slice(0, 160);
        link.append(name, text);
        item.append(link);
        return item;
      }),
    );
    status.textContent = shown.length === 0 && input.value.trim() !== '' ? 'Nothing has these words.' : '';
  }

  const open = () => {
    dialog.showModal();
    input.select();
    show();
  };
  document.querySelector('#find').addEventListener('click', open);
  document.addEventListener('keydown', (event) => {
    if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    open();
  });
  input.addEventListener('input', show);
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog || target.closest('a') !== null) dialog.close();
  });
  /** Arrows move between the field and the sections; Enter in the field opens the first. */
  dialog.addEventListener('keydown', (event) => {
    const stops = [input, ...list.querySelectorAll('a')];
    const at = stops.indexOf(document.activeElement);
    if (event.key === 'Enter' && at === 0) stops[1]?.click();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    stops[Math.min(Math.max(at + step, 0), stops.length - 1)].focus();
  });
}

document.addEventListener('DOMContentLoaded', () => {
  const menu = document.querySelector('#menu');
  menu.addEventListener('click', () => {
    menu.setAttribute('aria-expanded', String(document.body.classList.toggle('with-pages')));
  });
  document.querySelector('#theme').addEventListener('click', switchTheme);
  showLanguage(kept('language'));
  document.addEventListener('change', ({ target }) => {
    if (!target.matches('.tabs input')) return;
    localStorage.setItem('language', target.value);
    showLanguage(target.value);
  });
  addCopyButtons();
  setUpSearch();
});
