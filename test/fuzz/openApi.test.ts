/**
 * Random requests made from the OpenAPI document, by all kinds of callers: every answer is one that the
 * document describes, and never a failure of the service.
 */
import fc from 'fast-check';
import { type Json, operationsOf, Schemas } from '../acceptance/apiDocument.js';
import type { Answer } from '../acceptance/http.js';
import { addPerson } from '../acceptance/people.js';
import type { RequestOptions, TenantClient } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';
import { CALLERS, type Caller, type Case, Requests } from './documentedRequests.js';
import { KNOWN } from './fromSchema.js';
import { casesOf, LONGEST_RUN_MS, SEED, tell } from './settings.js';

const CASES = casesOf(1000, 20_000);
const MODELS = { stock: 'dyn_stock_order', transport: 'dyn_transport_order' } as const;
const MOST_KNOWN_IDS = 200;

const run = useService({
  tenants: MODELS,
  env: {
    // Webhooks that are made here lead to a port of this machine that nobody listens on, or are refused.
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    WEBHOOK_ALLOWED_PORTS: '9',
  },
});

const shortened = (_: string, value: unknown): unknown =>
  typeof value === 'string' && value.length > 400 ? `${value.slice(0, 400)}… (${value.length})` : value;

/** One tenant with all kinds of callers, and the ids it has shown so far. */
class Tenant {
  schemas!: Schemas;
  readonly statuses = new Map<number, number>();
  readonly #tokens = new Map<Caller, string | null>();
  /** By the path of the collection they are in. */
  readonly #ids = new Map<string, string[]>();
  /** The callers themselves are not removed or changed. */
  readonly #spared = new Set<string>();

  constructor(readonly client: TenantClient) {}

  async prepare(): Promise<void> {
    const { client } = this;
    for (const caller of CALLERS) this.#tokens.set(caller, await this.#tokenOf(caller));
    const own = await client.platform('GET', '/users');
    for (const { id } of (own.body as Json).data) this.#spared.add(String(id));
    this.#spared.add(client.client.client_id);
    await this.readDocument();
  }

  async readDocument(): Promise<void> {
    this.schemas = new Schemas((await this.client.send('GET', '/openapi.json')).body);
  }

  async #tokenOf(caller: Caller): Promise<string | null> {
    switch (caller) {
      case 'nobody':
        return null;
      case 'garbage':
        return 'eyJhbGciOiJub25lIn0.e30.';
      case 'client':
        return this.client.token();
      case 'client with one scope':
        return this.client.token('read:reference_data');
      default:
        return (await addPerson(this.client, caller, [caller])).token;
    }
  }

  /** Sends a request and checks its answer. @throws Error that says what was sent and what was wrong with the answer */
  async try(method: string, template: string, asked: Case): Promise<void> {
    const path = this.#pathOf(template, asked.path);
    if (method !== 'GET' && [...this.#spared].some((id) => path.split('/').includes(id))) return;
    const options = this.#optionsOf(asked);
    const answer = await this.client.send(method, path, options);
    this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1);
    let wrong = this.#wrongWith(method, template, answer, options);
    if (wrong.length > 0) {
      // Tables that were changed meanwhile have another document.
      await this.readDocument();
      wrong = this.#wrongWith(method, template, answer, options);
    }
    if (wrong.length > 0) {
      const asText = JSON.stringify({ method, path, ...options, token: asked.caller }, shortened).slice(0, 3000);
      throw new Error(`seed ${SEED}: ${wrong.join('; ')}\n${asText}\n${answer.status} ${answer.text.slice(0, 1000)}`);
    }
    this.#remember(template, answer);
  }

  #pathOf(template: string, values: Case['path']): string {
    let nth = 0;
    return template.replaceAll(/\{\w+\}/g, (_, at: number) => {
      const value = this.#withKnownIds(values[nth++] ?? '', this.#ids.get(template.slice(0, at - 1)));
      return encodeURIComponent(value);
    });
  }

  #optionsOf({ caller, query, body, headers }: Case): RequestOptions {
    const raw = body === undefined ? undefined : 'raw' in body ? body.raw : (JSON.stringify(body.json) ?? '');
    return {
      token: this.#tokens.get(caller) ?? null,
      headers,
      query: query.map((pair) => pair.map((part) => encodeURIComponent(part.toWellFormed())).join('=')).join('&'),
      ...(raw === undefined ? {} : { raw: this.#withKnownIds(raw, [...this.#ids.values()].flat()) }),
    };
  }

  #withKnownIds(text: string, ids: readonly string[] = []): string {
    return text.replaceAll(
      KNOWN,
      (_, nth: string) => ids[Number(nth) % ids.length] ?? '019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10',
    );
  }

  #wrongWith(method: string, template: string, answer: Answer, sent: RequestOptions): readonly string[] {
    const { status, headers, text } = answer;
    if (status >= 500) return [`HTTP ${status}`];
    const errors = this.schemas.errorsOf(method.toLowerCase(), template, answer);
    const described = this.schemas.responseOf(method.toLowerCase(), template, status)?.content;
    const type = headers['content-type'] ?? 'no content type';
    const types = Object.keys(described ?? {});
    const isAccepted =
      status < 300 && sent.raw !== undefined && sent.raw !== '' && sent.headers?.['content-type'] === undefined;
    return [
      ...(Array.isArray(errors) ? errors.slice(0, 3).map((error) => JSON.stringify(error)) : []),
      ...(isAccepted
        ? this.schemas
            .errorsOfBody(method.toLowerCase(), template, JSON.parse(String(sent.raw)))
            .slice(0, 3)
            .map((error) => `accepted: ${JSON.stringify(error)}`)
        : []),
      ...(Object.values<string[]>((answer.body as Json)?.errors ?? {}).some((told) => new Set(told).size < told.length)
        ? ['an error is told twice']
        : []),
      ...(described === undefined && text !== '' ? ['a body, although none is described'] : []),
      ...(described !== undefined && !types.some((each) => type.startsWith(each))
        ? [`${type} instead of ${types.join()}`]
        : []),
    ];
  }

  /** Ids that were shown are asked for later. */
  #remember(template: string, { status, body }: Answer): void {
    if (status > 299) return;
    const data = (body as Json)?.data;
    for (const shown of Array.isArray(data) ? data.slice(0, 30) : [data]) {
      const id = shown?.id ?? shown?.client_id ?? shown?.name;
      const ids = this.#ids.get(template) ?? [];
      this.#ids.set(template, ids);
      if (id !== undefined && !this.#spared.has(String(id)) && ids.length < MOST_KNOWN_IDS) ids.push(String(id));
    }
  }
}

describe.each(Object.keys(MODELS))('the document of a tenant with the %s model', (name) => {
  it(
    '§7: describes every answer to random requests, and none of them is a failure',
    async () => {
      const tenant = new Tenant(run.tenant(name));
      await tenant.prepare();
      const { document } = tenant.schemas;
      const requests = new Requests(document);
      // What ends a session would end that of the callers; a lower rate limit would refuse most of what follows.
      const rank = (id: string): number => Number(id === 'platformChangeRateLimit');
      const operations = operationsOf(document)
        .filter(({ operation }) => operation.operationId !== 'platformSignOut')
        .toSorted((a, b) => rank(a.operation.operationId) - rank(b.operation.operationId));
      const numRuns = Math.ceil(CASES / Object.keys(MODELS).length / operations.length);
      for (const { method, path } of operations) {
        const property = fc.asyncProperty(requests.of(path, method), (asked) => tenant.try(method, path, asked));
        const { failed, errorInstance } = await fc.check(property, { numRuns, seed: SEED, endOnFailure: true });
        // The error tells the request; fast-check's own report would show all of it, however long.
        if (failed) throw errorInstance;
      }
      const statuses = [...tenant.statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
      tell(
        `${name}: ${numRuns * operations.length} requests to ${operations.length} operations, seed ${SEED}; ${statuses.join(', ')}`,
      );
    },
    LONGEST_RUN_MS,
  );
});
