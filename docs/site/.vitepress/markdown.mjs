/** How pages of the repository are shown at /docs: addresses, links that work on a code host too, one language at a time. */
import { posix, relative } from 'node:path';

/** @returns the address below /docs/ of a Markdown file of the repository; '' for the first page */
export function addressOf(file) {
  if (file === 'docs/site/landing.md') return '';
  if (!file.includes('/')) return file.replace(/\.md$/, '').toLowerCase();
  return file.replace(/^docs\/(?:guides\/)?/, '').replace(/(?:\/README)?\.md$/, '');
}

const isPage = (file) => /^docs\/.*\.md$|^(?:README|CHANGELOG|SECURITY)\.md$/.test(file);

/** GitHub's ids of headings, so that links to headings work in both places. */
export const slug = (text) =>
  text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');

/** Relative links become addresses of the site; one to a file that the site does not have becomes its text. */
export function pageLinks(md, repository) {
  md.core.ruler.after('inline', 'page_links', ({ tokens, env }) => {
    const file = env.realPath ?? env.path;
    if (file === undefined) return;
    const folder = posix.dirname(relative(repository, file));
    for (const token of tokens) if (token.type === 'inline') token.children = linked(token.children, folder);
  });
}

function linked(children, folder) {
  let isDropped = false;
  return children.filter((token) => {
    if (token.type === 'link_close') return !isDropped;
    if (token.type !== 'link_open') return true;
    const address = addressed(token.attrGet('href'), folder);
    isDropped = address === undefined;
    if (!isDropped) token.attrSet('href', address);
    return !isDropped;
  });
}

/** @returns undefined for a file that is no page */
function addressed(href, folder) {
  const [path, heading] = href.split('#');
  if (path === '' || /^[a-z]+:|^\//.test(path)) return href;
  const file = posix.join(folder, path);
  return isPage(file) ? `/${addressOf(file)}${heading === undefined ? '' : `#${heading}`}` : undefined;
}

const LANGUAGES = { sh: 'curl', js: 'Node', python: 'Python' };

/** Blocks of code side by side in several languages become one with a tab for each; `all` marks one for every reader. */
export function languageGroups(md) {
  md.core.ruler.after('block', 'language_groups', (state) => {
    const shown = [];
    let group = [];
    const end = () => {
      if (group.length < 2) shown.push(...group);
      else {
        for (const fence of group) fence.info = `${languageOf(fence)} [${LANGUAGES[languageOf(fence)]}]`;
        shown.push(marker(state, 1), ...group, marker(state, -1));
      }
      group = [];
    };
    for (const token of state.tokens) {
      const isOne = token.type === 'fence' && languageOf(token) in LANGUAGES && !/\ball\b/.test(token.info);
      if (!isOne || group.some((fence) => languageOf(fence) === languageOf(token))) end();
      if (isOne) group.push(token);
      else shown.push(token);
    }
    end();
    // What is left behind a language is for the test that runs the guides.
    for (const token of shown) if (token.type === 'fence') token.info = token.info.replace(/ (?:all|file=\S+)/g, '');
    state.tokens = shown;
  });
}

const languageOf = ({ info }) => info.split(' ')[0];

function marker(state, nesting) {
  const token = new state.Token(`container_code-group_${nesting === 1 ? 'open' : 'close'}`, 'div', nesting);
  token.info = 'code-group';
  token.block = true;
  return token;
}

/** A heading of a table without text is a cell: a reader by ear would hear of an empty heading. */
export function emptyHeadings(md) {
  md.core.ruler.after('inline', 'empty_headings', ({ tokens }) => {
    for (const [at, { type, content }] of tokens.entries())
      if (type === 'inline' && content === '' && tokens[at - 1]?.type === 'th_open')
        tokens[at - 1].tag = tokens[at + 1].tag = 'td';
  });
}
