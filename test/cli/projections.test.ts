/** The commands `projections`, for which a running service does the work. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Operator } from '../acceptance/operator.js';
import { type Service, startService } from '../acceptance/service.js';
import { ENTRY } from '../engines/commandLine.js';
import { scaled } from '../engines/timeScale.js';

let service: Service;
beforeAll(async () => {
  service = await startService({
    tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' },
    env: { LOG_LEVEL: 'info' },
  });
  const items = Array.from({ length: 20 }, (_, n) => ({ external_id: `p${n}`, name: `Party ${n}` }));
  await service.tenant('acme').batch('dyn_party', items);
});
afterAll(() => service.dispose());

const run = (...args: string[]) => service.cli('projections', ...args);

it('a tenant that is not there is named, and ends with 2', async () => {
  for (const command of ['verify', 'rebuild', 'retry']) {
    const { code, stdout, stderr } = await run(command, '--tenant', 'acne');
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: 'There is no tenant acne.\n' });
  }
});

describe('beside a running service', () => {
  it('the list says how far the rows of each tenant are', async () => {
    const { stdout } = await run('list', '--json');
    const listed = { state: 'running', position: expect.any(Number), rows: expect.any(Number) };
    expect(JSON.parse(stdout)).toMatchObject({
      head: expect.any(Number),
      position: expect.any(Number),
      behind: expect.any(Number),
      tenants: ['acme', 'other'].map((tenant) => ({ ...listed, tenant })),
    });
  });

  it('what differs from the log is named and ends with 1; a rebuild mends it', async () => {
    expect(await run('verify')).toMatchObject({ code: 0, stdout: expect.stringMatching(/equal to the log/) });
    service.changeRows("DELETE FROM rows WHERE row IN (SELECT row FROM rows WHERE key = 'p7')");
    const { code, stdout } = await run('verify', '--tenant', 'acme');
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringMatching(/^acme: different from the log\. .*\n {2}dyn_party, row \S+\n/),
    });
    const rebuilt = await run('rebuild', '--tenant', 'acme');
    expect(rebuilt).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^acme: rebuilt\.\n/),
    });
    expect((await run('verify', '--tenant', 'acme')).code).toBe(0);
  });
});

it('a terminal shows how far a rebuild is, and Ctrl-C cancels it within a second', async () => {
  for (let batch = 1; batch <= 40; batch += 1) {
    const items = Array.from({ length: 1_000 }, (_, n) => ({ external_id: `c${n}`, name: `Name ${batch} of ${n}` }));
    await service.tenant('other').batch('dyn_party', items);
  }
  const operator = await Operator.of(service);
  const terminal = ['--import', 'data:text/javascript,process.stderr.isTTY=true'];
  const command = spawn(process.execPath, [...terminal, ENTRY, 'projections', 'rebuild'], {
    env: { ...process.env, DATA_DIR: service.dataDir },
  });
  let shown = '';
  command.stderr.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  while (!/other: \d+ %, 1 of 2 tenants done\r$/.test(shown)) await once(command.stderr, 'data');
  const at = performance.now();
  command.kill('SIGINT');
  expect(await once(command, 'close')).toEqual([1, null]);
  expect(performance.now() - at).toBeLessThan(scaled(1_000));
  expect(shown).toContain('The job was cancelled');
  expect((await operator.data('/jobs'))[0]).toMatchObject({ kind: 'rebuild', state: 'cancelled', tenants_done: 1 });
});

it('without a service the list works, and work on rows says what to do', async () => {
  await service.stop();
  expect((await run('list')).code).toBe(0);
  expect(await run('verify')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^No service runs with .*: start it/),
  });
  await service.start();
});
