/** The guides' theme: VitePress's own with the fonts of the reader's system, and one language of code for all pages. */
import { useRoute } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import { h, onMounted, watch } from 'vue';
import Picture from './Picture.vue';
import './style.css';

const KEY = 'language';

/** Shows the language in every group of the page that has it. */
function show(language) {
  for (const label of document.querySelectorAll('.vp-code-group .tabs label')) {
    const input = document.getElementById(label.htmlFor);
    if (label.dataset.title === language && !input.checked) input.click();
  }
}

/** The first page and the page of unknown addresses have no main part of their own. */
function markMain() {
  const content = document.getElementById('VPContent');
  if (content.querySelector('main') === null) content.setAttribute('role', 'main');
  else content.removeAttribute('role');
}

function setup() {
  const route = useRoute();
  const onPage = () => {
    show(localStorage.getItem(KEY));
    markMain();
  };
  onMounted(() => {
    onPage();
    addEventListener('change', ({ isTrusted, target }) => {
      const language = target.closest('.tabs')?.querySelector(`label[for="${target.id}"]`)?.dataset.title;
      if (!isTrusted || language === undefined) return;
      localStorage.setItem(KEY, language);
      show(language);
    });
  });
  watch(() => route.path, onPage, { flush: 'post' });
}

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'home-hero-after': () => h(Picture) }),
  setup,
};
