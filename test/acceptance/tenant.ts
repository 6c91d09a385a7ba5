/** One tenant as its integrators and its people see it, over HTTP. */
import { z } from 'zod';
import type { Answer } from './http.js';
import type { CreatedTenant, OrderModel, Service } from './service.js';

export const ASSETS = '/api/v1/dynamic-assets/dyn';
export const PLATFORM = '/api/v1/platform';

const record = z.looseObject({ id: z.string(), created_at: z.string(), updated_at: z.string() });
const recordEnvelope = z.strictObject({ data: record });
const meta = z.strictObject({
  current_page: z.int(),
  from: z.int(),
  to: z.int(),
  per_page: z.int(),
  last_page: z.int(),
  total: z.int(),
});
const links = z.strictObject({
  first: z.string(),
  last: z.string(),
  prev: z.string().nullable(),
  next: z.string().nullable(),
});
const listEnvelope = z.strictObject({ data: z.array(record), links, meta });
const exportEnvelope = z.strictObject({
  data: z.array(record),
  links: z.strictObject({ next: z.string().nullable() }),
  meta: z.strictObject({ per_page: z.int(), next_cursor: z.string().nullable() }),
});
const batchEnvelope = z.strictObject({
  data: z.strictObject({
    message: z.string(),
    created: z.int(),
    updated: z.int(),
    unchanged: z.int(),
    operation_id: z.string().optional(),
  }),
});
const cleanUpEnvelope = z.strictObject({
  data: z.strictObject({ message: z.string(), deleted: z.int(), operation_id: z.string().optional() }),
});
const syncEnvelope = z.object({ data: z.looseObject({ id: z.string() }) });
const tokenBody = z.looseObject({ access_token: z.string() });
const createdClient = z.object({ client_id: z.string(), client_secret: z.string() });
const sessionEnvelope = z.object({ data: z.looseObject({ token: z.string() }) });
const dataEnvelope = z.object({ data: z.unknown() });

export type AssetRecord = z.output<typeof record>;
export type RecordList = z.output<typeof listEnvelope>;
export type RecordExport = z.output<typeof exportEnvelope>;
export type Fields = { readonly [field: string]: unknown };
export type Query = { readonly [parameter: string]: string };

export type RequestOptions = {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly raw?: string | Buffer;
  readonly query?: Query | string;
  /** Default: a token with all scopes of the tenant's first client. null: none is sent. */
  readonly token?: string | null;
  readonly headers?: { readonly [name: string]: string };
};

export class TenantClient {
  readonly name: string;
  readonly orderModel: OrderModel;
  readonly admin: CreatedTenant['admin'];
  readonly client: CreatedTenant['client'];
  readonly #service: Service;
  readonly #tokens = new Map<string, Promise<string>>();
  #session: Promise<string> | undefined;
  #audit: Promise<string> | undefined;
  #people = 0;

  constructor(service: Service, created: CreatedTenant, orderModel: OrderModel) {
    this.#service = service;
    this.name = created.tenant;
    this.admin = created.admin;
    this.client = created.client;
    this.orderModel = orderModel;
  }

  /** As the `Host` header names it. */
  get host(): string {
    return `${this.name}.${this.#service.baseHost}:${this.#service.port}`;
  }

  /** A token of the first client; all its scopes by default. Asked for once and kept. */
  token(scope?: string): Promise<string> {
    const key = scope ?? '';
    let token = this.#tokens.get(key);
    if (token === undefined) {
      token = this.#newToken(scope);
      this.#tokens.set(key, token);
    }
    return token;
  }

  async #newToken(scope: string | undefined): Promise<string> {
    const { client_id, client_secret } = this.client;
    const answer = await this.requestToken({
      grant_type: 'client_credentials',
      client_id,
      client_secret,
      ...(scope === undefined ? {} : { scope }),
    });
    return tokenBody.parse(expected(answer, 200)).access_token;
  }

  /** The token of somebody who may call the operations at a path: an admin, an auditing client, or the first client. */
  tokenFor(path: string): Promise<string> {
    if (path.startsWith(PLATFORM)) return this.signIn();
    if (!path.startsWith(`${ASSETS}/activity`) && !path.endsWith('/replay')) return this.token();
    this.#audit ??= this.auditToken();
    return this.#audit;
  }

  /** A token of a new client that audits. */
  async auditToken(scopes: readonly string[] = ['read:audit']): Promise<string> {
    const made = createdClient.parse(await this.platformData('POST', '/api-clients', { name: 'Audit', scopes }));
    const answer = await this.requestToken({ grant_type: 'client_credentials', ...made });
    return tokenBody.parse(expected(answer, 200)).access_token;
  }

  requestToken(body: unknown, headers: { readonly [name: string]: string } = {}): Promise<Answer> {
    return this.send('POST', '/oauth/token', { body, headers, token: null });
  }

  /** A request to this tenant's host. JSON in, unless `raw` and headers say otherwise. */
  async send(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const token = options.token === undefined ? await this.token() : options.token;
    const raw = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
    const query = typeof options.query === 'string' ? options.query : new URLSearchParams(options.query).toString();
    return this.#service.send({
      method,
      path: query === '' ? path : `${path}?${query}`,
      headers: {
        host: this.host,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(raw === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(raw) }),
        ...options.headers,
      },
      ...(raw === undefined ? {} : { raw }),
    });
  }

  // The endpoints of spec §4, as they answer success; anything else throws.

  async create(table: string, fields: Fields): Promise<AssetRecord> {
    return recordEnvelope.parse(expected(await this.postRecord(table, fields), 201)).data;
  }

  async update(table: string, id: string, fields: Fields): Promise<AssetRecord> {
    return recordEnvelope.parse(expected(await this.putRecord(table, id, fields), 200)).data;
  }

  async get(table: string, id: string): Promise<AssetRecord> {
    return recordEnvelope.parse(expected(await this.getRecord(table, id), 200)).data;
  }

  async list(table: string, query?: Query | string): Promise<RecordList> {
    return listEnvelope.parse(expected(await this.getList(table, query), 200));
  }

  /** A page of a list with `cursor`. */
  async export(table: string, query: Query | string): Promise<RecordExport> {
    return exportEnvelope.parse(expected(await this.getList(table, query), 200));
  }

  async batch(table: string, items: readonly unknown[]): Promise<z.output<typeof batchEnvelope>['data']> {
    return batchEnvelope.parse(expected(await this.postBatch(table, { items }), 200)).data;
  }

  /** @param confirm how many it deletes: of a new tenant needed where these are more than 100 and most of the table */
  async cleanUp(table: string, batchId: string, confirm?: number): Promise<z.output<typeof cleanUpEnvelope>['data']> {
    return cleanUpEnvelope.parse(expected(await this.postCleanUp(table, { batch_id: batchId, confirm }), 200)).data;
  }

  async undo(table: string, operationId: string): Promise<void> {
    expected(await this.postUndo(table, operationId), 200);
  }

  /** @returns the id of a new sync session */
  async sync(table: string): Promise<string> {
    return syncEnvelope.parse(expected(await this.startSync(table), 201)).data.id;
  }

  /** @param records that the session has carried */
  async commit(table: string, id: string, records: number): Promise<z.output<typeof cleanUpEnvelope>['data']> {
    return cleanUpEnvelope.parse(expected(await this.commitSync(table, id, { body: { records } }), 200)).data;
  }

  // The same as they come.

  info(table: string, options?: RequestOptions): Promise<Answer> {
    return this.send('GET', `${ASSETS}/${table}/info`, options);
  }

  getList(table: string, query: Query | string = '', options: RequestOptions = {}): Promise<Answer> {
    return this.send('GET', `${ASSETS}/${table}/assets`, { ...options, query });
  }

  getRecord(table: string, id: string, options?: RequestOptions): Promise<Answer> {
    return this.send('GET', `${ASSETS}/${table}/assets/${id}`, options);
  }

  postRecord(table: string, body: unknown, options: RequestOptions = {}): Promise<Answer> {
    return this.send('POST', `${ASSETS}/${table}/assets`, { ...options, body });
  }

  putRecord(table: string, id: string, body: unknown, options: RequestOptions = {}): Promise<Answer> {
    return this.send('PUT', `${ASSETS}/${table}/assets/${id}`, { ...options, body });
  }

  postBatch(table: string, body: unknown, options: RequestOptions = {}): Promise<Answer> {
    return this.send('POST', `${ASSETS}/${table}/assets/batch`, { ...options, body });
  }

  postCleanUp(table: string, body: unknown, options: RequestOptions = {}): Promise<Answer> {
    return this.send('POST', `${ASSETS}/${table}/assets/clean-up`, { ...options, body });
  }

  startSync(table: string, options: RequestOptions = {}): Promise<Answer> {
    return this.send('POST', `${ASSETS}/${table}/syncs`, options);
  }

  commitSync(table: string, id: string, options: RequestOptions = {}): Promise<Answer> {
    return this.send('POST', `${ASSETS}/${table}/syncs/${id}/commit`, options);
  }

  getOperations(table: string, options: RequestOptions = {}): Promise<Answer> {
    return this.send('GET', `${ASSETS}/${table}/operations`, options);
  }

  postUndo(table: string, operationId: string, options: RequestOptions = {}): Promise<Answer> {
    return this.send('POST', `${ASSETS}/${table}/operations/${operationId}/undo`, options);
  }

  // The platform, as its people use it.

  /** A session's token; of the first admin by default, asked for once and kept. */
  signIn(credentials?: { readonly email: string; readonly password: string }): Promise<string> {
    if (credentials !== undefined) return this.#newSession(credentials);
    this.#session ??= this.#newSession(this.admin);
    return this.#session;
  }

  async #newSession(credentials: { readonly email: string; readonly password: string }): Promise<string> {
    const { email, password } = credentials;
    const answer = await this.send('POST', `${PLATFORM}/session`, { token: null, body: { email, password } });
    return sessionEnvelope.parse(expected(answer, 200)).data.token;
  }

  /** A request to the platform API, by the first admin unless a token is given. */
  async platform(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const token = options.token === undefined ? await this.signIn() : options.token;
    return this.send(method, `${PLATFORM}${path}`, { ...options, token });
  }

  /** Adds a user with this role; the session's token. */
  async addPerson(role: 'admin' | 'validator' | 'auditor'): Promise<string> {
    this.#people += 1;
    const email = `${role}-${this.#people}@example.com`;
    const password = 'a long enough password';
    const body = { email, password, first_name: 'Eva', last_name: `Smit ${this.#people}`, locale: 'nl', roles: [role] };
    await this.platformData('POST', '/users', body);
    return this.#newSession({ email, password });
  }

  /** The `data` of a platform answer that must be a success. */
  async platformData(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await this.platform(method, path, body === undefined ? {} : { body });
    if (answer.status < 200 || answer.status > 299) throw new UnexpectedAnswer(answer);
    return dataEnvelope.parse(answer.body).data;
  }
}

export class UnexpectedAnswer extends Error {
  override readonly name = 'UnexpectedAnswer';
  constructor(readonly answer: Answer) {
    super(`HTTP ${answer.status}: ${answer.text.slice(0, 2000)}`);
  }
}

/** The body of an answer that must have this status. */
function expected(answer: Answer, status: number): unknown {
  if (answer.status !== status) throw new UnexpectedAnswer(answer);
  return answer.body;
}
