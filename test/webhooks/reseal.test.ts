/** Secrets are sealed again, also while others write, on real embedded adapters. */
import { openApplication } from '#app/commands/application.js';
import { type Caller, UnopenableSecretError } from '#app/commands/context.js';
import {
  type NewSecret,
  promoteWebhookSecret,
  regenerateWebhookSecret,
  resealWebhookSecrets,
  stageWebhookSecret,
  unstageWebhookSecret,
} from '#app/commands/webhooks/secrets.js';
import { createWebhook, removeWebhook } from '#app/commands/webhooks/settings.js';
import { webhooksStream } from '#app/domain/streams.js';
import type { EventStore } from '#app/ports/eventStore.js';
import { createSecretBox } from '#app/service/secretBox.js';
import { callerOf, Logged, TENANT } from './logged.js';

const OLD = createSecretBox(Buffer.alloc(32, 1));
const NEW = createSecretBox(Buffer.alloc(32, 2));
const BOTH = createSecretBox(Buffer.alloc(32, 2), Buffer.alloc(32, 1));
const LOST = createSecretBox(Buffer.alloc(32, 3));

const caller: Caller = callerOf(TENANT);
let logged: Logged;
beforeEach(async () => {
  logged = await Logged.open();
});
afterEach(() => logged.close());

const under = (secretBox: typeof OLD) => ({ ...logged.commands, secretBox });
const create = (secretBox: typeof OLD) =>
  createWebhook(under(secretBox), caller, { url: 'https://erp.example.com/' }, async () => undefined);
const reseal = () => resealWebhookSecrets(under(BOTH), caller);
const webhook = (id: string) => logged.commands.directory.tenant(TENANT)?.webhooks.get(id);
/** Primary and staged secret. */
const opened = (secretBox: typeof OLD, id: string) =>
  [webhook(id)?.sealedSecret, webhook(id)?.stagedSecret].map((sealed) => sealed && secretBox.open(sealed));
const resealedEvents = async () =>
  (await logged.commands.eventStore.readStream(webhooksStream(TENANT)))
    .filter(({ type }) => type === 'WebhookSecretsResealed')
    .map(({ data }) => data);

test('only what is under another key is sealed anew; the rotation goes on; again there is nothing to do', async () => {
  const single = await create(OLD);
  const rotating = await create(OLD);
  const staged = await stageWebhookSecret(under(OLD), caller, rotating.id);
  const half = await create(OLD);
  const stagedUnderNew = await stageWebhookSecret(under(NEW), caller, half.id);
  const current = await create(NEW);

  expect(await reseal()).toEqual({ resealed: 4, current: 2, unopenable: [] });
  const sealedSecret = expect.stringMatching(/^v1\./);
  expect(await resealedEvents()).toEqual([
    { id: single.id, sealedSecret },
    { id: rotating.id, sealedSecret, sealedStagedSecret: sealedSecret },
    { id: half.id, sealedSecret },
  ]);
  expect(opened(NEW, single.id)).toEqual([single.secret, undefined]);
  expect(opened(NEW, rotating.id)).toEqual([rotating.secret, staged.secret]);
  expect(opened(NEW, half.id)).toEqual([half.secret, stagedUnderNew.secret]);
  expect(opened(NEW, current.id)).toEqual([current.secret, undefined]);
  expect(() => opened(OLD, single.id)).toThrow(UnopenableSecretError);

  const log = JSON.stringify(await logged.commands.eventStore.readStream(webhooksStream(TENANT)));
  for (const { secret } of [single, rotating, staged, half, current])
    expect(log).not.toContain(secret.slice('whsec_'.length));

  const head = await logged.head();
  expect(await reseal()).toEqual({ resealed: 0, current: 6, unopenable: [] });
  expect(await logged.head()).toBe(head);
  await promoteWebhookSecret(under(NEW), caller, rotating.id);
  expect(opened(NEW, rotating.id)).toEqual([staged.secret, undefined]);
});

test('what no key opens is told and left as it is; the rest is sealed anew', async () => {
  const lost = await create(LOST);
  const half = await create(LOST);
  const staged = await stageWebhookSecret(under(OLD), caller, half.id);
  const before = webhook(lost.id);
  expect(await reseal()).toEqual({
    resealed: 1,
    current: 0,
    unopenable: [lost, half].map(({ id }) => ({ tenant: TENANT, webhookId: id, which: 'primary' })),
  });
  expect(webhook(lost.id)).toEqual(before);
  expect(await resealedEvents()).toEqual([{ id: half.id, sealedStagedSecret: expect.any(String) }]);
  expect(NEW.open(webhook(half.id)?.stagedSecret ?? '')).toBe(staged.secret);
});

/** Runs `meanwhile` after a reseal has decided, just before its first append. */
async function resealWhile(meanwhile: () => Promise<unknown>): ReturnType<typeof reseal> {
  const { eventStore } = logged.commands;
  let interrupt: (() => Promise<unknown>) | undefined = meanwhile;
  const interrupted: EventStore = Object.assign(Object.create(eventStore), {
    readSlice: eventStore.readSlice.bind(eventStore),
    readStream: eventStore.readStream.bind(eventStore),
    append: async (...[stream, events, expected]: Parameters<EventStore['append']>) => {
      const now = interrupt;
      interrupt = undefined;
      await now?.();
      return eventStore.append(stream, events, expected);
    },
  });
  // The command line is a process of its own.
  const { streamChanges } = openApplication(logged.commands);
  return resealWebhookSecrets({ ...under(BOTH), eventStore: interrupted, streamChanges }, caller);
}

describe('what happens between the decision and the append is never undone', () => {
  test.each([
    ['under the new key', NEW, { resealed: 1, current: 1 }],
    ['by a process that still seals under the old one', OLD, { resealed: 2, current: 0 }],
  ])('a secret that is regenerated %s', async (_, secretBox, counts) => {
    const [regenerated, other] = [await create(OLD), await create(OLD)];
    let renewed: NewSecret | undefined;
    const report = await resealWhile(async () => {
      renewed = await regenerateWebhookSecret(under(secretBox), caller, regenerated.id);
    });
    expect(report).toEqual({ ...counts, unopenable: [] });
    expect(opened(NEW, regenerated.id)).toEqual([renewed?.secret, undefined]);
    expect(opened(NEW, other.id)).toEqual([other.secret, undefined]);
  });

  test('a rotation that begins, is promoted, or is taken back', async () => {
    const [begins, ends, taken] = [await create(OLD), await create(OLD), await create(OLD)];
    const staged = [];
    for (const { id } of [ends, taken]) staged.push(await stageWebhookSecret(under(OLD), caller, id));
    let begun: NewSecret | undefined;
    const report = await resealWhile(async () => {
      begun = await stageWebhookSecret(under(OLD), caller, begins.id);
      await promoteWebhookSecret(logged.commands, caller, ends.id);
      await unstageWebhookSecret(logged.commands, caller, taken.id);
    });
    expect(report).toEqual({ resealed: 4, current: 0, unopenable: [] });
    expect(opened(NEW, begins.id)).toEqual([begins.secret, begun?.secret]);
    expect(opened(NEW, ends.id)).toEqual([staged[0]?.secret, undefined]);
    expect(opened(NEW, taken.id)).toEqual([taken.secret, undefined]);
  });

  test('a webhook that is removed', async () => {
    const { id } = await create(OLD);
    expect(await resealWhile(() => removeWebhook(logged.commands, caller, id))).toMatchObject({ resealed: 0 });
    expect(webhook(id)).toBeUndefined();
    expect(await resealedEvents()).toEqual([]);
  });
});
