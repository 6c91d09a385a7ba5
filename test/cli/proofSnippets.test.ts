/** The programs of docs/snippets that check a proof, run as an auditor would. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { lastCheckpoint, makeCheckpoint, noteKeys, openCheckpointKeys } from '#app/audit/checkpoints.js';
import { catchUp } from '#app/audit/logTree.js';
import { verifierKey } from '#app/audit/note.js';
import { type EventProof, proveEvent } from '#app/audit/proof.js';
import { openTree } from '#app/service/auditTree.js';
import { event, events } from '../contract/eventStoreFixtures.js';

const SNIPPETS = resolve(__dirname, '../../docs/snippets');

let directory: string;
let key: string;
let otherKey: string;
let proofs: EventProof[];
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'proofs-'));
  const log = await openSqliteEventStore({ file: join(directory, 'events.db'), durability: 'normal' });
  const given = [event({ text: 'żółć ☕\n', n: [1e21, 0.1] }), ...events(299)];
  await log.append('order-acme.1', given, 'no-stream');
  const audit = join(directory, 'audit');
  const tree = await openTree(log, audit);
  await catchUp(log, tree);
  const keys = await openCheckpointKeys(join(directory, 'keys'));
  await makeCheckpoint(tree, keys, { directory: audit, published: undefined });
  const checkpoint = await lastCheckpoint(audit, noteKeys(tree.log, keys));
  if (checkpoint === undefined) throw new Error('There is no checkpoint.');
  [key = ''] = noteKeys(tree.log, keys).map(verifierKey);
  [otherKey = ''] = noteKeys(tree.log, await openCheckpointKeys(join(directory, 'others'))).map(verifierKey);
  proofs = [];
  for (const at of [0, 255, 256, 299]) {
    const found = await proveEvent(log, { tree, checkpoint }, given[at]?.id ?? '', () => true);
    if (typeof found === 'string') throw new Error(found);
    proofs.push(found);
  }
  tree.index.close();
  await log.close();
});
afterAll(() => rm(directory, { recursive: true }));

const WRONG: readonly (readonly [what: string, change: (proof: EventProof) => EventProof])[] = [
  ['another event', ({ leaf, proof }) => ({ leaf: leaf.replace('acme', 'acne'), proof })],
  ['another index', ({ leaf, proof }) => ({ leaf, proof: proof.replace(/index \d+/, 'index 17') })],
  ['another size', ({ leaf, proof }) => ({ leaf, proof: proof.replace(/\n301\n/, '\n302\n') })],
  ['a hash less', ({ leaf, proof }) => ({ leaf, proof: proof.replace(/(index \d+\n)[^\n]+\n/, '$1') })],
  ['a hash more', ({ leaf, proof }) => ({ leaf, proof: proof.replace(/(index \d+\n)([^\n]+\n)/, '$1$2$2') })],
  [
    'a signature of another text',
    ({ leaf, proof }) => ({
      leaf,
      proof: proof.replace(/(— \S+ .{20})(.)/, (_, before, char) => `${before}${char === '/' ? '+' : '/'}`),
    }),
  ],
  ['no signature', ({ leaf, proof }) => ({ leaf, proof: proof.replace(/— .*\n$/, '') })],
];

const LANGUAGES = [
  ['node', 'proof.mjs', '--version'],
  ['python3', 'proof.py', '--version'],
  ['go', 'proof.go', 'version'],
] as const;

describe.each(LANGUAGES)('%s docs/snippets/%s', (tool, file, version) => {
  const isThere = spawnSync(tool, [version]).status === 0;
  (isThere ? test : test.skip)('takes right proofs, and refuses others', () => {
    let [command, args]: [string, string[]] = [tool, [join(SNIPPETS, file)]];
    if (tool === 'go') {
      [command, args] = [join(directory, 'proof'), []];
      const built = spawnSync('go', ['build', '-o', command, join(SNIPPETS, file)], { encoding: 'utf8' });
      expect(built.stderr).toBe('');
    }
    const run = (data: EventProof, by: string) =>
      spawnSync(command, [...args, by], { input: JSON.stringify({ data }), encoding: 'utf8' });
    for (const proof of proofs)
      expect(run(proof, key)).toMatchObject({ status: 0, stdout: `${proof.leaf}\n`, stderr: '' });
    const [first] = proofs;
    if (first === undefined) throw new Error('There is no proof.');
    expect(run(first, otherKey).status).toBe(1);
    const taken = WRONG.filter(([, change]) => run(change(first), key).status !== 1);
    expect(taken.map(([what]) => what)).toEqual([]);
  });
});
