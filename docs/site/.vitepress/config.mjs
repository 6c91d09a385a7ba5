/** The guides at /docs: which pages there are, their addresses and their order. Built by ../build.mjs. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { addressOf, emptyHeadings, languageGroups, pageLinks, slug } from './markdown.mjs';

const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url));

const titleOf = (file) => /^# (.*)$/m.exec(readFileSync(REPOSITORY + file, 'utf8'))?.[1] ?? file;
const entry = (file, text = titleOf(file)) => ({ text: text.replaceAll('`', ''), link: `/${addressOf(file)}` });
const group = (text, entries, more = {}) => ({ text, items: entries, ...more });
/** The reference is a page of its own, which the router of the guides does not know. */
const REFERENCE = { text: 'API reference', link: '/reference', target: '_self' };

const decisions = readdirSync(`${REPOSITORY}docs/decisions`)
  .filter((name) => /^\d/.test(name))
  .map((name) => entry(`docs/decisions/${name}`, `${name.slice(0, 4)} ${titleOf(`docs/decisions/${name}`)}`));

const guides = [
  'getting-started',
  'read-and-follow-a-table',
  'synchronise-a-table',
  'orders-and-lines',
  'receive-a-webhook',
  'roles-and-scopes',
  'audit',
  'errors-and-retries',
].map((name) => entry(`docs/guides/${name}.md`));

const running = [
  entry('README.md', 'Overview and settings'),
  ...['operations', 'engines', 'limits', 'performance', 'growth'].map((name) => entry(`docs/${name}.md`)),
  entry('SECURITY.md'),
];

/** @returns a pattern that matches the addresses of these entries */
const addressesOf = (entries) => `^(?:${entries.map(({ link }) => link).join('|')})$`;

export default {
  srcDir: '../..',
  // A clone has further pages, such as those of an exported order.
  srcExclude: ['!(docs)/**/*.md', '!(README|CHANGELOG|SECURITY).md'],
  // Otherwise it takes each config.ts of the repository for one of its own, and runs it.
  additionalConfig: {},
  rewrites: (file) => `${addressOf(file) || 'index'}.md`,
  base: '/docs/',
  cleanUrls: true,
  // Links to files that are no pages are shown as text; what is left must lead somewhere.
  ignoreDeadLinks: [/^\/reference$/, /^https?:\/\/localhost/],
  title: 'Dynamic Assets',
  description: 'Dynamic tables over one uniform REST interface, event-sourced',
  lang: 'en',
  // The style that suppresses transitions would need an exception in the policy.
  appearance: { disableTransition: false },
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    // An address in a sentence is an example.
    linkify: false,
    anchor: { slugify: slug },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(md) {
      md.use(pageLinks, REPOSITORY);
      md.use(languageGroups);
      md.use(emptyHeadings);
    },
  },
  themeConfig: {
    nav: [
      { text: 'Guides', link: '/getting-started', activeMatch: addressesOf(guides) },
      { text: 'Operations', link: '/operations', activeMatch: addressesOf(running) },
      REFERENCE,
    ],
    sidebar: [
      group('Guides', guides),
      group('Webhooks', [entry('docs/webhooks.md'), entry('docs/webhook-events.md')]),
      group('Run it', running),
      group('Reference', [REFERENCE, entry('docs/events.md'), entry('CHANGELOG.md')]),
      group('Decisions', [entry('docs/decisions/README.md', 'All decisions'), ...decisions], { collapsed: true }),
    ],
    outline: [2, 3],
    search: { provider: 'local' },
    notFound: {
      title: 'There is no such page',
      quote: 'It may have moved: search for it above, or begin at the first page.',
      linkText: 'To the first page',
      linkLabel: 'To the first page',
    },
  },
  vite: { logLevel: 'warn', build: { chunkSizeWarningLimit: 2000 } },
};
