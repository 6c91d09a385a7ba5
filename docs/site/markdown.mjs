/** Markdown of the repository as HTML: headings with anchors, links that work on a code host too, one language of code at a time. */
import { posix } from 'node:path';
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import yaml from 'highlight.js/lib/languages/yaml';
import MarkdownIt from 'markdown-it';

for (const [name, language] of Object.entries({ sh: bash, go, ini, js: javascript, json, python, yaml }))
  hljs.registerLanguage(name, language);

/** What readers call the languages that the guides have side by side. */
const TABS = { sh: 'curl', js: 'Node', python: 'Python' };
/** HTML that pages may have; other text in angle brackets was meant to be read. */
const ALLOWED_HTML = /<!--[\s\S]*?-->|<\/?(?:details|summary)>/g;

const md = new MarkdownIt({ html: true });
const { escapeHtml } = md.utils;

/** GitHub's ids of headings, so that links to headings work in both places. */
const slug = (text) =>
  text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');

/** A reference to a decision is for developers, who read it in the repository. */
const withoutDecisions = (source) => source.replace(/ \(\[(?:decision )?\d{4}\]\([^)]*decisions\/[^)]*\)\)/g, '');

/**
 * @param pages all pages of the site, by their files
 * @param fileAt gives the address of a picture, or of a program's file
 * @returns the HTML of a page, its headings as { id, text, level }, the addresses that it links to, and its sections for the search
 */
export function render({ file, source }, pages, fileAt) {
  const env = { file, pages, fileAt, headings: [], links: [], groups: 0 };
  const tokens = md.parse(withoutDecisions(source), env);
  return { html: md.renderer.render(tokens, md.options, env), ...env, sections: sectionsOf(tokens, env.headings) };
}

md.core.ruler.push('site', ({ tokens, env }) => {
  const ids = new Map();
  for (const [at, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const text = plain(tokens[at + 1]);
      const count = ids.get(slug(text)) ?? 0;
      ids.set(slug(text), count + 1);
      const id = count === 0 ? slug(text) : `${slug(text)}-${count}`;
      token.attrSet('id', id);
      env.headings.push({ id, text, level: Number(token.tag[1]) });
    }
    // A heading of a table without text is a cell: a reader by ear would hear of an empty heading.
    if (token.type === 'th_open' && tokens[at + 1].content === '') token.tag = tokens[at + 2].tag = 'td';
    if (token.type === 'inline') token.children = linked(token.children, env);
  }
});

/** Relative links become addresses of the site; one to a file that the site does not have becomes its text. */
function linked(children, env) {
  let isDropped = false;
  return children.filter((token) => {
    if (token.type === 'link_close') return !isDropped;
    if (token.type === 'image')
      token.attrSet('src', env.fileAt(posix.join(posix.dirname(env.file), token.attrGet('src'))));
    if (token.type !== 'link_open') return true;
    const address = addressed(token.attrGet('href'), env);
    isDropped = address === undefined;
    if (!isDropped) token.attrSet('href', address);
    return !isDropped;
  });
}

function addressed(href, { file, pages, links, fileAt }) {
  if (/^[a-z]+:/.test(href)) return href;
  const [path, heading] = href.split('#');
  const target = path === '' ? file : posix.join(posix.dirname(file), path);
  if (target.startsWith('docs/snippets/')) return fileAt(target);
  const page = path.startsWith('/') ? { address: path } : pages.get(target);
  if (page === undefined) return undefined;
  const address = heading === undefined ? page.address : `${page.address}#${heading}`;
  links.push(address);
  return address;
}

const plain = ({ children }) =>
  children
    .filter(({ type }) => type === 'text' || type === 'code_inline')
    .map(({ content }) => content)
    .join('');

/** The text below each heading, without its code. */
function sectionsOf(tokens, headings) {
  const sections = [];
  const next = headings.values();
  for (const [at, token] of tokens.entries()) {
    if (token.type === 'heading_open') sections.push({ ...next.next().value, body: '' });
    else if (token.type === 'inline' && tokens[at - 1].type !== 'heading_open' && sections.length > 0)
      sections.at(-1).body += `${plain(token)} `;
  }
  return sections;
}

const languageOf = ({ info }) => info.split(' ')[0];

/** Blocks of code side by side in several languages become one with a tab for each; `all` marks one for every reader. */
md.core.ruler.after('block', 'tabs', ({ tokens }) => {
  const isOne = ({ type, info }) => type === 'fence' && languageOf({ info }) in TABS && !/\ball\b/.test(info);
  for (let first = 0; first < tokens.length; first++) {
    const languages = new Set();
    let end = first;
    for (; end < tokens.length && isOne(tokens[end]) && !languages.has(languageOf(tokens[end])); end++)
      languages.add(languageOf(tokens[end]));
    if (languages.size < 2) continue;
    for (const fence of tokens.slice(first, end)) fence.meta = { languages: [...languages] };
    tokens[first].meta.isFirst = true;
    tokens[end - 1].meta.isLast = true;
    first = end - 1;
  }
});

md.renderer.rules.fence = (tokens, at, _options, env) => {
  const { info, content, meta } = tokens[at];
  const language = languageOf({ info });
  const code =
    hljs.getLanguage(language) === undefined ? escapeHtml(content) : hljs.highlight(content, { language }).value;
  const block = `<div class="code" data-language="${escapeHtml(language)}"><pre><code>${code}</code></pre></div>\n`;
  if (meta === null) return block;
  if (meta.isFirst === true) env.groups += 1;
  const tab = (each, n) =>
    `<label><input type="radio" name="group-${env.groups}" value="${each}"${n === 0 ? ' checked' : ''}>${TABS[each]}</label>`;
  const tabs = `<div class="tabs" role="radiogroup" aria-label="Language">${meta.languages.map(tab).join('')}</div>`;
  return `${meta.isFirst === true ? `<div class="group">${tabs}` : ''}${block}${meta.isLast === true ? '</div>\n' : ''}`;
};

md.renderer.rules.heading_close = (tokens, at) => {
  const { tag } = tokens[at];
  const id = tokens[at - 2].attrGet('id');
  return `${tag === 'h1' ? '' : ` <a class="anchor" href="#${id}" aria-label="Link to this section">#</a>`}</${tag}>\n`;
};

/** On a narrow window a wide table is moved sideways by itself, by keys as well. */
md.renderer.rules.table_open = () => '<div class="table" tabindex="0"><table>\n';
md.renderer.rules.table_close = () => '</table></div>\n';

for (const rule of ['html_block', 'html_inline'])
  md.renderer.rules[rule] = (tokens, at, _options, { file }) => {
    const { content } = tokens[at];
    if (content.replace(ALLOWED_HTML, '').includes('<'))
      throw new Error(`${file} has HTML that is not allowed: ${content}`);
    return content;
  };
