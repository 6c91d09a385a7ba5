/**
 * Texts that no engine keeps as they are, and null where the document does not allow it, in place of every string of every body that the OpenAPI document describes: each is
 * refused by the path of its field, each error is told once, and nothing is written.
 */
import { type Json, operationsOf } from '../acceptance/apiDocument.js';
import { addWebhook } from '../acceptance/export.js';
import type { Answer } from '../acceptance/http.js';
import { expectErrorBody, fieldErrors } from '../acceptance/refusals.js';
import { ASSETS, type Fields, PLATFORM, type TenantClient } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';

const MODELS = { stock: 'dyn_stock_order', transport: 'dyn_transport_order' } as const;
const PARTS = { stock: ['lines', 'dyn_order_line'], transport: ['consignments', 'dyn_consignment'] } as const;
const run = useService({ tenants: MODELS });

const HOSTILE = ['a\0b', 'a\ud800', '\udc00\ud800b'];
const REASON = /well-formed Unicode text without NUL characters/;

/** Where a string may stand in a body: how errors name it, and the body's part with a text there. */
type Place = {
  /** With `*` in place of the text, where it is a name. */
  readonly path: readonly string[];
  /** The schema asks for nothing more than some text, so that this is all that is wrong with it. */
  readonly isFree: boolean;
  readonly isNullable: boolean;
  readonly put: (value: string | null) => unknown;
};

class Bodies {
  constructor(readonly document: Json) {}

  #resolved(schema: Json): Json {
    if (schema.allOf !== undefined)
      return Object.assign({}, ...schema.allOf.map((each: Json) => this.#resolved(each)).reverse());
    if (schema.$ref === undefined) return schema;
    const at = String(schema.$ref).slice(2).split('/');
    return this.#resolved(at.reduce((part, name) => part[name], this.document));
  }

  /** The schema of the body of a create or an update of a table's record. */
  ofRecord(method: string, table: string): Json {
    const path = `${ASSETS}/${table}/assets`;
    const { paths } = this.document;
    const operation = method === 'POST' ? paths[path].post : paths[`${path}/{asset_id}`].put;
    return operation.requestBody.content['application/json'].schema;
  }

  /** @param body one that is right */
  places(given: Json, body: Json = this.least(given), isAlsoNullable = false): readonly Place[] {
    const schema = this.#resolved(given);
    const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
    const types = [schema.type ?? []].flat();
    const isNullable = isAlsoNullable || [...choices, schema].some(({ type }) => [type].flat().includes('null'));
    if (choices.length > 0) return choices.flatMap((choice) => this.places(choice, undefined, isNullable));
    return [
      ...(types.includes('string') ? [this.#text(schema, isNullable)] : []),
      ...(types.includes('array') ? this.#in(this.places(schema.items), '0', (item) => [item]) : []),
      ...(types.includes('object') ? this.#object(schema, body ?? {}) : []),
    ];
  }

  #text({ enum: names, const: constant, format, pattern, minLength = 0 }: Json, isNullable: boolean): Place {
    const isFree = [names, constant, format, pattern].every((each) => each === undefined);
    return { path: [], isFree, isNullable, put: (value) => value?.padEnd(minLength, 'x') ?? null };
  }

  #in(places: readonly Place[], name: string, around: (value: unknown) => unknown): readonly Place[] {
    return places.map((place) => ({
      path: [name, ...place.path],
      isFree: place.isFree,
      isNullable: place.isNullable,
      put: (text) => around(place.put(text)),
    }));
  }

  #object({ properties, additionalProperties = {} }: Json, body: Json): readonly Place[] {
    const named = Object.entries<Json>(properties ?? {}).flatMap(([name, property]) =>
      this.#in(this.places(property, body[name]), name, (value) => ({ ...body, [name]: value })),
    );
    const isOpen = additionalProperties !== false && properties === undefined;
    return isOpen ? [...named, ...this.#anything()] : named;
  }

  /** Of an object with properties of any name: names and values, at any depth. */
  #anything(): readonly Place[] {
    const at = (path: readonly string[], put: Place['put']): Place => ({ path, isFree: true, isNullable: true, put });
    return [
      at(['any'], (text) => ({ any: text })),
      at(['*'], (text) => ({ [String(text)]: 1 })),
      at(['a', '1', 'b'], (text) => ({ a: [0, { b: text }] })),
      at(['a', 'b', '*'], (text) => ({ a: { b: { [String(text)]: {} } } })),
    ];
  }

  /** What a schema asks for at least. */
  least(given: Json): unknown {
    const schema = this.#resolved(given);
    if (schema.enum !== undefined) return schema.enum[0];
    if (schema.type === 'string') return schema.pattern?.includes('dyn_') ? 'dyn_some' : 'some';
    if (schema.type === 'boolean') return true;
    if (schema.type !== 'object') return schema.type === 'array' ? [] : 1;
    return Object.fromEntries(
      (schema.required ?? []).map((name: string) => [name, this.least(schema.properties[name])]),
    );
  }
}

/** Ids of what the paths name. */
async function prepared(tenant: TenantClient, model: keyof typeof MODELS, bodies: Bodies) {
  const [order, [list, partTable]] = [MODELS[model], PARTS[model]];
  const least = (table: string): object => Object(bodies.least(bodies.ofRecord('POST', table)));
  const parts =
    model === 'stock'
      ? { lines: [least(partTable)] }
      : { consignments: [{ goods: [least('dyn_goods')] }], allowance_charges: [least('dyn_allowance_charge')] };
  const whole: Json = await tenant.create(order, without(parts, ['order_id', 'consignment_id', 'transport_order_id']));
  const ids: Record<string, string> = {
    [order]: whole.id,
    [partTable]: whole[list][0].id,
    dyn_goods: whole[list][0].goods?.[0].id,
    dyn_allowance_charge: whole.allowance_charges?.[0].id,
    '{order_id}': whole.id,
    '{webhook_id}': (await addWebhook(tenant, 'https://127.0.0.1:9/')).id,
    '{user_id}': '1',
    '{sync_id}': await tenant.sync(SYNCHRONIZED),
    '{operation_id}': '0',
  };
  return { ids, partTable };
}

const without = (value: object, names: readonly string[]): Fields =>
  JSON.parse(JSON.stringify(value, (name, member) => (names.includes(name) ? undefined : member)));

/** A table of both models. */
const SYNCHRONIZED = 'dyn_party';

/** Beside what the document shows as an example. */
const MORE: { readonly [path: string]: object } = {
  [`${PLATFORM}/orders/{order_id}/approve`]: { override: true },
};

/** One request that is to be refused. @returns what is wrong with its answer */
async function wrongWith(
  place: Place,
  text: string | null,
  send: (body: unknown) => Promise<Answer>,
): Promise<readonly string[]> {
  const answer = await send(place.put(text));
  if (answer.status !== 422) return [`HTTP ${answer.status}`];
  expectErrorBody(answer);
  const errors = fieldErrors(answer);
  const path = place.path.join('.').replace('*', String(text)).toWellFormed();
  const messages = errors.get(path);
  const twice = [...errors.values()].some((each) => new Set(each).size < each.length);
  return [
    ...(twice ? ['an error is told twice'] : []),
    ...(/\\ud[89a-f]/.test(JSON.stringify(answer.body)) ? ['the answer is no well-formed Unicode'] : []),
    ...(messages === undefined ? [`names ${[...errors.keys()].join(', ')}`] : []),
    ...(place.isFree && text !== null && messages?.some((message) => REASON.test(message)) === false
      ? [`says ${messages.join(' ')}`]
      : []),
  ];
}

describe.each(['stock', 'transport'] as const)('of the %s model', (model) => {
  it('every string of every body, names of members among them, is refused by its path where it is no text; so is null where it is not allowed', async () => {
    const tenant = run.tenant(model);
    const document: Json = (await tenant.send('GET', '/openapi.json')).body;
    const bodies = new Bodies(document);
    const { ids, partTable } = await prepared(tenant, model, bodies);
    const failures: string[] = [];
    let tried = 0;
    for (const { method, path, operation } of operationsOf(document)) {
      const { operationId, requestBody } = operation;
      if (requestBody === undefined || path === '/oauth/token') continue;
      const table = /\/dyn\/(\w+)\/assets\/\{asset_id\}/.exec(path)?.[1] ?? partTable;
      const isPart = /\/platform\/tables\/\{table\}\/assets(?:\/\{asset_id\})?$/.test(path);
      const { schema, example } = requestBody.content['application/json'];
      const called = path
        .replace('{asset_id}', ids[table] ?? '019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10')
        .replace('{table}', isPart ? partTable : SYNCHRONIZED)
        .replaceAll(/\{\w+\}/g, (name) => ids[name] ?? 'x');
      const token = path.startsWith(PLATFORM) ? await tenant.signIn() : await tenant.token();
      const before = await run.service.logHead();
      // The platform's document names no fields of tables: those are as in the paths of clients.
      const batch = document.paths[`${ASSETS}/${SYNCHRONIZED}/assets/batch`].post.requestBody.content;
      const ofTable = isPart
        ? bodies.ofRecord(method, partTable)
        : path.endsWith('/{table}/assets/batch')
          ? batch['application/json'].schema
          : schema;
      for (const place of bodies.places(ofTable, {
        ...example,
        ...MORE[path],
      })) {
        for (const text of place.isNullable ? HOSTILE : [...HOSTILE, null]) {
          tried += 1;
          const send = (body: unknown) => tenant.send(method, called, { body, token });
          const wrong = await wrongWith(place, text, send);
          failures.push(
            ...wrong.map((each) => `${operationId} ${place.path.join('.')} ${JSON.stringify(text)}: ${each}`),
          );
        }
      }
      if ((await run.service.logHead()) !== before) failures.push(`${operationId} has written`);
    }
    expect(failures).toEqual([]);
    expect(tried).toBeGreaterThan(1_000);
  });
});
