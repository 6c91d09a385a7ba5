/** Clients that generators make of the OpenAPI document: of each operation, and they work. */
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { operationsOf } from '../acceptance/apiDocument.js';
import { useService } from '../acceptance/useService.js';

const run = useService({ tenants: { stock: 'dyn_stock_order', transport: 'dyn_transport_order' }, env: {} });
const MODELS = ['stock', 'transport'] as const;
/** Where install.sh has put the tools. */
const TOOLS = resolve(z.string('GENERATORS names no directory: see CONTRIBUTING.md.').parse(process.env.GENERATORS));
const HERE = resolve('test/generators');

let directory: string;
const file = (name: string): string => join(directory, name);

/** Runs it in the directory. @returns all that it wrote. @throws Error with that, where it fails */
async function tool(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const PATH = [join(TOOLS, 'venv/bin'), process.env.PATH].join(delimiter);
  const options = { cwd: directory, env: { ...process.env, PATH, ...env } };
  const { stdout, stderr } = await promisify(execFile)(command, args, options);
  return stdout + stderr;
}

/** A number, and words of languages, as names; one label for all. */
const TABLES = ['dyn_price_2026', 'dyn_class'];
const FIELDS = ['class', 'from', 'self', 'title', 'model_config', 'a_b', 'a__b'];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'generators-'));
  for (const model of MODELS) {
    const tenant = run.tenant(model);
    for (const name of TABLES) {
      const others = FIELDS.map((field) => ({ name: field, label: 'Name', type: 'String', filterable: true }));
      const fields = [{ name: 'external_id', type: 'String', required: true }, ...others];
      await tenant.platformData('POST', '/asset-types', { name, label: 'Stock orders', fields });
    }
    await writeFile(file(`${model}.json`), (await tenant.send('GET', '/openapi.json')).text);
  }
  await run
    .tenant('stock')
    .platformData('POST', '/asset-types/dyn_item/fields', { name: 'added_later', type: 'String' });
});
afterAll(() => rm(directory, { recursive: true }));

const caller = () => {
  const { name, client } = run.tenant('stock');
  return {
    BASE_URL: `http://127.0.0.1:${run.service().port}`,
    TENANT: name,
    CLIENT_ID: client.client_id,
    CLIENT_SECRET: client.client_secret,
  };
};

const pythonFiles = async (path: string): Promise<readonly string[]> =>
  (await readdir(path, { recursive: true })).filter((name) => name.endsWith('.py') && !name.endsWith('__init__.py'));

describe.each(MODELS)('of the %s model', (model) => {
  it('openapi-python-client leaves no operation out, and warns of nothing', async () => {
    const args = ['generate', '--path', `${model}.json`, '--output-path', `${model}_client`, '--meta', 'none'];
    // It knows archives by this type only.
    await writeFile(
      file('python_client.yaml'),
      'content_type_overrides:\n  application/zip: application/octet-stream\n',
    );
    const said = await tool('openapi-python-client', [...args, '--config', 'python_client.yaml', '--fail-on-warning']);
    expect(said.trim()).toBe(`Generating ${model}_client`);
    const operations = operationsOf(JSON.parse(await readFile(file(`${model}.json`), 'utf8')));
    expect(await pythonFiles(file(`${model}_client/api`))).toHaveLength(operations.length);
  });

  it('openapi-typescript warns of nothing', async () => {
    const said = await tool(join(TOOLS, 'node_modules/.bin/openapi-typescript'), [
      `${model}.json`,
      '-o',
      `${model}.d.ts`,
    ]);
    expect(said).not.toMatch(/warn|error/i);
  });
});

it('a strict program in TypeScript compiles, and its requests do what their types say', async () => {
  await copyFile(join(HERE, 'client.ts'), file('client.ts'));
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    target: 'es2023',
    module: 'nodenext',
    lib: ['es2023', 'dom'],
    types: ['node'],
    typeRoots: [resolve('node_modules/@types')],
  };
  await symlink(join(TOOLS, 'node_modules'), file('node_modules'));
  await writeFile(file('package.json'), '{"type":"module"}');
  await writeFile(file('tsconfig.json'), JSON.stringify({ compilerOptions, files: ['client.ts', 'transport.d.ts'] }));
  await tool(resolve('node_modules/.bin/tsc'), []);
  const said = JSON.parse(await tool(process.execPath, ['client.js'], caller()));
  expect(said).toEqual({ id: expect.any(String), brand: null, names: ['Tea'], total: 1, status: 'completed' });
});

it('a program in Python works, also where a table has a field that the client does not know', async () => {
  await copyFile(join(HERE, 'client.py'), file('client.py'));
  const said = z
    .looseObject({ id: z.string() })
    .parse(JSON.parse(await tool('python', ['-W', 'error', 'client.py'], caller())));
  expect(said).toEqual({
    id: said.id,
    brand: null,
    listed: ['Coffee'],
    total: 1,
    status: 'completed',
    added: { added_later: null },
  });
});
