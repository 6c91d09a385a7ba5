/** Secrets are sealed again, also while others write, on real embedded adapters. */
import { openApplication } from '#app/commands/application.js';
import type { Caller } from '#app/commands/context.js';
import {
  createWebhook,
  type NewSecret,
  resealWebhookSecrets,
  rotateWebhookSecret,
} from '#app/commands/webhooks/settings.js';
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
const opened = (secretBox: typeof OLD, id: string) => secretBox.open(webhook(id)?.sealedSecret ?? '');

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

test.each([
  ['under the new key', NEW, 1],
  ['by a process that still seals under the old one', OLD, 2],
])('a secret that is rotated %s between the decision and the append stays', async (_, secretBox, resealed) => {
  const [rotated, other] = [await create(OLD), await create(OLD)];
  let renewed: NewSecret | undefined;
  const count = await resealWhile(async () => {
    renewed = await rotateWebhookSecret(under(secretBox), caller, rotated.id);
  });
  expect(count).toBe(resealed);
  expect(opened(NEW, rotated.id)).toBe(renewed?.secret);
  expect(opened(NEW, other.id)).toBe(other.secret);
});
