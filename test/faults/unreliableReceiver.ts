/** An integrator's endpoint at its worst: fails, hangs, resets, answers late or half, and keeps a record of each call. */
import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type Call, Receiver } from '../acceptance/receiver.js';

export type SeenCall = {
  readonly path: string;
  readonly deliveryId: string;
  readonly kind: string;
  readonly sequence: number;
  readonly orderId: string;
  readonly bodyHash: string;
  readonly behaviour: Behaviour;
};

const BEHAVIOURS = ['ok', 'late', 'half', 'error', 'hang', 'reset'] as const;
type Behaviour = (typeof BEHAVIOURS)[number];

/** The status line is the receiver's word; these send a 2xx, though the sender may have left by then. */
export const isAnswered = ({ behaviour }: SeenCall): boolean => ['ok', 'late', 'half'].includes(behaviour);

/** How a path answers the calls of one delivery, from the first on. */
const TEMPERS = {
  '/steady': () => () => 'ok',
  /** Each call as it comes. */
  '/erratic': (random) => () => BEHAVIOURS[Math.floor(random() * BEHAVIOURS.length)] ?? 'ok',
  /** 500 for a while, or for ever: of ten deliveries one never gets through. */
  '/stubborn': (random) => {
    const errors = random() < 0.1 ? Number.POSITIVE_INFINITY : Math.floor(random() * 5);
    return (nth) => (nth > errors ? 'ok' : 'error');
  },
} as const satisfies { readonly [path: string]: (random: () => number) => (nth: number) => Behaviour };
export type UnreliablePath = keyof typeof TEMPERS;

const LATE_MS = { least: 50, most: 300 };

export class UnreliableReceiver {
  readonly calls: SeenCall[] = [];
  readonly #random: () => number;
  readonly #receiver: Receiver;
  readonly #scripts = new Map<string, { calls: number; readonly behaviour: (nth: number) => Behaviour }>();
  #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  private constructor(receiver: Receiver, random: () => number) {
    this.#receiver = receiver;
    this.#random = random;
    for (const path of Object.keys(TEMPERS)) {
      receiver.reply(path, (_nth, call) => (response) => this.#answer(response, call));
    }
  }

  static async start(random: () => number): Promise<UnreliableReceiver> {
    return new UnreliableReceiver(await Receiver.start(), random);
  }

  /** PEM file of its certificate, for WEBHOOK_CA_FILE. */
  get caFile(): string {
    return this.#receiver.caFile;
  }

  url(path: UnreliablePath): string {
    return this.#receiver.url(path);
  }

  /** Resolves when so many different deliveries have been seen. */
  seen(count: number): Promise<void> {
    if (this.#scripts.size >= count) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ count, resolve }));
  }

  stop(): Promise<void> {
    return this.#receiver.stop();
  }

  #answer(response: ServerResponse, call: Call): void {
    const deliveryId = header(call, 'webhook-id');
    const script = this.#script(call.path, deliveryId);
    script.calls += 1;
    const behaviour = script.behaviour(script.calls);
    this.calls.push({
      path: call.path,
      deliveryId,
      kind: header(call, 'webhook-event'),
      sequence: Number(header(call, 'webhook-sequence')),
      orderId: orderIdOf(call.body),
      bodyHash: createHash('sha256').update(call.body).digest('hex'),
      behaviour,
    });
    this.#behave(response, behaviour);
    const reached = this.#waiting.filter(({ count }) => this.#scripts.size >= count);
    this.#waiting = this.#waiting.filter(({ count }) => this.#scripts.size < count);
    for (const { resolve } of reached) resolve();
  }

  #script(path: string, deliveryId: string): { calls: number; readonly behaviour: (nth: number) => Behaviour } {
    if (!isPath(path)) throw new Error(`No webhook has the path ${path}.`);
    const script = this.#scripts.get(deliveryId) ?? { calls: 0, behaviour: TEMPERS[path](this.#random) };
    this.#scripts.set(deliveryId, script);
    return script;
  }

  #behave(response: ServerResponse, behaviour: Behaviour): void {
    switch (behaviour) {
      case 'ok':
        response.writeHead(200).end('{}');
        return;
      case 'late':
        setTimeout(() => response.end('{}'), LATE_MS.least + this.#random() * (LATE_MS.most - LATE_MS.least));
        return;
      case 'half':
        response.writeHead(200, { 'content-length': '1000' }).write('{"half":', () => response.socket?.destroy());
        return;
      case 'error':
        response.writeHead(500).end('out of order');
        return;
      case 'reset':
        response.socket?.destroy();
        return;
      case 'hang':
    }
  }
}

const isPath = (path: string): path is UnreliablePath => Object.hasOwn(TEMPERS, path);

const header = ({ headers }: Call, name: string): string => String(headers[name] ?? '');

function orderIdOf(body: Buffer): string {
  const { validated_order: order } = JSON.parse(body.toString('utf8')) as { validated_order?: { id?: unknown } };
  return String(order?.id);
}
