/** The operator, by a link of the command line: requests at the operator's host, each compared with what the document there says. */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { type Json, Schemas } from './apiDocument.js';
import type { Answer } from './http.js';
import type { Service } from './service.js';

export const OPERATOR = '/api/v1/operator';
const HOST = 'operator.service.localhost';

const job = z.looseObject({
  id: z.string(),
  state: z.string(),
  error: z.string().nullable(),
  reports: z.array(z.looseObject({ tenant: z.string().nullable(), outcome: z.string() })),
});

/** The token in a new link. */
export async function newLink(service: Service): Promise<string> {
  const { code, stdout, stderr } = await service.cli('console', '--json');
  if (code !== 0) throw new Error(`console: ${stderr}`);
  const { origin, pathname, hash } = new URL(JSON.parse(stdout).link);
  // Behind a trusted proxy, the origin is the proxy's.
  expect([`http://${HOST}:${service.port}`, `https://${HOST}`]).toContain(origin);
  expect(pathname).toBe('/console/enter');
  return hash.slice(1);
}

/** @param host default: the operator's */
export const askAs = (
  service: Service,
  token: string | undefined,
  [method, path, body]: readonly [method: string, path: string, body?: unknown],
  host = HOST,
): Promise<Answer> =>
  service.send({
    method,
    path,
    headers: {
      host: `${host}:${service.port}`,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { raw: JSON.stringify(body) }),
  });

export const enter = (service: Service, token: string): Promise<Answer> =>
  askAs(service, undefined, ['POST', `${OPERATOR}/sessions`, { token }]);

export class Operator {
  readonly token: string;
  readonly document: Json;
  readonly #schemas: Schemas;
  readonly #service: Service;
  /** The last answers of success, by the ids of operations. */
  readonly answers: Map<string, unknown>;

  private constructor(service: Service, entered: Answer, document: Json) {
    this.#service = service;
    this.token = z.object({ data: z.looseObject({ token: z.string() }) }).parse(entered.body).data.token;
    this.document = document;
    this.#schemas = new Schemas(document);
    this.answers = new Map([['operatorSignIn', entered.body]]);
  }

  static async of(service: Service): Promise<Operator> {
    const entered = await enter(service, await newLink(service));
    expect(entered.status).toBe(201);
    return new Operator(service, entered, (await askAs(service, undefined, ['GET', '/openapi.json'])).body);
  }

  /** @param route below the operator's path, as the document has it; `{id}` and the like are filled from `at` */
  async call(
    method: string,
    route: string,
    { at = '', query = '', body }: { at?: string; query?: string; body?: unknown } = {},
  ): Promise<Answer> {
    const path = `${OPERATOR}${route.replace(/\{\w+\}/, encodeURIComponent(at))}${query === '' ? '' : `?${query}`}`;
    const answer = await askAs(this.#service, this.token, [method, path, body]);
    const documented = `${OPERATOR}${route}`;
    expect(this.#schemas.errorsOf(method.toLowerCase(), documented, answer)).toEqual([]);
    const { operationId } = this.document.paths[documented][method.toLowerCase()];
    if (answer.status < 300) this.answers.set(operationId, answer.body);
    return answer;
  }

  async data(route: string, more: { at?: string; query?: string } = {}): Promise<Json> {
    const answer = await this.call('GET', route, more);
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    return z.object({ data: z.unknown() }).parse(answer.body).data;
  }

  async begin(body: object): Promise<string> {
    const answer = await this.call('POST', '/jobs', { body });
    expect([answer.status, answer.text]).toEqual([202, expect.anything()]);
    return z.object({ data: job }).parse(answer.body).data.id;
  }

  /** Asks until the job is in one of these states. */
  async until(id: string, ...states: readonly string[]): Promise<z.output<typeof job>> {
    for (;;) {
      const found = z
        .array(job)
        .parse(await this.data('/jobs'))
        .find((each) => each.id === id);
      if (found !== undefined && states.includes(found.state) && found.ended_at !== null) return found;
      await wait(20);
    }
  }

  ended = (id: string) => this.until(id, 'done', 'failed', 'cancelled');
}

/** Asks for a proof until there is one: the tree is made some seconds after the start, a checkpoint each hour or when told to. */
export async function checkpointed(service: Service, prove: () => Promise<Answer>): Promise<Answer> {
  for (let answer = await prove(); ; answer = await prove()) {
    if (answer.status < 400) return answer;
    if (answer.status === 409) expect(await service.cli('audit', 'checkpoint')).toMatchObject({ code: 0 });
    else await wait(50);
  }
}
