/** Secrets are sealed again, also while others write, on real embedded adapters. */
import { openApplication } from '#app/commands/application.js';
import type { Caller } from '#app/commands/context.js';
import {
  endWebhookRotation,
  type NewSecret,
  renewWebhookSecret,
  resealWebhookSecrets,
} from '#app/commands/webhooks/secrets.js';
import { createWebhook } from '#app/commands/webhooks/settings.js';
import type { EventStore } from '#app/ports/eventStore.js';
import { createSecretBox } from '#app/service/keys.js';
import { callerOf, Logged, TENANT } from './logged.js';

const OLD = createSecretBox(Buffer.alloc(32, 1));
const NEW = createSecretBox(Buffer.alloc(32, 2));
const BOTH = createSecretBox(Buffer.alloc(32, 2), Buffer.alloc(32, 1));

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
      renewed = await renewWebhookSecret(under(secretBox), caller, regenerated.id, 'WebhookSecretRegenerated');
    });
    expect(report).toEqual({ ...counts, unopenable: [] });
    expect(opened(NEW, regenerated.id)).toEqual([renewed?.secret, undefined]);
    expect(opened(NEW, other.id)).toEqual([other.secret, undefined]);
  });

  test('a rotation that begins, is promoted, or is taken back', async () => {
    const [begins, ends, taken] = [await create(OLD), await create(OLD), await create(OLD)];
    const staged = [];
    for (const { id } of [ends, taken])
      staged.push(await renewWebhookSecret(under(OLD), caller, id, 'WebhookSecretStaged'));
    let begun: NewSecret | undefined;
    const report = await resealWhile(async () => {
      begun = await renewWebhookSecret(under(OLD), caller, begins.id, 'WebhookSecretStaged');
      await endWebhookRotation(logged.commands, caller, ends.id, 'WebhookSecretPromoted');
      await endWebhookRotation(logged.commands, caller, taken.id, 'WebhookSecretUnstaged');
    });
    expect(report).toEqual({ resealed: 4, current: 0, unopenable: [] });
    expect(opened(NEW, begins.id)).toEqual([begins.secret, begun?.secret]);
    expect(opened(NEW, ends.id)).toEqual([staged[0]?.secret, undefined]);
    expect(opened(NEW, taken.id)).toEqual([taken.secret, undefined]);
  });
});
