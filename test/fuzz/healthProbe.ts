/** Watches from aside whether the service still answers while a test does its worst. */
import { once } from 'node:events';
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';

const report = z.object({
  probes: z.int(),
  /** What came instead of 200, one text each. */
  failures: z.array(z.string()),
  worstMs: z.number(),
  /** When the worst one was asked, since the start. */
  worstAtMs: z.number(),
});
export type ProbeReport = z.output<typeof report>;

/** In a thread of its own, so that what the test itself computes does not count. */
export class HealthProbe {
  readonly #worker: Worker;

  constructor(port: number) {
    this.#worker = new Worker(resolve('test/fuzz/healthProbe.worker.mjs'), { workerData: { port } });
  }

  async stop(): Promise<ProbeReport> {
    this.#worker.postMessage('stop');
    const [seen] = await once(this.#worker, 'message');
    return report.parse(seen);
  }
}
