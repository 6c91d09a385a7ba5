/** The description of a tenant's API at /openapi.json: valid, complete, and true. */
import { faultsOf, type Json, operationsOf, Schemas } from '../apiDocument.js';
import type { Answer } from '../http.js';
import { addPerson, type Person } from '../people.js';
import { expectRefused } from '../refusals.js';
import { wholeDocument, withTables } from '../tableDocument.js';
import { ASSETS } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', cargo: 'dyn_transport_order' } });
const acme = () => run.tenant('acme');
let admin: Person;
beforeAll(async () => {
  admin = await addPerson(acme(), 'anna', ['admin']);
});

const SCOPES = ['read:reference_data', 'write:reference_data', 'read:order_data', 'write:order_data'];
const dyn = (path: string): string => `${ASSETS}${path}`;
/** As the tenant's own client: who comes from elsewhere without a token is not told of its own tables. */
const askDocument = (tenant: string): Promise<Answer> => run.tenant(tenant).send('GET', '/openapi.json');
const documentOf = async (tenant = 'acme'): Promise<Json> => (await askDocument(tenant)).body;
/** That for people with it, and a path for each table. */
const wholeOf = async (tenant = 'acme'): Promise<Json> => withTables(await wholeDocument(run.tenant(tenant)));

describe('GET /openapi.json', () => {
  it.each([
    ['acme', 'clients', 150_000],
    ['cargo', 'clients', 150_000],
    ['cargo', 'people', 150_000],
  ] as const)('of %s for %s is a valid OpenAPI 3.1 document of less than %i bytes', async (tenant, audience, bytes) => {
    const answer = await run.tenant(tenant).send('GET', '/openapi.json', { query: { for: audience } });
    expect(answer.text.length).toBeLessThan(bytes);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    const document: Json = JSON.parse(answer.text);
    expect(document).toMatchObject({ openapi: '3.1.0' });
    expect(faultsOf(document)).toEqual([]);
  });

  it('belongs to the tenant of the host: its tables only', async () => {
    const tablesOf = async (tenant: string) => (await documentOf(tenant)).components.schemas.PartTableName.enum;
    expect(await tablesOf('acme')).toEqual(['dyn_order_line']);
    expect(await tablesOf('cargo')).toEqual(['dyn_consignment', 'dyn_goods', 'dyn_allowance_charge']);
    const { servers, components } = await documentOf();
    const origin = `http://${acme().host}`;
    expect(servers).toEqual([{ url: origin }]);
    expect(components.securitySchemes.oauth2.flows.clientCredentials).toEqual({
      tokenUrl: `${origin}/oauth/token`,
      scopes: Object.fromEntries(SCOPES.map((scope) => [scope, expect.any(String)])),
    });
    const nobody = { token: null, headers: { host: 'nobody.localhost' } };
    await expectRefused(run.service(), 404, () => acme().send('GET', '/openapi.json', nobody));
  });

  it('§4.7, §4.8: only Reference Data has batch and clean-up; each operation names its scope', async () => {
    const { paths } = await wholeOf();
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
      properties: {
        external_id: { type: 'string', maxLength: 20 },
        trucks: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
      },
    });
    expect(schemas.CreateDynItemInput.properties).toHaveProperty('colour');
    const { parameters } = document.paths[dyn('/{table}/assets')].get;
    const named = parameters
      .map(({ name = '' }: Json) => name)
      .filter((name: string) => /colour|updated_at/.test(name));
    const ofTimes = ['gt', 'gte', 'lt', 'lte'].map((operator) => `filter[updated_at][${operator}]`);
    expect(named.sort()).toEqual(['filter[colour]', 'filter[colour][eq]', ...ofTimes]);
    expect(schemas.CreateInput.anyOf).toContainEqual({ $ref: '#/components/schemas/CreateDynCarrierInput' });
  });
});

describe('generators of clients find in the document', () => {
  let document: Json;
  beforeAll(async () => {
    const fields = [{ name: 'external_id', type: 'String', required: true }, ...FIELDS];
    await admin.call('POST', '/asset-types', { name: 'dyn_price_list', label: 'Stock orders', fields });
    document = await wholeDocument(acme());
  });
  /** Words of languages, one label twice, and names that differ in underscores only. */
  const FIELDS = ['class', 'from', 'title', 'properties', 'a_b', 'a__b'].map((name) => ({
    name,
    label: 'Name',
    type: 'String',
    filterable: true,
  }));

  it('the schemas of a table under its name', () => {
    const { TableName, CreateInput, DynPriceList } = document.components.schemas;
    expect(TableName.enum).toContain('dyn_price_list');
    expect(CreateInput.anyOf).toContainEqual({ $ref: '#/components/schemas/CreateDynPriceListInput' });
    expect(Object.keys(DynPriceList.properties)).toEqual(expect.arrayContaining(FIELDS.map(({ name }) => name)));
  });

  it('ids of operations in camelCase, and none twice', () => {
    const ids = operationsOf(document).map(({ operation }) => operation.operationId);
    expect(ids.filter((id) => !/^[a-z]+(?:[A-Z][a-z0-9]+)*$/.test(id))).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('answers that are open for what comes later, and requests that say what is refused', () => {
    /** The objects that a part describes, also by references. */
    const objectsIn = (root: Json): readonly Json[] => {
      const passed = new Set<Json>();
      const look = (part: Json): void => {
        if (typeof part !== 'object' || part === null || passed.has(part)) return;
        passed.add(part);
        const [, kind, name] = /^#\/components\/(\w+)\/([\w-]+)$/.exec(String(part.$ref)) ?? [];
        if (kind !== undefined && name !== undefined) look(document.components[kind][name]);
        for (const [name, each] of Object.entries(part)) if (name !== 'example') look(each);
      };
      look(root);
      return [...passed].filter(({ type, properties }) => type === 'object' && properties !== undefined);
    };
    const operations = operationsOf(document).map(({ operation }) => operation);
    const closedAnswers = operations.filter(({ responses }) =>
      objectsIn(responses).some(({ additionalProperties }) => additionalProperties === false),
    );
    expect(closedAnswers.map(({ operationId }) => operationId)).toEqual([]);
    const openRequests = operations.filter(({ requestBody }) =>
      objectsIn(requestBody).some(({ additionalProperties }) => additionalProperties !== false),
    );
    // Unknown parameters must be ignored there (RFC 6749 §3.2).
    expect(openRequests.map(({ operationId }) => operationId)).toEqual(['requestToken']);
  });
});

describe('the document tells the truth', () => {
  it.each(['acme', 'cargo'])('%s: its examples are what its schemas allow, and each body has one', async (tenant) => {
    const document = await wholeDocument(run.tenant(tenant));
    const schemas = new Schemas(document);
    const without: string[] = [];
    for (const { method, path, operation } of operationsOf(document)) {
      const [status = ''] = Object.keys(operation.responses);
      for (const part of [['requestBody'], ['responses', status]]) {
        const content = part.reduce<Json>((whole, name) => whole?.[name], operation)?.content?.['application/json'];
        if (content === undefined) continue;
        const validate = schemas.at(
          'paths',
          path,
          method.toLowerCase(),
          ...part,
          'content',
          'application/json',
          'schema',
        );
        if (content.example === undefined) without.push(operation.operationId);
        else validate(content.example);
        expect({ path, method, errors: validate.errors ?? null }).toEqual({ path, method, errors: null });
      }
    }
    // Answers with orders of the tenant are shown where these are stock orders.
    expect(without.filter((id) => tenant === 'acme' || !/Orders?$/.test(id))).toEqual(['getOpenApi']);
  });

  it('an update may leave processing_status out, and not clear it', async () => {
    const document = await wholeOf('acme');
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
});
