/** The diffs of CONTRIBUTING.md, applied to a copy of the sources: they are all that the compiler and the program need. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../..');
const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');

let copy: string;
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'contributing-'));
  for (const name of ['src', 'console/src', 'package.json', 'tsconfig.json'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  for (const [, file = '', text = ''] of page.matchAll(/^```diff file=(\S+)\n([^`]*?)\n```$/gm))
    apply(join(copy, file), text.split('\n'));
  expect(compiled()).toBe('');
}, 180_000);
afterAll(() => rmSync(copy, { recursive: true }));

function apply(path: string, lines: readonly string[]): void {
  const source = readFileSync(path, 'utf8');
  const side = (left: string) =>
    lines
      .filter((line) => !line.startsWith(left))
      .map((line) => `${line.slice(1)}\n`)
      .join('');
  expect(source.split(side('+'))).toHaveLength(2);
  writeFileSync(
    path,
    source.replace(side('+'), () => side('-')),
  );
}

/** @returns what the compiler says */
function compiled(): string {
  const flags = ['--project', 'tsconfig.json', '--noEmit', 'false', '--outDir', 'dist', '--rootDir', 'src'];
  try {
    execFileSync(join(ROOT, 'node_modules/.bin/tsc'), flags, { cwd: copy, encoding: 'utf8' });
    return '';
  } catch (error) {
    return String(Object(error).stdout);
  }
}

const run = (program: string): unknown =>
  JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '--eval', program], { cwd: copy, encoding: 'utf8' }),
  );

test('a type of field: one entry, and values are checked and described', () => {
  const program = `
    import { checkRecord } from './dist/domain/assetTypes/recordSchema.js';
    import { recordOutputSchema } from './dist/domain/assetTypes/outputSchema.js';
    const field = { name: 'share', label: 'Share', type: 'Percent', required: true, filterable: true, sortable: true };
    const type = { name: 'dyn_x', label: 'X', description: '', role: 'reference', fields: [field], relationships: [] };
    console.log(JSON.stringify({
      taken: checkRecord(type, 'batchItem', { share: 50 }),
      refused: checkRecord(type, 'batchItem', { share: 101 }),
      shown: recordOutputSchema(type).properties.share.maximum,
    }));`;
  expect(run(program)).toEqual({
    taken: { ok: true, input: { fields: { share: 50 } } },
    refused: { ok: false, errors: { share: ['The share field must be 0 to 100.'] } },
    shown: 100,
  });
});

test('a kind of webhook event: one entry, and it is caused', () => {
  const program = `
    import { kindsOf } from './dist/domain/webhook/catalogue.js';
    console.log(JSON.stringify(kindsOf({ type: 'OrderRejected', data: { status: { from: 'saved', to: 'rejected' } } })));`;
  expect(run(program)).toEqual(['order.status_changed', 'order.rejected']);
});

test('a role: its name and its permissions', () => {
  const program = `
    import { permissionsOfRoles, ROLES } from './dist/domain/identity/scopes.js';
    console.log(JSON.stringify([ROLES, [...permissionsOfRoles(['editor'])]]));`;
  const roles = ['admin', 'validator', 'auditor', 'editor'];
  expect(run(program)).toEqual([roles, ['users', 'validators']]);
});

test('an event: a rule makes it, rows show it, the activity tells of it', () => {
  const program = `
    import { postponeOrder } from './dist/domain/order/decide.js';
    import { evolve } from './dist/domain/order/order.js';
    import { effectsOf } from './dist/domain/effects.js';
    const created = { type: 'OrderCreated', data: { table: 'dyn_stock_order', fields: {}, status: 'pending_validation' } };
    const order = evolve(undefined, created, {});
    const [event] = postponeOrder(order, ['Sold out']).events;
    const known = { orderModel: 'dyn_stock_order', assetTypes: new Map() };
    const { rows, activity } = effectsOf({ ...event, stream: 'order-acme.1', metadata: {} }, known);
    console.log(JSON.stringify([evolve(order, event, {}).status, rows[0].set.error_reason, activity.kind]));`;
  expect(run(program)).toEqual(['saved', ['Sold out'], 'order.postponed']);
});

test('a setting, and an operation of the API: one entry each', () => {
  const program = `
    import { readConfig } from './dist/config.js';
    import { areas } from './dist/api/routeTable.js';
    import { routesOf } from './dist/api/routes/operation.js';
    const { path } = areas.flatMap(routesOf).find(({ id }) => id === 'platformGetTable');
    console.log(JSON.stringify([readConfig({ SUPPORT_URL: 'https://help.example.com' }).SUPPORT_URL, path]));`;
  expect(run(program)).toEqual(['https://help.example.com', '/asset-types/:table']);
});
