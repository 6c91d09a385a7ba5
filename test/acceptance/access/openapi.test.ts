/** The description of a tenant's API at /openapi.json: valid, complete, and true. */
import SwaggerParser from '@apidevtools/swagger-parser';
import { z } from 'zod';
import { type Json, operationsOf, Schemas } from '../apiDocument.js';
import type { Answer } from '../http.js';
import { addPerson, askSession, dataOf, PASSWORD, type Person } from '../people.js';
import { expectRefused } from '../refusals.js';
import { ASSETS, PLATFORM } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', cargo: 'dyn_transport_order' } });
const acme = () => run.tenant('acme');
let admin: Person;
beforeAll(async () => {
  admin = await addPerson(acme(), 'anna', ['admin']);
});

const dyn = (path: string): string => `${ASSETS}${path}`;
const askDocument = (tenant: string): Promise<Answer> =>
  run.tenant(tenant).send('GET', '/openapi.json', { token: null });
const documentOf = async (tenant = 'acme'): Promise<Json> => (await askDocument(tenant)).body;

const idOf = (answer: Answer): string => dataOf(z.looseObject({ id: z.string() }), answer).id;

describe('GET /openapi.json', () => {
  it.each(['acme', 'cargo'])('of %s is a valid OpenAPI 3.1 document, without a token', async (tenant) => {
    const answer = await askDocument(tenant);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    const document = await SwaggerParser.validate(JSON.parse(answer.text));
    expect(document).toMatchObject({ openapi: '3.1.0' });
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
    await SwaggerParser.validate(structuredClone(document));
    const { schemas } = document.components;
    expect(schemas['dyn_carrier.create']).toMatchObject({
      required: ['external_id'],
      additionalProperties: false,
      properties: { external_id: { type: 'string', maxLength: 20 }, trucks: { type: ['integer', 'null'] } },
    });
    expect(schemas['dyn_item.create'].properties).toHaveProperty('colour');
    const filters = document.paths[dyn('/dyn_item/assets')].get.parameters.map(({ name }: { name?: string }) => name);
    expect(filters).toContain('filter[colour]');
    const operators = document.paths[dyn('/dyn_item/assets')].get.parameters.find(
      ({ name }: { name?: string }) => name === 'filter',
    );
    expect(operators.schema.properties).toMatchObject({
      colour: { $ref: '#/components/schemas/StringFilter' },
      updated_at: { $ref: '#/components/schemas/DateTimeFilter' },
    });
    expect((await documentOf('cargo')).components.schemas).not.toHaveProperty('dyn_carrier');
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

  it('every operation exists, and asks for a token where it says so', async () => {
    for (const { method, path, operation } of operationsOf(await documentOf())) {
      if (operation.operationId === 'platform_sign_out') continue;
      const found = path
        .replace('{page}', 'getting-started')
        .replaceAll(/\{[a-z_]+\}/g, '019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10');
      const answer = await acme().send(method, found, { token: null });
      if (operation.security.length > 0) expect({ method, path, status: answer.status }).toMatchObject({ status: 401 });
      // Those that need no token miss their body here, or lead on, but are found.
      else expect([200, 302, 400, 415]).toContain(answer.status);
    }
  });

  it('every example record can be created, and all answers are as described', async () => {
    const document = await documentOf();
    const schemas = new Schemas(document);
    const answers: [method: string, path: string, Answer][] = [];
    for (const table of ['dyn_party', 'dyn_unit_code', 'dyn_item', 'dyn_stock_order']) {
      const path = dyn(`/${table}/assets`);
      const { example } = document.paths[path].post.requestBody.content['application/json'];
      const made = await acme().send('POST', path, { body: example });
      expect({ table, status: made.status, text: made.text }).toMatchObject({ status: 201 });
      const one = `${path}/${idOf(made)}`;
      const update = document.paths[`${path}/{asset_id}`].put.requestBody.content['application/json'].example;
      answers.push(
        ['post', path, made],
        ['post', path, await acme().send('POST', path, { body: { nothing: 1 } })],
        ['put', `${path}/{asset_id}`, await acme().send('PUT', one, { body: update })],
        ['get', `${path}/{asset_id}`, await acme().send('GET', one)],
        ['get', path, await acme().send('GET', path)],
        ['get', path, await acme().send('GET', `${path}?sort=nothing`)],
        ['get', dyn(`/${table}/info`), await acme().send('GET', dyn(`/${table}/info`))],
      );
      if (table === 'dyn_stock_order') {
        answers.push(['get', `${path}/{asset_id}/history`, await acme().send('GET', `${one}/history`)]);
        continue;
      }
      const batch = document.paths[`${path}/batch`].post.requestBody.content['application/json'].example;
      const cleanUp = document.paths[`${path}/clean-up`].post.requestBody.content['application/json'].example;
      answers.push(
        ['post', `${path}/batch`, await acme().send('POST', `${path}/batch`, { body: batch })],
        ['post', `${path}/clean-up`, await acme().send('POST', `${path}/clean-up?dry_run=true`, { body: cleanUp })],
      );
    }
    answers.push(['get', dyn(''), await acme().send('GET', dyn(''))]);
    for (const [method, path, answer] of answers) {
      const errors = schemas.errorsOf(method, path, answer);
      expect({ method, path, status: answer.status, errors }).toEqual({
        method,
        path,
        status: answer.status,
        errors: [],
      });
    }
  });

  it('the platform answers as described', async () => {
    const document = await documentOf();
    const schemas = new Schemas(document);
    const order = await acme().send('POST', dyn('/dyn_stock_order/assets'), { body: {} });
    const path = `/orders/${idOf(order)}`;
    const answers: [method: string, path: string, Answer][] = [
      ['post', '/session', await askSession(acme(), admin.email, PASSWORD)],
      ['post', '/session', await askSession(acme(), admin.email, 'wrong password')],
      ['get', '/session', await admin.call('GET', '/session')],
      ['post', '/api-clients', await admin.call('POST', '/api-clients', { name: 'ERP' })],
      ['get', '/api-clients', await admin.call('GET', '/api-clients')],
      ['get', '/webhooks', await admin.call('GET', '/webhooks')],
      ['get', '/webhook-events', await admin.call('GET', '/webhook-events')],
      ['get', '/users', await admin.call('GET', '/users')],
      ['get', '/tenant', await admin.call('GET', '/tenant')],
      ['get', '/asset-types', await admin.call('GET', '/asset-types')],
      ['get', '/orders', await admin.call('GET', '/orders')],
      ['get', '/orders/{order_id}', await admin.call('GET', path)],
      ['put', '/orders/{order_id}', await admin.call('PUT', path, { notes: 'x' })],
      ['post', '/orders/{order_id}/approve', await admin.call('POST', `${path}/approve`)],
      [
        'post',
        '/orders/{order_id}/reject',
        await admin.call('POST', `${path}/reject`, { reasons: ['Ordered twice.'] }),
      ],
      ['get', '/orders/{order_id}/history', await admin.call('GET', `${path}/history`)],
    ];
    for (const [method, below, answer] of answers) {
      const errors = schemas.errorsOf(method, PLATFORM + below, answer);
      expect({ method, below, status: answer.status, errors }).toEqual({
        method,
        below,
        status: answer.status,
        errors: [],
      });
    }
  });
});
