/** The curl lines that the first start prints work as they are pasted. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { at } from './apiClient.js';
import { Workplace } from './cli.js';

/** The answer to the lines from the token request to the list, as a reader would copy them. */
async function paste(lines: string): Promise<unknown> {
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', lines]);
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

it('at the first start, and at a later one; a bare host means the tenant demo unless DEFAULT_TENANT names another', async () => {
  const workplace = await Workplace.make();
  try {
    const first = await workplace.start({}, '--demo');
    await first.printed('openapi.json');
    const { output } = first;
    const from = output.indexOf('TOKEN=$(');
    const lines = output.slice(from, output.indexOf('\n', output.indexOf('\ncurl ', from) + 1));
    for (const each of [lines, lines.replaceAll('//localhost', '//demo.localhost')]) {
      const answer = await paste(each);
      expect(at(answer, 'meta', 'total')).toBe(20);
      expect(at(answer, 'data', 0, 'name')).toBe('Black tea, 100 bags');
    }
    await first.stop();
    for (const [environment, total] of [
      [{}, 20],
      [{ DEFAULT_TENANT: 'other' }, undefined],
    ] as const) {
      const later = await workplace.start(environment);
      expect(at(await paste(lines.replaceAll(first.address, later.address)), 'meta', 'total')).toBe(total);
      await later.stop();
    }
  } finally {
    await workplace.remove();
  }
});
