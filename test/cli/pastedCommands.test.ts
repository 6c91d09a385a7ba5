/**
 * The command blocks of the pages are pasted: all of a page in order, in one shell, in a fresh directory, beside a service
 * that runs there. `npx` finds the built command as it does in a clone.
 */
import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ENTRY, REPOSITORY, type RunningCli, Workplace } from './cli.js';

const PAGES = ['README.md'];
/** What starts the service that the other blocks of a page are pasted beside. */
const START = 'npm ci && npm start\n';

async function commandBlocks(page: string): Promise<readonly string[]> {
  const text = await readFile(join(REPOSITORY, page), 'utf8');
  return [...text.matchAll(/^```(?:sh|bash|shell|console)\n(.*?)^```$/gms)].map(([, block = '']) => block);
}

/** Ends at the first command that fails, also one within a pipe or one whose output is kept. */
const strict = (blocks: readonly string[]): string => `set -euo pipefail\n${blocks.join('\n')}`;

/** `curl` as pasted shows an error answer and succeeds. */
const CURL = 'curl() { command curl --fail-with-body "$@"; }\n';

function paste(script: string, workplace: Workplace): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((done) => {
    const options = { cwd: workplace.directory, env: { ...process.env, npm_config_update_notifier: 'false' } };
    execFile('bash', ['-c', script], options, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

describe.each(PAGES)('%s', (page) => {
  let workplace: Workplace;
  let service: RunningCli;

  beforeAll(async () => {
    workplace = await Workplace.make();
    const bin = join(workplace.directory, 'node_modules/.bin');
    await mkdir(bin, { recursive: true });
    await symlink(ENTRY, join(bin, 'dynamic-assets'));
    service = await workplace.start();
    await service.printed('openapi.json');
  });
  afterAll(() => workplace.remove());

  it('has command blocks that do what they say, as printed', async () => {
    const blocks = await commandBlocks(page);
    expect(blocks.length).toBeGreaterThan(0);
    const pasted = strict(blocks.filter((block) => block !== START)).replaceAll(
      'http://localhost:3000',
      service.address,
    );
    const { code, stdout, stderr } = await paste(CURL + pasted, workplace);
    expect({ code, stdout, stderr }).toMatchObject({ code: 0 });
    expect(stdout).toMatch(page === 'README.md' ? /"external_id":"ITEM-\d+".*"processing_status":"completed"/s : /./);
  });
});
