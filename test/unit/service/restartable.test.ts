import type { IncomingMessage, ServerResponse } from 'node:http';
import { pino } from 'pino';
import { whileStarting } from '#app/api/health.js';
import { Restartable } from '#app/service/restartable.js';
import { StartProgress } from '#app/service/startProgress.js';

const log = pino({ level: 'silent' });
const progress = new StartProgress();
const meanwhile = whileStarting(progress.text);

/** What is answered to a request for the path. */
function answerOf(running: Restartable<Parts>, url: string): { status: number; body: unknown } {
  let status = 0;
  let text = '';
  const answer = {
    writeHead: (code: number) => {
      status = code;
    },
    end: (body: string) => {
      text = body;
    },
  };
  running.listener({ url } as IncomingMessage, answer as unknown as ServerResponse<IncomingMessage>);
  return { status, body: JSON.parse(text) };
}

type Parts = { readonly app: (req: IncomingMessage, res: ServerResponse) => void; close(): Promise<void> };

test('a service that is not open yet is alive and not ready, and serves as soon as it is', async () => {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const parts: Parts = {
    app: (_req, res) => {
      res.writeHead(200);
      res.end('"served"');
    },
    close: async () => undefined,
  };
  const running = new Restartable<Parts>(() => opened.then(() => parts), meanwhile, log);
  const started = running.start();
  expect(answerOf(running, '/health/live')).toEqual({ status: 200, body: { status: 'live' } });
  expect(answerOf(running, '/health/ready')).toMatchObject({ status: 503, body: { ready: false } });
  expect(answerOf(running, '/api/v1/platform/orders')).toMatchObject({
    status: 503,
    body: { message: expect.any(String), error: 'The service starts.' },
  });
  progress.directory(() => ({ position: 400, of: 1_500_000 }));
  const detail = 'The service starts. The directory of tenants is at position 400 of 1500000.';
  expect(answerOf(running, '/health/ready').body).toMatchObject({ checks: { event_store: { ok: false, detail } } });
  open();
  await started;
  expect(answerOf(running, '/health/live')).toEqual({ status: 200, body: 'served' });
  await running.stop();
});

test('what opening throws is thrown by the start, and nothing is left to close', async () => {
  const running = new Restartable<Parts>(() => Promise.reject(new Error('no log')), meanwhile, log);
  await expect(running.start()).rejects.toThrow('no log');
  await running.stop();
});
