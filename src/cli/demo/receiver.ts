/** The integrator's side of a webhook: an HTTPS endpoint on this machine that checks the signature. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { CliError } from '../errors.js';

export type ReceivedWebhook = {
  readonly signature: string;
  readonly body: Buffer;
  readonly receivedAt: number;
};

export class WebhookReceiver {
  readonly #server: Server;
  readonly #waiting: ((webhook: ReceivedWebhook) => void)[] = [];
  readonly #received: ReceivedWebhook[] = [];

  private constructor(
    server: Server,
    readonly url: string,
    /** PEM text of the certificate, for WEBHOOK_CA_FILE. */
    readonly certificate: string,
  ) {
    this.#server = server;
  }

  /** Listens on a free port of 127.0.0.1, with a certificate of its own. */
  static async start(): Promise<WebhookReceiver> {
    const { cert, private: key } = await selfSignedCertificate();
    const server = createServer({ cert, key });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const receiver = new WebhookReceiver(server, `https://127.0.0.1:${port}/orders`, cert);
    server.on('request', (request, response) => receiver.#take(request, response));
    return receiver;
  }

  /** The next webhook that comes in, or came in and was not asked for yet. */
  next(): Promise<ReceivedWebhook> {
    const received = this.#received.shift();
    return received === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(received);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const signature = request.headers.signature;
      const webhook = {
        signature: typeof signature === 'string' ? signature : '',
        body: Buffer.concat(chunks),
        receivedAt: performance.now(),
      };
      response.writeHead(204).end();
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#received.push(webhook);
      else waiting(webhook);
    });
  }
}

/** HMAC-SHA256 of the raw body in hex must equal the Signature header. Takes the same time wherever they differ. */
export function isSignedWith(secret: string, { signature, body }: ReceivedWebhook): boolean {
  const expected = Buffer.from(createHmac('sha256', secret).update(body).digest('hex'));
  const given = Buffer.from(signature);
  return expected.length === given.length && timingSafeEqual(expected, given);
}

async function selfSignedCertificate(): Promise<{ readonly cert: string; readonly private: string }> {
  const { generate } = await import('selfsigned').catch(() => {
    throw new CliError('The demo needs the package selfsigned: run "npm install" without --omit=dev.');
  });
  return generate([{ name: 'commonName', value: '127.0.0.1' }], {
    algorithm: 'sha256',
    keyType: 'ec',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
    ],
  });
}
