/** The thread of the tree over the log. */
import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { newId } from '#app/commands/clock.js';
import { REPOSITORY, Workplace } from '../cli/cli.js';

it('a question that comes while it starts is answered, and it goes on', async () => {
  const workplace = await Workplace.make();
  await workplace.json(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order']);
  const workerData = {
    DATA_DIR: join(workplace.directory, 'data'),
    DURABILITY: 'full',
    EVENTSTORE_URL: undefined,
    CHECKPOINT_MINUTES: 60,
    CHECKPOINT_DIR: undefined,
  };
  const thread = new Worker(join(REPOSITORY, 'dist/service/audit.worker.js'), { workerData });
  const received: { readonly kind: string }[] = [];
  const ended = once(thread, 'exit');
  thread.on('message', (message) => {
    received.push(message);
    if (message.kind === 'answered') thread.postMessage('stop');
  });
  thread.postMessage({ request: 1, question: { kind: 'proof', eventId: newId(), tenant: 'acme' } });
  await ended;
  expect(received).toContainEqual({ kind: 'answered', request: 1, answer: 'unknown' });
  expect(received.map(({ kind }) => kind)).not.toContain('failed');
  await workplace.remove();
});
