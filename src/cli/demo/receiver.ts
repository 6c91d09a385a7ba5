/** The integrator's side of a webhook: an HTTPS endpoint on this machine that checks the signature. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { EventEmitter, on, once } from 'node:events';
import { createServer, type Server } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { CliError } from '../errors.js';

export type ReceivedWebhook = {
  readonly signature: string;
  readonly body: Buffer;
  readonly receivedAt: number;
};

export class WebhookReceiver {
  readonly #server: Server;
  readonly #received = new EventEmitter<{ webhook: [ReceivedWebhook] }>();
  readonly #webhooks = on(this.#received, 'webhook');

  private constructor(
    server: Server,
    readonly url: string,
    /** PEM text of the certificate, for WEBHOOK_CA_FILE. */
    readonly certificate: string,
  ) {
    this.#server = server.on('request', async (request, response) => {
      const body = await buffer(request);
      response.writeHead(204).end();
      const signature = String(request.headers.signature ?? '');
      this.#received.emit('webhook', { signature, body, receivedAt: performance.now() });
    });
  }

  /** Listens on a free port of 127.0.0.1, with a certificate of its own. */
  static async start(): Promise<WebhookReceiver> {
    const { cert, private: key } = await selfSignedCertificate();
    const server = createServer({ cert, key }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return new WebhookReceiver(server, `https://127.0.0.1:${port}/orders`, cert);
  }

  /** The next webhook that comes in, or came in and was not asked for yet. */
  async next(): Promise<ReceivedWebhook> {
    const { value } = await this.#webhooks.next();
    return value[0];
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
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
