/** The alerting rules, tried by Prometheus' own tool: Debian's package `prometheus` has it. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describeEngine } from '../engines/describeEngine.js';
import { onPath } from '../engines/onPath.js';

const promtool = (...args: readonly string[]): Promise<{ stdout: string }> =>
  promisify(execFile)('promtool', [...args]);

describeEngine(
  'promtool',
  'the alerting rules in docs/alerts.yml',
  onPath('promtool') === undefined ? 'no promtool is on PATH' : undefined,
  () => {
    test('are rules that Prometheus can read', async () => {
      const { stdout } = await promtool('check', 'rules', 'docs/alerts.yml');
      expect(stdout).toMatch(/SUCCESS: \d+ rules found/);
    });

    test('speak when they should, and stay silent otherwise', async () => {
      const { stdout } = await promtool('test', 'rules', 'test/alerts/alerts.promtool.yml');
      expect(stdout).toContain('SUCCESS');
    });
  },
);
