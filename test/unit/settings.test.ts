/** Settings: their table in docs/settings.md and .env.example are in step with the code, and wrong values are refused. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { readConfig, settingRows } from '#app/config.js';

const text = (name: string): string => readFileSync(resolve(__dirname, '../..', name), 'utf8');

it('docs/settings.md has the table of settings', () => {
  const rows = settingRows.map(({ name, defaultText, meaning }) => {
    const code = defaultText === '' ? '' : `\`${defaultText}\``;
    // Outside of code, Markdown takes <tenant> for a tag.
    return `| \`${name}\` | ${code} | ${meaning.replaceAll('<', '&lt;')} |`;
  });
  const table = ['| Variable | Default | Meaning |', '|---|---|---|', ...rows].join('\n');
  expect(text('docs/settings.md')).toContain(`\n${table}\n<!-- /settings -->`);
});

it('.env.example has every setting, with its default', () => {
  const lines = text('.env.example').split('\n');
  for (const { name, defaultText } of settingRows) {
    const line = lines.find((candidate) => candidate.startsWith(`# ${name}=`));
    expect(line).toEqual(defaultText === '' ? expect.any(String) : `# ${name}=${defaultText}`);
  }
});

it.each<readonly [name: string, value: string, allowed: string]>([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', 'must be a URL such as'],
  ['LOG_LEVEL', 'loud', 'must be fatal, error, warn, info, debug, trace or silent'],
  ['EVENTSTORE_URL', 'localhost:2113', 'must be a URL such as esdb://127.0.0.1:2113?tls=false'],
  ['WEBHOOK_ALLOWED_NETWORKS', '10.0.0.1', 'must be CIDRs such as 10.0.0.0/8,127.0.0.0/8'],
])('%s=%s is refused, with what is allowed', (name, value, allowed) => {
  expect(() => readConfig({ [name]: value })).toThrow(`${name} ${allowed}`);
});
