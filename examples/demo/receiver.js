/** The integrator's side of a webhook: an HTTPS endpoint on this machine that checks the signature. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { EventEmitter, on, once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { buffer } from 'node:stream/consumers';

/** Of 127.0.0.1, good until 2126. */
const CERTIFICATE = new URL('../../test/fixtures/certificates/', import.meta.url);

export class WebhookReceiver {
  #server;
  #received = new EventEmitter();
  #webhooks = on(this.#received, 'webhook');

  /** @param certificate PEM text, for WEBHOOK_CA_FILE */
  constructor(server, certificate) {
    this.certificate = certificate;
    this.url = `https://127.0.0.1:${server.address().port}/orders`;
    this.#server = server.on('request', async (request, response) => {
      const body = await buffer(request);
      response.writeHead(204).end();
      const signature = String(request.headers.signature ?? '');
      this.#received.emit('webhook', { signature, body, receivedAt: performance.now() });
    });
  }

  /** Listens on a free port of 127.0.0.1, with a certificate that is its own authority. */
  static async start() {
    const [cert, key] = await Promise.all(
      ['localhost.cert.pem', 'localhost.key.pem'].map((name) => readFile(new URL(name, CERTIFICATE), 'utf8')),
    );
    const server = createServer({ cert, key }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new WebhookReceiver(server, cert);
  }

  /** Resolves to the next webhook: `{ signature, body, receivedAt }`. None is lost between two calls. */
  async next() {
    const { value } = await this.#webhooks.next();
    return value[0];
  }

  async stop() {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** HMAC-SHA256 of the raw body in hex must equal the Signature header. Compares in constant time. */
export function isSignedWith(secret, { signature, body }) {
  const expected = Buffer.from(createHmac('sha256', secret).update(body).digest('hex'));
  const given = Buffer.from(signature);
  return expected.length === given.length && timingSafeEqual(expected, given);
}
