/**
 * DURABILITY: with `full`, which is the default, a write is on the disk before it is answered, so that it survives power
 * loss. Nothing but the calls to the kernel shows it: strace lists those that write a file's data to the disk.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Service, startService } from '../acceptance/service.js';
import { describeEngine } from '../engines/describeEngine.js';
import { onPath } from '../engines/onPath.js';

const strace = onPath('strace');

describeEngine('strace', 'the log on the disk', strace === undefined ? 'no strace on PATH' : undefined, () => {
  const WRITES = 10;
  const file = join(tmpdir(), `synced-${process.pid}`);
  let service: Service | undefined;
  let tracer: ChildProcess | undefined;

  afterEach(async () => {
    if (tracer?.exitCode === null) {
      tracer.kill('SIGINT');
      await once(tracer, 'exit');
    }
    await service?.dispose();
    await rm(file, { force: true });
  });

  async function traced(env: { readonly [name: string]: string }): Promise<Service> {
    service = await startService({ tenants: { acme: 'dyn_stock_order' }, env });
    // The first write of each kind opens files and makes tables.
    await service.tenant('acme').create('dyn_item', { external_id: 'first', name: 'First' });
    await service.tenant('acme').create('dyn_stock_order', {});
    await service.tenant('acme').batch('dyn_party', [{ external_id: 'first', name: 'First', _batch_id: 'first' }]);
    const args = ['-f', '-y', '-e', 'trace=fsync,fdatasync', '-o', file, '-p', String(service.pid)];
    tracer = spawn(strace ?? '', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    if (tracer.stderr === null) throw new Error('No output to read.');
    await once(tracer.stderr, 'data');
    return service;
  }

  /** How often the log's data went to the disk so far; the write-ahead log is where appends go. */
  const synced = async (): Promise<number> =>
    (await readFile(file, 'utf8')).split('\n').filter((line) => /sync\(\d+<[^>]*\/events\.db-wal>/.test(line)).length;

  test('by default each answered write has gone to the disk: a record, an order, a batch, a clean-up', async () => {
    const acme = (await traced({})).tenant('acme');
    for (let n = 0; n < WRITES; n += 1) {
      for (const write of [
        () => acme.create('dyn_item', { external_id: `I${n}`, name: 'Item' }),
        () => acme.create('dyn_stock_order', {}),
        () => acme.batch('dyn_party', [{ external_id: `P${n}`, name: 'Party', _batch_id: `${n}` }]),
        () => acme.cleanUp('dyn_party', `${n}`),
      ]) {
        const before = await synced();
        await write();
        expect(await synced()).toBeGreaterThan(before);
      }
    }
  });

  test('with DURABILITY=normal writes are answered without: power loss may take the last ones', async () => {
    const acme = (await traced({ DURABILITY: 'normal' })).tenant('acme');
    for (let n = 0; n < WRITES; n += 1) await acme.create('dyn_item', { external_id: `I${n}`, name: 'Item' });
    expect(await synced()).toBe(0);
  });
});
