/** A tenant that asks for much waits for itself: the backfills of other tenants go on. */
import type { ConsumeOptions, MessageBroker, Outcome, ReceivedMessage } from '#app/ports/messageBroker.js';
import { type ReplayDeps, runReplays } from '#app/webhooks/replays.js';

type Handle = (message: ReceivedMessage) => Promise<Outcome>;

const HANGING = 'hanging';

/** The log does not answer about the position of the tenant `hanging` until it is released. */
async function consuming() {
  let letGo = (): void => undefined;
  const gone = new Promise<boolean>((resolve) => {
    letGo = () => resolve(false);
  });
  let handle: Handle | undefined;
  let concurrency = 0;
  const consume: MessageBroker['consume'] = async (_queue, options: ConsumeOptions, handler) => {
    concurrency = options.concurrency;
    handle = handler;
  };
  const holds = ({ position }: { readonly position: number }) => (position === 1 ? gone : Promise.resolve(false));
  const deps = { commands: { eventStore: { holds } }, broker: { consume } } as unknown as ReplayDeps;
  await runReplays(deps, new AbortController().signal);
  const take = (tenant: string, redeliveries = 0): Promise<Outcome> => {
    const body = {
      task: 'resume',
      tenant,
      webhookId: '0198c1f2-0000-7000-8000-000000000001',
      eventId: '0198c1f2-0000-7000-8000-000000000002',
      position: tenant === HANGING ? 1 : 2,
    };
    if (handle === undefined) throw new Error('Nothing is consumed.');
    return handle({ id: 'm', body, redeliveries });
  };
  return { concurrency: () => concurrency, letGo, take };
}

test('while one piece of work of a tenant goes on, its others are put off, and those of others are done', async () => {
  const { concurrency, letGo, take } = await consuming();
  expect(concurrency()).toBeGreaterThan(1);
  const first = take(HANGING);
  expect(await take(HANGING)).toEqual({ kind: 'retry', delayMs: 20 });
  expect(await take(HANGING, 3)).toEqual({ kind: 'retry', delayMs: 160 });
  expect(await take(HANGING, 50)).toEqual({ kind: 'retry', delayMs: 10_000 });
  expect(await take('acme')).toEqual({ kind: 'done' });
  letGo();
  expect(await first).toEqual({ kind: 'done' });
  expect(await take(HANGING)).toEqual({ kind: 'done' });
});
