/** Runs the programs that docs/webhooks.md names as an integrator would. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { signatureHeaders } from '#app/webhooks/webhookRequest.js';

type SignatureHeaders = ReturnType<typeof signatureHeaders>;

const SNIPPETS = resolve(__dirname, '../../docs/snippets');

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const STAGED = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
const OTHER = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;
const BODY = Buffer.from('{"validated_order":{"notes":"żółć ☕\\n"},"custom_data":{}}');
const TOLERANCE_SECONDS = 300;

type Headers = Partial<SignatureHeaders>;

const unixNow = (): number => Math.floor(Date.now() / 1000);
const signed = (secondsAgo: number, ...secrets: string[]) =>
  signatureHeaders({ body: BODY, messageId: 'd9b2d63d-a233', timestamp: unixNow() - secondsAgo, secrets });
const standard = ({ Signature: _, ...headers }: SignatureHeaders): Headers => headers;
const legacy = ({ Signature }: SignatureHeaders): Headers => ({ Signature });
const withSignature = (change: (value: string) => string): Headers => {
  const headers = standard(signed(0, SECRET));
  return { ...headers, 'webhook-signature': change(headers['webhook-signature'] ?? '') };
};
const without = (name: keyof SignatureHeaders): Headers => ({ ...standard(signed(0, SECRET)), [name]: undefined });

/** Created when a test runs, since they contain the time. */
const cases: readonly [
  what: string,
  expected: 'right' | 'wrong',
  headers: () => Headers,
  secret?: string,
  body?: Buffer,
][] = [
  ['all headers', 'right', () => signed(0, SECRET)],
  ['Signature alone (spec §6.3)', 'right', () => legacy(signed(0, SECRET))],
  ['an empty body', 'wrong', () => signed(0, SECRET), SECRET, Buffer.alloc(0)],
  ['a body of another byte', 'wrong', () => signed(0, SECRET), SECRET, Buffer.from(`${BODY} `)],
  ['another secret', 'wrong', () => signed(0, SECRET), OTHER],
  ['a rotation, the old secret', 'right', () => signed(0, SECRET, STAGED), SECRET],
  ['a rotation, the new secret', 'right', () => signed(0, SECRET, STAGED), STAGED],
  ['a rotation, neither secret', 'wrong', () => signed(0, SECRET, STAGED), OTHER],
  ['six minutes old', 'wrong', () => signed(TOLERANCE_SECONDS + 60, SECRET)],
  ['a new time on an old signature', 'wrong', () => ({ ...signed(400, SECRET), 'webhook-timestamp': `${unixNow()}` })],
  ['no id', 'wrong', () => without('webhook-id')],
  [
    'a right Signature beside an empty webhook-signature',
    'wrong',
    () => ({ ...signed(0, SECRET), 'webhook-signature': '' }),
  ],
  ['an unknown version beside the right one', 'right', () => withSignature((value) => `v1a,abc= ${value}`)],
  ['the right digest under an unknown version', 'wrong', () => withSignature((value) => value.replace('v1,', 'v2,'))],
  ['signatures that are not ASCII', 'wrong', () => withSignature(() => 'v1,żółć')],
  ['Signature in capitals', 'wrong', () => ({ Signature: signed(0, SECRET).Signature.toUpperCase() })],
];

type Program = { readonly command: string; readonly args: readonly string[] };

const languages = [
  { file: 'verify.mjs', tool: 'node', version: '--version' },
  { file: 'verify.py', tool: 'python3', version: '--version' },
  { file: 'verify.java', tool: 'java', version: '--version' },
  { file: 'verify.php', tool: 'php', version: '--version' },
  { file: 'verify.cs', tool: 'mcs', version: '--version' },
  { file: 'verify.go', tool: 'go', version: 'version' },
] as const;

const GO_BUILD_MS = 300_000;

/** Go and C# are compiled once for all tests. */
function prepared(tool: string, file: string, directory: string): Program {
  if (tool !== 'go' && tool !== 'mcs') return { command: tool, args: [file] };
  const program = join(directory, 'verify');
  const built = spawnSync(tool, tool === 'go' ? ['build', '-o', program, file] : [`-out:${program}`, file]);
  if (built.status !== 0) throw new Error(`${tool}: ${built.stderr}`);
  return tool === 'go' ? { command: program, args: [] } : { command: 'mono', args: [program] };
}

async function exitCode({ command, args }: Program, secret: string, headers: Headers, body: Buffer): Promise<number> {
  const lines = Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  const child = spawn(command, [...args, secret, ...lines], { stdio: ['pipe', 'inherit', 'pipe'] });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  child.stdin.end(body);
  const [code] = await once(child, 'close');
  // A crashed program proves nothing about the signature.
  expect(errors).toBe('');
  return Number(code);
}

describe.each(languages)('docs/snippets/$file', ({ file, tool, version }) => {
  const isThere = spawnSync(tool, [version]).status === 0;
  (isThere ? describe : describe.skip)(`run by ${tool}`, () => {
    let directory: string;
    let program: Program;
    beforeAll(async () => {
      directory = await mkdtemp(join(tmpdir(), 'snippets-'));
      program = prepared(tool, join(SNIPPETS, file), directory);
    }, GO_BUILD_MS);
    afterAll(() => rm(directory, { recursive: true, force: true }));

    test.each(cases)('§6.3: %s: %s', async (_what, expected, headers, secret = SECRET, body = BODY) => {
      expect(await exitCode(program, secret, headers(), body)).toBe(expected === 'right' ? 0 : 1);
    });
  });
});
