/** The whole service in this process, on embedded engines in a directory of its own, and a client that can set Host. */
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { newId } from '#app/commands/clock.js';
import type { Caller } from '#app/commands/context.js';
import { createClient, type NewClient } from '#app/commands/identity/clients.js';
import { createTenant } from '#app/commands/identity/tenants.js';
import { readConfig } from '#app/config.js';
import { type RunningService, startService } from '#app/main.js';

export type Answer = {
  readonly status: number;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly json: Json;
};

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape, and say what they expect there.
export type Json = any;

export type Call = {
  readonly host?: string;
  readonly token?: string;
  readonly headers?: { readonly [name: string]: string };
  /** Sent as JSON; text and bytes as they are. */
  readonly body?: unknown;
};

export type TestApi = {
  readonly service: RunningService;
  readonly port: number;
  call(method: string, path: string, call?: Call): Promise<Answer>;
  /** Makes a tenant that does not exist yet, with a client of the scopes. */
  addTenant(name: string, orderModel?: string): Promise<void>;
  addClient(tenant: string, scopes?: readonly string[]): Promise<NewClient>;
  token(tenant: string, client: NewClient, scope?: string): Promise<string>;
  stop(): Promise<void>;
};

const SECRETS_KEY = Buffer.alloc(32, 7).toString('base64');
const ASSETS = '/api/v1/dynamic-assets/dyn';
/** A path below the assets' prefix. */
export const dyn = (path: string): string => `${ASSETS}${path}`;

export const operator = (tenant: string): Caller => ({
  tenant,
  actor: { kind: 'operator', id: 'test' },
  correlationId: newId(),
  causationId: newId(),
});

export async function startTestApi(environment: { readonly [name: string]: string } = {}): Promise<TestApi> {
  const directory = await mkdtemp(join(tmpdir(), 'dynamic-assets-api-'));
  const config = readConfig({ PORT: '0', DATA_DIR: directory, DURABILITY: 'normal', SECRETS_KEY, ...environment });
  const service = await startService(config, pino({ level: 'silent' }));
  const port = Number(new URL(service.address).port);
  const call: TestApi['call'] = (method, path, options = {}) => send(port, method, path, options);
  return {
    service,
    port,
    call,
    async addTenant(name, orderModel = 'dyn_stock_order') {
      await createTenant(service.commands, operator(name), { orderModel });
    },
    addClient: (tenant, scopes) =>
      createClient(service.commands, operator(tenant), { name: 'test', ...(scopes === undefined ? {} : { scopes }) }),
    async token(tenant, client, scope) {
      const { clientId: client_id, clientSecret: client_secret } = client;
      const body = {
        grant_type: 'client_credentials',
        client_id,
        client_secret,
        ...(scope === undefined ? {} : { scope }),
      };
      const answer = await call('POST', '/oauth/token', { host: `${tenant}.localhost`, body });
      if (answer.status !== 200) throw new Error(`No token: ${answer.text}`);
      return String(answer.json.access_token);
    },
    async stop() {
      await service.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function send(port: number, method: string, path: string, call: Call): Promise<Answer> {
  const body = toBytes(call.body);
  const headers: Record<string, string> = {
    Host: `${call.host ?? 'acme.localhost'}:${port}`,
    ...(call.token === undefined ? {} : { Authorization: `Bearer ${call.token}` }),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': String(body.length) }),
    ...call.headers,
  };
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, json: parsed(text) });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function toBytes(body: unknown): Buffer | undefined {
  if (body === undefined || Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
