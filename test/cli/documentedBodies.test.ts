/**
 * Each JSON text on a page is either run, as the blocks of the guides are, or named here with what it is: a request's body is
 * held against the operation's schema in the service's own OpenAPI document. One that is not named here fails.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Json, Schemas } from '../acceptance/apiDocument.js';
import { useService } from '../acceptance/useService.js';
import { REPOSITORY } from './cli.js';

const ORDER = 'PUT /api/v1/dynamic-assets/dyn/dyn_stock_order/assets/{asset_id}';
const PLATFORM = '/api/v1/platform';
/** Stand for values that a reader puts in. */
const AN_ID = '"01a1feb1-683b-7114-9844-294db8c76225"';
const A_TIME = '"2026-11-21T03:11:47Z"';

type Body = { readonly text: string; readonly of: string; readonly placeholders?: { readonly [name: string]: string } };

const BODIES: readonly Body[] = [
  { text: '{"processing_status": "submit_failed", "error_reason": ["Unknown article"]}', of: ORDER },
  { text: '{"processing_status": "completed"}', of: ORDER },
  { text: '{"processing_status": "saved", "lines": […]}', of: ORDER, placeholders: { '…': '{"quantity": 1}' } },
  { text: '{"lines": [{"quantity": 2}]}', of: ORDER.replace('PUT', 'POST').replace('/{asset_id}', '') },
  { text: '{"override": true, "reason": "…"}', of: `POST ${PLATFORM}/orders/{order_id}/approve` },
  { text: '{"ids": […]}', of: `POST ${PLATFORM}/orders/approve`, placeholders: { '…': AN_ID } },
  { text: '{"email": …, "password": …}', of: `POST ${PLATFORM}/session`, placeholders: { '…': '"eva@demo.example"' } },
  { text: '{"max_percent": 10, "min_records": 20}', of: `PUT ${PLATFORM}/tenant/clean-up-guard` },
  { text: '{"max_percent": null}', of: `PUT ${PLATFORM}/tenant/clean-up-guard` },
  { text: '{"reason": "…"}', of: `POST ${PLATFORM}/webhooks/{webhook_id}/disable` },
  {
    text: '{"since": time, "until": time}',
    of: `POST ${PLATFORM}/webhooks/{webhook_id}/resend`,
    placeholders: { ' time': A_TIME },
  },
  {
    text: '{"from": time, "to": time, "events": [kind]}',
    of: `POST ${PLATFORM}/webhooks/{webhook_id}/backfill`,
    placeholders: { ' time': A_TIME, kind: '"order.approved"' },
  },
  {
    text: '{"event": kind}',
    of: `POST ${PLATFORM}/webhooks/{webhook_id}/test`,
    placeholders: { kind: '"order.approved"' },
  },
];

/** What the service sends, stores or is configured with: nobody sends it to the service. Blocks are named by their first line or two. */
const NO_REQUESTS = [
  '"part": {"append": "<id of its first event>", "index": 3, "count": 6, "split": true}',
  '[\n  {\n    "secrets": [',
  '{"validated_order": …, "custom_data": …}',
  '["order.approved"]',
  '{"$acl": {"$r": ["$admins", "assets"]}}',
  '{"validated_order": {"id": "01a1feb1-0000-7000-8000-0000000000aa", "processing_status": "submitted"}, "custom_data": {"company": 7}}',
];
/** Their JSON is of events and of what is sent: other tests compare it with both. */
const OF_EVENTS = ['docs/events.md', 'docs/webhook-events.md'];
/** Blocks that other tests paste and run, or compare with `docs/snippets`, by page. */
const TRIED: readonly (readonly [page: RegExp, languages: readonly string[]])[] = [
  [/^docs\/guides\/[\w-]+\.md$/, ['sh', 'js', 'python']],
  [/^(README|docs\/operations)\.md$/, ['sh']],
  [/^docs\/webhooks\.md$/, ['js', 'python', 'go']],
];

const markdownIn = (folder: string): readonly string[] =>
  readdirSync(join(REPOSITORY, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return folder === '' ? [] : markdownIn(path);
    return path.endsWith('.md') ? [path] : [];
  });

/** An object with a quoted name, or an array with one or with a quoted text in it. */
const IS_JSON = /\{\s*"|\[\s*\{?\s*"/;

/** JSON on a page that nothing runs. */
function snippetsIn(page: string): readonly string[] {
  const snippets: string[] = [];
  const prose = readFileSync(join(REPOSITORY, page), 'utf8').replace(
    /^ *(`{3,}|~{3,})(\w*)[^\n]*\n(.*?)^ *\1\s*$/gms,
    (_all, _fence, language: string, text: string) => {
      const isTried = TRIED.some(([tried, languages]) => tried.test(page) && languages.includes(language));
      if (!isTried && (language === 'json' || IS_JSON.test(text))) snippets.push(text.trim());
      return '';
    },
  );
  const spans = [...prose.matchAll(/(`+)(.+?)\1/gs)].map(([, , text = '']) => text.trim());
  const rest = prose.replace(/(`+)(.+?)\1/gs, '');
  return [...snippets, ...[...spans, ...rest.split('\n')].filter((text) => IS_JSON.test(text))];
}

const pages = [...markdownIn(''), ...markdownIn('docs')].filter((page) => !OF_EVENTS.includes(page));

const NAMED = [...BODIES.map(({ text }) => text), ...NO_REQUESTS];
const is = (text: string, named: string): boolean => text === named || (named.includes('\n') && text.startsWith(named));

describe('JSON on the pages', () => {
  it.each(pages)('%s has none that is not named here', (page) => {
    expect(snippetsIn(page).filter((text) => !NAMED.some((named) => is(text, named)))).toEqual([]);
  });

  it('is named here no longer than a page has it', () => {
    const found = pages.flatMap(snippetsIn);
    expect(NAMED.filter((named) => !found.some((text) => is(text, named)))).toEqual([]);
  });
});

describe('bodies on the pages are what their operation takes', () => {
  const run = useService({ tenants: { acme: 'dyn_stock_order' } });
  let schemas: Schemas;
  beforeAll(async () => {
    const document: Json = (await run.tenant('acme').send('GET', '/openapi.json', { token: null })).body;
    schemas = new Schemas(document);
  });

  it.each(BODIES)('$of: $text', ({ text, of, placeholders = {} }) => {
    const [method = '', path = ''] = of.split(' ');
    const filled = Object.entries(placeholders).reduce((json, [name, value]) => json.replaceAll(name, value), text);
    expect(schemas.document.paths[path]?.[method.toLowerCase()]?.requestBody).toBeDefined();
    expect(schemas.errorsOfBody(method.toLowerCase(), path, JSON.parse(filled))).toEqual([]);
  });
});
