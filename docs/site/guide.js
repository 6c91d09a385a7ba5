/** Keeps the reader's language from page to page, and lets code be copied. */
const KEY = 'language';
const choices = document.querySelectorAll('input[name=language]');
for (const choice of choices) {
  choice.checked = choice.value === (localStorage.getItem(KEY) ?? 'sh');
  choice.addEventListener('change', () => localStorage.setItem(KEY, choice.value));
}

for (const block of document.querySelectorAll('pre')) {
  const button = document.createElement('button');
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.querySelector('code').textContent);
    button.textContent = 'Copied';
  });
  block.append(button);
}
