/**
 * The command blocks of the pages are pasted: all of a page in order, into one shell, in a fresh directory, beside a service
 * that runs there. `npx` finds the built command as it does in a clone. Engines that a page names are stood in for.
 */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EventStoreDouble } from '../engines/eventStoreDouble.js';
import { REPOSITORY, RunningCli, Workplace } from './cli.js';
import { linkCommand, Shell, shownByGit } from './shell.js';

/** What starts the service that the other blocks of a page are pasted beside. */
const START = 'npm ci && npm start\n';
/** The first line of a block that wants the service away; it is started again after it. */
const STOPPED = '# with the service stopped\n';
/** The last line of a block that starts the service itself. */
const STARTING = /^.* dynamic-assets start\n$/m;

async function commandBlocks(page: string): Promise<readonly string[]> {
  const text = await readFile(join(REPOSITORY, page), 'utf8');
  return [...text.matchAll(/^```(?:sh|bash|shell|console)\n(.*?)^```$/gms)].map(([, block = '']) => block);
}

/** A service that a line of a page starts; without npx, so that it is the process that is stopped. */
const startedBy = (line: string, { directory }: Workplace): Promise<RunningCli> =>
  RunningCli.listening(
    spawn('bash', ['-c', `exec env ${line.replace('npx ', 'node_modules/.bin/')}`], {
      cwd: directory,
      env: { ...process.env, PORT: '0', LOG_LEVEL: 'warn' },
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );

describe('command blocks do what they say, as printed', () => {
  let workplace: Workplace;
  let shell: Shell;
  let double: EventStoreDouble;

  beforeEach(async () => {
    workplace = await Workplace.make();
    await linkCommand(workplace.directory);
    shell = new Shell(workplace.directory);
    double = new EventStoreDouble();
    await double.start();
  });
  afterEach(async () => {
    shell.close();
    await double.kill();
    await workplace.remove();
  });

  async function pastePage(page: string): Promise<void> {
    let service = await workplace.start();
    const { port } = new URL(service.address);
    for (const printed of await commandBlocks(page)) {
      if (printed === START) continue;
      const block = printed
        .replaceAll('http://localhost:3000', service.address)
        .replaceAll('esdb://assets:secret@db.example:2113', double.url);
      const [starting] = STARTING.exec(block) ?? [];
      if (block.startsWith(STOPPED)) await service.stop();
      await shell.paste(starting === undefined ? block : block.replace(starting, ''));
      if (starting !== undefined) await (await startedBy(starting.trim(), workplace)).stop();
      if (block.startsWith(STOPPED)) service = await workplace.start({ PORT: port });
    }
    expect(await shownByGit(workplace.directory)).toEqual([]);
  }

  it('docs/operations.md', async () => {
    await workplace.json(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order']);
    await pastePage('docs/operations.md');
    expect(shell.output).toMatch(/acme/);
  });

  it('README.md', async () => {
    await pastePage('README.md');
    expect(shell.output).toMatch(/"external_id":"ITEM-\d+".*"processing_status":"completed"/s);
  });
});
