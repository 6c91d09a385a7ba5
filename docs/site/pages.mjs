/** The pages of /docs: their files in the order of the navigation, and their addresses. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const REPOSITORY = new URL('../../', import.meta.url);

/** @returns the text of a file of the repository */
export const textOf = (file) => readFileSync(fileURLToPath(new URL(file, REPOSITORY)), 'utf8');

/** @returns the address below /docs/ of a Markdown file of the repository */
const addressOf = (file) =>
  (file.includes('/') ? file.replace(/^docs\/(?:guides\/)?/, '') : file.toLowerCase()).replace(/\.md$/, '');

function page(file, label) {
  const source = textOf(file);
  const title = /^# (.*)$/m.exec(source)[1].replaceAll('`', '');
  return { file, source, title, label: label ?? title, address: `/docs/${addressOf(file)}` };
}

const pageOfGuide = (name) => page(`docs/guides/${name}.md`);
const forPeople = ['clerks', 'admins'].map(pageOfGuide);
const guides = [
  'getting-started',
  'read-and-follow-a-table',
  'synchronise-a-table',
  'orders-and-lines',
  'receive-a-webhook',
  'roles-and-scopes',
  'audit',
  'errors-and-retries',
].map(pageOfGuide);
const running = ['run-in-production', 'operations', 'settings', 'engines', 'limits', 'performance'].map((name) =>
  page(`docs/${name}.md`),
);

/** Groups of the navigation. The reference is a page of its own (reference.html). */
export const groups = [
  { title: 'Guides', entries: guides },
  { title: 'In the console', entries: forPeople },
  { title: 'Webhooks', entries: [page('docs/webhooks.md'), page('docs/webhook-events.md')] },
  { title: 'Run it', entries: [page('README.md', 'Overview'), ...running, page('SECURITY.md')] },
  {
    title: 'Reference',
    entries: [
      { label: 'API reference', address: '/docs/reference' },
      page('docs/contract.md'),
      page('docs/events.md'),
      page('CHANGELOG.md'),
    ],
  },
];

export const pages = groups.flatMap(({ entries }) => entries).filter(({ file }) => file !== undefined);
