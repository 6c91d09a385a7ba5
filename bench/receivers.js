/** Receivers of webhooks in a thread of their own. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';

const FILE = new URL('./deliveries/receivers.worker.js', import.meta.url);
const CERTIFICATE = new URL('../test/fixtures/certificates/', import.meta.url);

export class Receivers {
  #worker;
  #port;

  /** @param certificate PEM text, for WEBHOOK_CA_FILE */
  constructor(worker, port, certificate) {
    this.#worker = worker;
    this.#port = port;
    this.certificate = certificate;
  }

  static async start() {
    const [cert, key] = await Promise.all(
      ['localhost.cert.pem', 'localhost.key.pem'].map((name) => readFile(new URL(name, CERTIFICATE), 'utf8')),
    );
    const worker = new Worker(FILE, { workerData: { cert, key } });
    const [{ port }] = await once(worker, 'message');
    return new Receivers(worker, port, cert);
  }

  url(path) {
    return `https://127.0.0.1:${this.#port}${path}`;
  }

  /**
   * Lets `work` lead to so many successful deliveries.
   * @returns milliseconds from its beginning to the arrival of the last call
   */
  async delivered(count, work) {
    await this.#ask({ kind: 'await', count });
    const arrived = once(this.#worker, 'message');
    const start = performance.timeOrigin + performance.now();
    await work();
    const [{ arrivedAt }] = await arrived;
    return arrivedAt - start;
  }

  /** What came since `delivered` began: each delivery once, with its first body and its last arrival. */
  async calls() {
    return this.#ask({ kind: 'calls' });
  }

  async stop() {
    await this.#worker.terminate();
  }

  async #ask(command) {
    const answer = once(this.#worker, 'message');
    this.#worker.postMessage(command);
    return (await answer)[0];
  }
}
