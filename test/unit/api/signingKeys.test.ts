import { ensureSigningKeys, rotateSigningKey } from '#app/commands/identity/signingKeys.js';
import { verifyingKeys } from '#app/domain/identity/signingKeys.js';
import { SIGNING_KEYS_STREAM } from '#app/domain/streams.js';
import { SigningKeyLog } from '../signingKeyLog.js';

const OPERATOR = { kind: 'operator', id: 'ann' } as const;

let log: SigningKeyLog;
beforeEach(async () => {
  log = new SigningKeyLog();
  await ensureSigningKeys(log.commands());
});
const rotate = (isRevoking = false) => rotateSigningKey(log.commands(1), OPERATOR, isRevoking);

test('of two processes that make the first key at once, the first one counts for both', async () => {
  const empty = new SigningKeyLog();
  empty.log.beforeAppend(SIGNING_KEYS_STREAM, () => ensureSigningKeys(empty.commands()));
  expect(await ensureSigningKeys(empty.commands())).toBe(0);
  expect(empty.log.stream(SIGNING_KEYS_STREAM)).toHaveLength(1);
});

test('a new key signs at once, and a process that has not heard of it looks for it in the log', async () => {
  const [one, other] = [log.process(1), log.process(1)];
  const before = one.issue();
  await rotate();
  one.look();
  const after = one.issue();
  expect(one.signer()).not.toBe(other.signer());
  for (const token of [before, after])
    expect(await other.tokens.verify('client', token)).toMatchObject({ tenant: 'acme' });
  expect(other.signer()).toBe(one.signer());
});

test('an earlier key verifies for the time of the overlap, and no longer', async () => {
  const process = log.process(1);
  await rotate();
  const verifying = (hours: number) => verifyingKeys(log.stored(), Date.now() + hours * 3_600_000);
  expect(verifying(0).map(({ kid }) => kid)[1]).toBe(process.signer());
  expect([24.9, 25.1].map((hours) => verifying(hours).length)).toEqual([2, 1]);
});

test('while a process cannot open the latest key, an earlier one signs, and the log says so once', async () => {
  const process = log.process(1);
  const kid = process.signer();
  const secretBox = log.commands(2).secretBox;
  const both = { ...secretBox, open: log.commands(1).secretBox.open };
  const rotated = await rotateSigningKey({ ...log.access, secretBox: both }, OPERATOR, false);
  process.look();
  expect([process.signer(), process.signer()]).toEqual([kid, kid]);
  expect(process.unopenable).toEqual([rotated.kid]);
});
