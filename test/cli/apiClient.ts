/** A client of the service as an integrator would write one: tokens, JSON, every answer checked. */
import { Agent } from 'node:http';
import { send } from '../acceptance/http.js';

export type Credentials = { readonly clientId: string; readonly clientSecret: string };

export class ApiClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 });
  readonly #port: number;
  readonly #host: string;
  #authorization: { readonly authorization?: string } = {};

  /** @param origin such as `http://127.0.0.1:3000`; @param host the tenant's host name, such as `demo.localhost` */
  constructor(origin: string, host: string) {
    this.#port = Number(new URL(origin).port);
    this.#host = host;
  }

  /** OAuth client credentials (RFC 6749 §4.4). The token is not renewed. */
  async useClientCredentials({ clientId, clientSecret }: Credentials): Promise<void> {
    const grant = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
    const answer = await this.request('POST', '/oauth/token', grant);
    this.#authorization = { authorization: `Bearer ${textAt(answer, 'access_token')}` };
  }

  /** Signs in as a person of the platform. */
  async signIn(email: string, password: string): Promise<void> {
    const answer = await this.request('POST', '/api/v1/platform/session', { email, password });
    this.#authorization = { authorization: `Bearer ${textAt(answer, 'data', 'token')}` };
  }

  /** @returns the parsed body. @throws Error naming request and answer for any status over 299 */
  async request(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<unknown> {
    const answer = await send(this.#agent, this.#port, {
      method,
      path,
      headers: { host: this.#host, 'content-type': 'application/json', ...this.#authorization },
      ...(body === undefined ? {} : { raw: JSON.stringify(body) }),
    });
    if (answer.status > 299) throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.text}`);
    return answer.body;
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** The value at a path of an answer; undefined where there is none. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );
}

/** The text at a path of an answer. @throws Error when there is none */
export function textAt(value: unknown, ...path: readonly (string | number)[]): string {
  const found = at(value, ...path);
  if (typeof found !== 'string') throw new Error(`The answer has no text ${path.join('.')}: ${JSON.stringify(value)}`);
  return found;
}
