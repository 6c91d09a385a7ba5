/** Checkpoints and the verification, as an operator uses them. */
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { Workplace } from './cli.js';

let workplace: Workplace;
beforeEach(async () => {
  workplace = await Workplace.make();
  await workplace.json(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order']);
});
afterEach(() => workplace.remove());

const inWorkplace = (...path: string[]): string => join(workplace.directory, ...path);

function change(sql: string): string {
  const db = openSqlite(inWorkplace('data', 'events.db'));
  try {
    const { id } = db
      .prepare<[], { id: string }>('SELECT lower(hex(event_id)) AS id FROM events WHERE position = 3')
      .get() ?? {
      id: '',
    };
    if (sql !== '') db.exec(sql);
    return id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  } finally {
    db.close();
  }
}

test('a checkpoint that was kept elsewhere shows what was changed, and that nothing was', async () => {
  const { code, stdout: note } = await workplace.run(['audit', 'checkpoint'], { CHECKPOINT_DIR: 'evidence' });
  expect(code).toBe(0);
  await writeFile(inWorkplace('kept'), note);
  expect(await readdir(inWorkplace('evidence'))).toEqual([expect.stringMatching(/^checkpoint-\d+$/)]);
  const [key = ''] = (await workplace.run(['audit', 'keys'])).stdout.split('\n');
  expect(note).toContain(`— ${key.split('+')[0]} `);

  await workplace.json(['tenant', 'create', 'other', '--order-model', 'dyn_stock_order']);
  const TERMINAL = { NODE_OPTIONS: '--import=data:text/javascript,process.stderr.isTTY=true' };
  const whole = await workplace.run(['audit', 'verify', '--checkpoint', 'kept'], TERMINAL);
  expect(whole).toMatchObject({ code: 0, stdout: expect.stringContaining('events holds.') });
  expect(whole.stderr).toMatch(/event log: \d+ %/);
  expect((await workplace.run(['backup', 'copy'], TERMINAL)).stderr).toMatch(/event log: \d+ %/);
  const alone = await workplace.run(['audit', 'verify']);
  expect(alone).toMatchObject({ code: 0, stdout: expect.stringContaining('who can change the log') });

  const id = change("UPDATE events SET data = replace(data, 'a', 'b') WHERE position = 3");
  const changed = await workplace.run(['audit', 'verify', '--checkpoint', 'kept']);
  expect(changed.code).toBe(1);
  expect(changed.stdout).toContain('The first event that is not what it was is event 2; in its place there is event 2');
  expect(changed.stdout).toContain(id);
  expect(changed.stdout).toContain('does not hold.');
});

test.each([
  ['a checkpoint that was changed', (note: string) => note.replace(/\n(\d+)\n/, '\n1$1\n'), 'was changed'],
  ['no checkpoint', () => 'nothing', 'This is no signed note.'],
])('%s is refused', async (_what, written, message) => {
  const { stdout } = await workplace.run(['audit', 'checkpoint']);
  await writeFile(inWorkplace('kept'), written(stdout));
  const { code, stderr } = await workplace.run(['audit', 'verify', '--checkpoint', 'kept']);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(message) });
});
