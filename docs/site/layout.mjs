/** The frame of each page: the bar above, the navigation, the contents of the page, and the search. */
import { groups, pages } from './pages.mjs';

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const isIn = (title, { address }) =>
  groups.some((group) => group.title === title && group.entries.some((entry) => entry.address === address));

const barLink = (page, title, label, address) =>
  `<a href="${address}"${isIn(title, page) ? ' class="current"' : ''}>${label}</a>`;

const entryOf = (page) => (entry) =>
  `<li><a href="${entry.address}"${entry.address === page.address ? ' aria-current="page"' : ''}>${escaped(entry.label)}</a></li>`;

const navigation = (page) =>
  groups
    .map(({ title, entries }) => `<h2>${title}</h2>\n<ul>\n${entries.map(entryOf(page)).join('\n')}\n</ul>`)
    .join('\n');

const contents = (headings) =>
  headings
    .filter(({ level }) => level === 2 || level === 3)
    .map(({ id, text, level }) => `<li class="level-${level}"><a href="#${id}">${escaped(text)}</a></li>`)
    .join('\n');

function neighbours(page) {
  const at = pages.indexOf(page);
  const link = (other, name, label) =>
    other === undefined
      ? ''
      : `<a class="${name}" href="${other.address}"><small>${label}</small>${escaped(other.label)}</a>`;
  return `<nav class="neighbours" aria-label="Pages beside this one">${link(pages[at - 1], 'previous', 'Previous')}${link(pages[at + 1], 'next', 'Next')}</nav>`;
}

/**
 * @param page with its title and address
 * @param assets addresses of the styles and scripts, in their order
 * @param parts `kind` is a class of the body; `main` is HTML; `beside` replaces the list of pages; a page of text has `headings`
 */
export function pageOf(page, assets, { kind, main, beside = navigation(page), headings = [] }) {
  const outline = contents(headings);
  // The reference's component has a main part of its own.
  const tag = kind === 'reference' ? 'div' : 'main';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="Dynamic tables over one uniform REST interface, event-sourced">
<title>${page.title === 'Dynamic Assets' ? page.title : `${escaped(page.title)} · Dynamic Assets`}</title>
<link rel="icon" href="data:,">
${assets.styles.map((address) => `<link rel="stylesheet" href="${address}">`).join('\n')}
${assets.scripts.map((address, n) => `<script src="${address}"${n === 0 ? '' : ' defer'}></script>`).join('\n')}
</head>
<body class="${kind}">
<a class="skip" href="#main">Skip to the text</a>
<header id="bar">
<button id="menu" type="button" aria-label="Contents" aria-expanded="false" aria-controls="pages">☰</button>
<a class="home" href="/docs">Dynamic Assets</a>
<button id="find" type="button"><span>Search</span> <kbd>Ctrl K</kbd></button>
<nav aria-label="Documentation">
${barLink(page, 'Guides', 'Guides', '/docs/getting-started')}
${barLink(page, 'Run it', 'Operations', '/docs/operations')}
${barLink(page, 'Reference', 'API reference', '/docs/reference')}
<a href="/console">Console</a>
</nav>
<button id="theme" type="button" aria-label="Light or dark">◐</button>
</header>
<div class="frame">
<nav id="pages" aria-label="Contents">
${beside}
</nav>
<${tag} id="main">
${main}
${kind === 'text' ? neighbours(page) : ''}
</${tag}>
${outline === '' ? '' : `<nav id="outline" aria-label="On this page">\n<h2>On this page</h2>\n<ul>\n${outline}\n</ul>\n</nav>`}
</div>
<dialog id="search" aria-label="Search">
<input type="search" aria-label="Search the documentation" placeholder="Search the documentation" autocomplete="off" spellcheck="false">
<ul></ul>
<p role="status"></p>
</dialog>
</body>
</html>
`;
}

/** What the service is, in one picture; its boxes stand below each other on a phone. */
const PICTURE = `<figure aria-label="Orders come from the platform, people check them, the ERP gets approved orders.">
<div class="party"><strong>Order platform</strong><span>takes in what customers order</span></div>
<div class="flows"><span class="to">orders and lines, REST</span></div>
<div class="service">
<strong>Dynamic Assets</strong>
<div class="parts">
<span><b>Tables</b> orders, items, parties, and fields of your own: filtered, sorted, exported</span>
<span><b>Console</b> people check orders, correct them and approve them</span>
<span class="log"><b>Event log</b> every change with its actor, time and cause; all tables are built from it</span>
</div>
</div>
<div class="flows"><span class="to">approved orders, signed webhooks</span><span class="from">items and customers, batches</span></div>
<div class="party"><strong>Your ERP</strong><span>imports orders, reports their outcome</span></div>
</figure>`;

const FEATURES = [
  [
    '/docs/getting-started',
    'Connect an ERP',
    'Read, follow and synchronise tables; send orders; receive signed webhooks. In curl, Node and Python.',
  ],
  [
    '/docs/run-in-production',
    'Run it',
    'One process without a database, or EventStoreDB, MongoDB and RabbitMQ on several machines.',
  ],
  [
    '/docs/clerks',
    'Work with it',
    'The console, for clerks who check orders and for admins who connect the organisation.',
  ],
  [
    '/docs/audit',
    'Audit it',
    'Who changed what and when, tables as they were, replay of an order, exports with proofs.',
  ],
];

export const FIRST = `<div class="hero">
<h1>Orders in, checked by people, out to the ERP</h1>
<p>Dynamic tables behind one uniform REST interface. Every change is an event; every list can be rebuilt from the log.</p>
<p class="actions"><a class="main" href="/docs/getting-started">Getting started</a> <a href="/docs/reference">API reference</a> <a href="/docs/operations">Operations</a> <a href="/console">Console</a></p>
</div>
${PICTURE}
<div class="features">
${FEATURES.map(([address, title, text]) => `<a href="${address}"><strong>${title}</strong><span>${text}</span></a>`).join('\n')}
</div>`;

export const NOT_FOUND = `<div class="hero">
<h1>There is no such page</h1>
<p>It may have moved: search for it above, or begin at <a href="/docs">the first page</a>.</p>
</div>`;
