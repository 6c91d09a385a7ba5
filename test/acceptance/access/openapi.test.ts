/** The description of a tenant's API at /openapi.json: valid, complete, and true. */
import { z } from 'zod';
import { faultsOf, type Json, operationsOf, Schemas } from '../apiDocument.js';
import type { Answer } from '../http.js';
import { addPerson, dataOf, type Person } from '../people.js';
import { expectRefused } from '../refusals.js';
import { ASSETS } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', cargo: 'dyn_transport_order' } });
const acme = () => run.tenant('acme');
let admin: Person;
beforeAll(async () => {
  admin = await addPerson(acme(), 'anna', ['admin']);
});

const dyn = (path: string): string => `${ASSETS}${path}`;
/** As the tenant's own client: who comes from elsewhere without a token is not told of its own tables. */
const askDocument = (tenant: string): Promise<Answer> => run.tenant(tenant).send('GET', '/openapi.json');
const documentOf = async (tenant = 'acme'): Promise<Json> => (await askDocument(tenant)).body;

const idOf = (answer: Answer): string => dataOf(z.looseObject({ id: z.string() }), answer).id;

describe('GET /openapi.json', () => {
  it.each(['acme', 'cargo'])('of %s is a valid OpenAPI 3.1 document', async (tenant) => {
    const answer = await askDocument(tenant);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    const document: Json = JSON.parse(answer.text);
    expect(document).toMatchObject({ openapi: '3.1.0' });
    expect(faultsOf(document)).toEqual([]);
    const ids = operationsOf(document).map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('belongs to the tenant of the host: its tables only', async () => {
    const stock = Object.keys((await documentOf()).paths);
    const transport = Object.keys((await documentOf('cargo')).paths);
    expect(stock).toContain(dyn('/dyn_order_line/assets'));
    expect(stock).not.toContain(dyn('/dyn_goods/assets'));
    expect(transport).toContain(dyn('/dyn_goods/assets'));
    expect(transport).not.toContain(dyn('/dyn_order_line/assets'));
    const nobody = { token: null, headers: { host: 'nobody.localhost' } };
    await expectRefused(run.service, 404, () => acme().send('GET', '/openapi.json', nobody));
  });

  it('each operation that takes an Idempotency-Key says how a replay is told, and no other does', async () => {
    const replayed = { $ref: '#/components/headers/Idempotency-Replayed' };
    const told = operationsOf(await documentOf()).map(({ operation }) => ({
      id: operation.operationId,
      takesKey: JSON.stringify(operation.parameters ?? []).includes('/IdempotencyKey"'),
      tells: JSON.stringify(operation.responses).includes(JSON.stringify(replayed)),
    }));
    expect(told.filter(({ takesKey, tells }) => takesKey !== tells)).toEqual([]);
    expect(told.filter(({ tells }) => tells).length).toBeGreaterThan(10);
  });

  it('§4.7, §4.8: only Reference Data has batch and clean-up; each operation names its scope', async () => {
    const { paths } = await documentOf();
    expect(paths[dyn('/dyn_item/assets/batch')].post.security).toEqual([{ oauth2: ['write:reference_data'] }]);
    expect(paths[dyn('/dyn_item/assets/clean-up')].post.security).toEqual([{ oauth2: ['write:reference_data'] }]);
    expect(paths[dyn('/dyn_stock_order/assets/batch')]).toBeUndefined();
    expect(paths[dyn('/dyn_stock_order/assets')].get.security).toEqual([{ oauth2: ['read:order_data'] }]);
    expect(paths[dyn('/dyn_stock_order/assets')].post.security).toEqual([{ oauth2: ['write:order_data'] }]);
  });

  it("shows the tenant's own tables and fields as soon as they are there", async () => {
    const fields = [
      { name: 'external_id', type: 'String', required: true, filterable: true, max_length: 20 },
      { name: 'trucks', type: 'Integer', sortable: true },
    ];
    await admin.call('POST', '/asset-types', { name: 'dyn_carrier', fields });
    await admin.call('POST', '/asset-types/dyn_item/fields', { name: 'colour', type: 'String', filterable: true });
    const document = await documentOf();
    expect(faultsOf(document)).toEqual([]);
    const { schemas } = document.components;
    expect(schemas.CreateDynCarrierInput).toMatchObject({
      required: ['external_id'],
      additionalProperties: false,
      properties: { external_id: { type: 'string', maxLength: 20 }, trucks: { type: ['integer', 'null'] } },
    });
    expect(schemas.CreateDynItemInput.properties).toHaveProperty('colour');
    const { parameters } = document.paths[dyn('/dyn_item/assets')].get;
    const filterOf = (field: string) => parameters.find(({ name }: { name?: string }) => name === `filter[${field}]`);
    const deep = { in: 'query', style: 'deepObject', explode: true };
    expect(filterOf('colour')).toMatchObject({
      ...deep,
      schema: { anyOf: [{ type: 'string' }, { $ref: '#/components/schemas/StringFilter' }] },
    });
    expect(filterOf('updated_at')).toMatchObject({ ...deep, schema: { $ref: '#/components/schemas/DateTimeFilter' } });
    expect((await documentOf('cargo')).components.schemas).not.toHaveProperty('DynCarrier');
  });
});

describe('generators of clients find in the document', () => {
  const TABLES = ['dyn_a_b', 'dyn_ab', 'dyn_a__b', 'dyn_a_b_', 'dyn_price_2026', 'dyn_price2026', 'dyn_price_no2026'];
  const LIKE_OURS = ['dyn_item_create', 'dyn_create_item', 'dyn_item_answer', 'dyn_stock_order_processing_status'];

  let document: Json;
  beforeAll(async () => {
    for (const name of [...TABLES, ...LIKE_OURS]) {
      const fields = [{ name: 'external_id', type: 'String', required: true }, ...FIELDS];
      await admin.call('POST', '/asset-types', { name, label: 'Stock orders', fields });
    }
    document = await documentOf();
  });
  /** Words of languages, one label twice, and names that differ in underscores only. */
  const FIELDS = ['class', 'from', 'title', 'properties', 'a_b', 'a__b'].map((name) => ({
    name,
    label: 'Name',
    type: 'String',
    filterable: true,
  }));

  it('names of schemas in letters and digits, and none twice, however a file system or a generator folds them', () => {
    const names = Object.keys(document.components.schemas);
    expect(names.filter((name) => !/^(?:[A-Z][a-z0-9]+)+$/.test(name))).toEqual([]);
    const files = names.map((name) => name.replaceAll(/(?<!^)[A-Z]/g, '_$&').toLowerCase());
    expect(new Set(files).size).toBe(names.length);
    const { paths, components } = document;
    const recordOf = (table: string): string =>
      components.schemas[`Create${nameOf(table)}Input`] === undefined ? `none of ${table}` : nameOf(table);
    const nameOf = (table: string): string => paths[dyn(`/${table}/assets`)].post.operationId.replace('create', '');
    const tables = [...TABLES, ...LIKE_OURS].map(recordOf);
    expect(new Set(tables).size).toBe(tables.length);
    expect(names).toEqual(expect.arrayContaining(tables));
  });

  it('ids of operations in camelCase, and none twice', () => {
    const ids = operationsOf(document).map(({ operation }) => operation.operationId);
    expect(ids.filter((id) => !/^[a-z]+(?:[A-Z][a-z0-9]+)*$/.test(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('each object and each list of values under a name, and no titles, by which they would name them', () => {
    const unnamed: unknown[] = [];
    const look = (schema: Json, at: string, isNamed: boolean): void => {
      if (!isNamed && (schema.properties !== undefined || schema.enum !== undefined)) unnamed.push(at);
      if (schema.title !== undefined) unnamed.push(`${at} has a title`);
      for (const [name, each] of Object.entries(schema.properties ?? {})) look(each, `${at}.${name}`, false);
      for (const each of schema.anyOf ?? []) look(each, at, false);
      for (const each of [schema.items, schema.additionalProperties]) {
        if (typeof each === 'object') look(each, `${at}[]`, false);
      }
    };
    for (const [name, schema] of Object.entries(document.components.schemas)) look(schema, name, true);
    for (const { operation } of operationsOf(document)) {
      const { requestBody, responses, operationId } = operation;
      const contents = [requestBody, ...Object.values(responses)].flatMap(({ content = {} } = {}) =>
        Object.values<Json>(content),
      );
      for (const { schema } of contents) look(schema, operationId, false);
    }
    expect(unnamed).toEqual([]);
  });

  it('answers that are open for what comes later, and requests that say what is refused', () => {
    const reached = (roots: readonly Json[]): ReadonlySet<string> => {
      const names = new Set<string>();
      const look = (part: Json): void => {
        if (typeof part !== 'object' || part === null) return;
        const [, kind, name] = /^#\/components\/(\w+)\/([\w-]+)$/.exec(String(part.$ref)) ?? [];
        if (kind !== undefined && name !== undefined && !names.has(`${kind} ${name}`)) {
          names.add(`${kind} ${name}`);
          look(document.components[kind][name]);
        }
        for (const each of Object.values(part)) look(each);
      };
      roots.forEach(look);
      return names;
    };
    const schemasIn = (roots: readonly Json[]) =>
      [...reached(roots)].flatMap((name) => (name.startsWith('schemas ') ? [name.slice('schemas '.length)] : []));
    const operations = operationsOf(document).map(({ operation }) => operation);
    const closedAnswers = schemasIn(operations.map(({ responses }) => responses)).filter(
      (name) => document.components.schemas[name].additionalProperties === false,
    );
    expect(closedAnswers).toEqual([]);
    const openRequests = schemasIn(operations.map(({ requestBody }) => requestBody)).filter((name) => {
      const { type, additionalProperties } = document.components.schemas[name];
      return type === 'object' && additionalProperties !== false;
    });
    // Unknown parameters must be ignored there (RFC 6749 §3.2); custom data is whatever the organisation wants.
    expect(openRequests.sort()).toEqual(['RequestTokenInput']);
  });

  it('all that it refers to, also where some tables are asked for', async () => {
    const some = await acme().send('GET', '/openapi.json', { query: 'table=dyn_item' });
    expect(faultsOf(JSON.parse(some.text))).toEqual([]);
    expect(Object.keys(JSON.parse(some.text).paths)).not.toContain(dyn('/dyn_party/assets'));
  });
});

describe('the document tells the truth', () => {
  it.each(['acme', 'cargo'])('%s: its examples are what its schemas allow', async (tenant) => {
    const document = await documentOf(tenant);
    const schemas = new Schemas(document);
    for (const { method, path, operation } of operationsOf(document)) {
      const content = operation.requestBody?.content['application/json'];
      if (content === undefined) continue;
      const at = ['paths', path, method.toLowerCase(), 'requestBody', 'content', 'application/json', 'schema'];
      const validate = schemas.at(...at);
      validate(content.example);
      expect({ path, method, errors: validate.errors }).toEqual({ path, method, errors: null });
    }
    for (const [name, { examples = [] }] of Object.entries<{ examples?: unknown[] }>(document.components.schemas)) {
      for (const example of examples) {
        const validate = schemas.at('components', 'schemas', name);
        validate(example);
        expect({ name, errors: validate.errors }).toEqual({ name, errors: null });
      }
    }
  });

  it('an update may leave processing_status out, and not clear it', async () => {
    const document = await documentOf('acme');
    const path = dyn('/dyn_stock_order/assets/{asset_id}');
    const at = ['paths', path, 'put', 'requestBody', 'content', 'application/json', 'schema'];
    const validate = new Schemas(document).at(...at);
    const { id } = await acme().create('dyn_stock_order', {});
    const put = (body: object) => acme().send('PUT', path.replace('{asset_id}', id), { body });
    expect([validate({ processing_status: null }), (await put({ processing_status: null })).status]).toEqual([
      false,
      422,
    ]);
    expect([validate({}), (await put({})).status]).toEqual([true, 200]);
  });

  it('every example can be sent: a record, a change of it, a batch and a clean-up', async () => {
    const { paths } = await documentOf();
    const exampleOf = (path: string, method: string) =>
      paths[path][method].requestBody.content['application/json'].example;
    const send = async (method: string, path: string, example: unknown, query = '') =>
      acme().send(method, path, { body: example, query });
    for (const table of ['dyn_party', 'dyn_unit_code', 'dyn_item', 'dyn_stock_order']) {
      const path = dyn(`/${table}/assets`);
      const made = await send('POST', path, exampleOf(path, 'post'));
      expect([table, made.status, made.text]).toEqual([table, 201, expect.anything()]);
      const one = `${path}/${idOf(made)}`;
      const answers = [await send('PUT', one, exampleOf(`${path}/{asset_id}`, 'put'))];
      for (const [below, query] of table === 'dyn_stock_order' ? [] : [['batch'], ['clean-up', 'dry_run=true']])
        answers.push(await send('POST', `${path}/${below}`, exampleOf(`${path}/${below}`, 'post'), query));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    }
  });
});
