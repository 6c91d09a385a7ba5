/**
 * schemathesis tries what the OpenAPI document allows and what it does not: the answers are those of the document. With
 * SCHEMATHESIS_SECONDS, the time of each model, each refusal of an allowed request has its reason in schemathesis_hooks.py too.
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { wholeDocument, withTables } from '../acceptance/tableDocument.js';
import { useService } from '../acceptance/useService.js';

const MODELS = ['stock', 'transport'] as const;
const TOOLS = resolve(z.string('GENERATORS names no directory: see CONTRIBUTING.md.').parse(process.env.GENERATORS));
const HERE = resolve('test/generators');
const SECONDS = Number(process.env.SCHEMATHESIS_SECONDS ?? 40);
/** It goes on a little after its time. */
const LIMIT_MS = (2 * SECONDS + 120) * 1_000;
const SEED = process.env.SCHEMATHESIS_SEED ?? '20261125';

const outputOf = (command: string, args: readonly string[], options: object): Promise<string> =>
  new Promise((done) => {
    execFile(command, args, { ...options, maxBuffer: 64_000_000 }, (_error, stdout, stderr) => done(stdout + stderr));
  });

const run = useService({
  tenants: { stock: 'dyn_stock_order', transport: 'dyn_transport_order' },
  env: {
    // Webhooks that are made here lead to a port of this machine that nobody listens on, or are refused.
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    WEBHOOK_ALLOWED_PORTS: '9',
  },
});

it.each(MODELS)(
  'schemathesis finds nothing in the %s model that the document does not say',
  async (model) => {
    const tenant = run.tenant(model);
    await tenant.create('dyn_party', { external_id: 'C-1', name: 'Customer' });
    await tenant.create(model === 'stock' ? 'dyn_stock_order' : 'dyn_transport_order', {});
    await tenant.platformData('PUT', '/tenant', { rate_limit: { per_second: 10_000, burst: 10_000 } });
    const base = `http://127.0.0.1:${run.service().port}`;
    // It looks for its settings where it runs, and leaves there what it keeps between runs.
    const directory = await mkdtemp(join(tmpdir(), 'schemathesis-'));
    await writeFile(join(directory, 'whole.json'), JSON.stringify(withTables(await wholeDocument(tenant))));
    for (const name of ['schemathesis.toml', 'schemathesis_hooks.py']) {
      await copyFile(join(HERE, name), join(directory, name));
    }
    const args = ['run', 'whole.json', '--url', base];
    const limits = ['--max-time', String(SECONDS), '--seed', SEED, '--no-shrink', '--warnings', 'off'];
    const env = {
      ...process.env,
      TENANT: tenant.name,
      CLIENT_ID: tenant.client.client_id,
      CLIENT_TOKEN: await tenant.token(),
      SESSION_TOKEN: await tenant.signIn(),
    };
    try {
      const said = await outputOf(join(TOOLS, 'venv/bin/schemathesis'), [...args, ...limits], { cwd: directory, env });
      // Each finding with the request that found it. Its exit code is that of its own errors as well.
      expect(said.slice(Math.max(0, said.indexOf('= FAILURES =')))).not.toContain('= FAILURES =');
      expect(said).toMatch(/Fuzzing[\s\S]*?\d\d passed/);
    } finally {
      await rm(directory, { recursive: true });
    }
    expect(run.service().loggedErrors).toEqual([]);
  },
  LIMIT_MS,
);
