import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingRows } from '#app/config.js';
import { eventTypes } from '#app/domain/eventTypes.js';
import { REPOSITORY, Workplace } from './cli.js';

const file = (name: string): string => readFileSync(join(REPOSITORY, name), 'utf8');

/** The table of the README. */
function settingsMarkdown(): string {
  const rows = settingRows.map(({ name, defaultText: text, meaning }) => {
    const code = text === '' ? '' : `\`${text}\``;
    // Outside of code, Markdown takes <tenant> for a tag.
    return `| \`${name}\` | ${code} | ${meaning.replaceAll('<', '&lt;')} |`;
  });
  return ['| Variable | Default | Meaning |', '|---|---|---|', ...rows].join('\n');
}

describe('the documents are in step with the code', () => {
  it('README.md has the table of settings', () => {
    expect(file('README.md')).toContain(`\n${settingsMarkdown()}\n<!-- /settings -->`);
  });

  it('.env.example has every setting, with its default', () => {
    const lines = file('.env.example').split('\n');
    for (const { name, defaultText } of settingRows) {
      const line = lines.find((candidate) => candidate.startsWith(`# ${name}=`));
      expect(line).toBeDefined();
      if (defaultText !== '') expect(line).toBe(`# ${name}=${defaultText}`);
    }
  });
});

describe('docs/events.md', () => {
  const entries = [...file('docs/events.md').matchAll(/^\*\*(\w+)\*\*.*\n\n```json\n([^`]*)```/gm)];

  it('has an entry for every event type', () => {
    expect(entries.map(([, type]) => type).sort()).toEqual(Object.keys(eventTypes).sort());
  });

  it.each(entries.map(([, type, example]) => [type, example]))('the example of %s is JSON', (_, example) => {
    expect(() => JSON.parse(String(example))).not.toThrow();
  });
});

describe('config', () => {
  let workplace: Workplace;
  beforeAll(async () => {
    workplace = await Workplace.make();
  });
  afterAll(() => workplace.remove());

  it('shows each setting with its value, where that comes from, and its meaning', async () => {
    const { code, stdout } = await workplace.run(['config'], { PORT: '8080' });
    expect(code).toBe(0);
    expect(stdout).toContain('PORT=8080  (default: 3000)\n    TCP port of the HTTP server; 0 takes a free one\n');
    expect(stdout).toContain('HOST=127.0.0.1  (default)\n');
  });

  it('shows no key and no password', async () => {
    const key = Buffer.alloc(32, 7).toString('base64');
    const environment = { SECRETS_KEY: key, MONGODB_URL: 'mongodb://service:hush@127.0.0.1:27017/assets' };
    const { stdout } = await workplace.run(['config'], environment);
    expect(stdout).toContain('SECRETS_KEY=********');
    expect(stdout).toContain('MONGODB_URL=mongodb://service:********@127.0.0.1:27017/assets');
    expect(stdout).not.toContain(key);
    expect(stdout).not.toContain('hush');
  });
});
