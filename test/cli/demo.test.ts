import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../engines/commandLine.js';
import { baseEnvironment, type Environment, REPOSITORY, Workplace } from './cli.js';

const DEMO = join(REPOSITORY, 'examples/demo/index.js');

describe('demo', () => {
  let workplace: Workplace;
  beforeAll(async () => {
    workplace = await Workplace.make();
  });
  afterAll(() => workplace.remove());

  const run = (args: readonly string[], environment: Environment = {}) =>
    runCommand(args, { directory: workplace.directory, env: { ...baseEnvironment(), ...environment } }, DEMO);

  it('runs the whole story over HTTP and cleans up', async () => {
    const temporary = join(workplace.directory, 'tmp');
    await mkdir(temporary);
    const { code, stdout, stderr } = await run(['--locations', '3000', '--orders', '20'], { TMPDIR: temporary });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/First sync: 3,000 places in .*; 3000 created, 0 updated, 0 unchanged/);
    expect(stdout).toMatch(/The same again: 3,000 places in .*; 0 created, 0 updated, 3000 unchanged/);
    expect(stdout).toMatch(/Clean-up: exactly 5 deleted in .*; the table holds 2,995 places/);
    expect(stdout).toMatch(/Orders with 3 lines each: 20 orders/);
    expect(stdout).toMatch(/Webhook: .*signature verified, 3 lines, status submitted/);
    expect(stdout).toMatch(/OrderApproved +validated +submitted +user Admin shop/);
    expect(stdout).toMatch(/OrderStatusChanged +submitted +completed +client/);
    expect(await readdir(temporary)).toEqual([]);
  });
});
