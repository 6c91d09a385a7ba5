/** Makes HTML of a page of docs/. HTML in the page is escaped, except `details` and `summary`. */
import { posix } from 'node:path';
import { Marked } from 'marked';

const LANGUAGES = { sh: 'curl', js: 'Node', python: 'Python' };

const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text) => text.replace(/[&<>"]/g, (character) => ESCAPES[character]);

/** GitHub's ids of headings, so that links to headings work in both places. */
const slug = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');

/**
 * @param page its `path` below docs/, and its `markdown`; the code of a guide (`isGuide`) is shown in one language at a time
 * @param pages all served pages, with `path` and `name`
 */
export function pageHtml(page, pages) {
  const href = (target) => {
    const [file, heading] = target.split('#');
    const end = heading === undefined ? '' : `#${heading}`;
    if (file === '') return end;
    const path = posix.join(posix.dirname(page.path), file);
    const found = pages.find((each) => each.path === path);
    return found === undefined ? undefined : `/docs/${found.name}${end}`;
  };
  const renderer = {
    html: ({ text }) =>
      text.startsWith('<!--') ? '' : escaped(text).replace(/&lt;(\/?(?:details|summary))&gt;/g, '<$1>'),
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${escaped(slug(text))}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    link({ href: target, tokens }) {
      const text = this.parser.parseInline(tokens);
      const address = target.startsWith('https://') ? target : href(target);
      // A file that this site does not serve.
      return address === undefined ? text : `<a href="${escaped(address)}" rel="noreferrer">${text}</a>`;
    },
    image({ href: source }) {
      throw new Error(`${page.path} shows ${source}; there are no pictures on this site.`);
    },
    code({ text, lang = '' }) {
      const [language] = lang.split(' ');
      const name = page.isGuide ? LANGUAGES[language] : undefined;
      // `all` behind the language marks code for every reader.
      const only = name === undefined || lang.split(' ').includes('all') ? '' : ` data-language="${language}"`;
      return `<pre${only}><code>${escaped(text)}</code></pre>\n`;
    },
  };
  return new Marked({ gfm: true, renderer }).parse(page.markdown);
}
