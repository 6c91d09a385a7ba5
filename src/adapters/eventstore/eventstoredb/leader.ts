import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { sleep } from '../../../supervision/waiting.js';
import type { AppendingClient } from './appendingClient.js';
import type { Connection } from './connection.js';
import { isTransient, LeaderChangedError, NoLeaderError } from './errors.js';
import { Members } from './members.js';

/** After this time a call is overdue, and the nodes are asked which one leads, in milliseconds. */
const OVERDUE_MS = 1_500;
/** Time between two such questions, in milliseconds. */
const ASK_AGAIN_MS = 100;

/** The node that led when it was looked up. */
export class LeadingNode {
  readonly client: AppendingClient;
  #left: LeaderChangedError | undefined;
  readonly #callbacks = new Set<(changed: LeaderChangedError) => void>();

  constructor(client: AppendingClient) {
    this.client = client;
  }

  /** Calls back when another node leads. @returns a function that unregisters the callback */
  onLeft(callback: (changed: LeaderChangedError) => void): () => void {
    if (this.#left !== undefined) callback(this.#left);
    this.#callbacks.add(callback);
    return () => this.#callbacks.delete(callback);
  }

  leave(): void {
    this.#left = new LeaderChangedError();
    for (const callback of this.#callbacks) callback(this.#left);
  }
}

/**
 * Finds the leader's client. When a call fails or is overdue, all nodes are asked which one leads: a leader whose
 * machine hangs keeps its connections and stays silent. With a single server there is nothing to ask.
 */
export class Leader {
  readonly #members: Members | undefined;
  #node: LeadingNode | undefined;
  #asking: Promise<void> | undefined;
  #askedAt = 0;

  constructor({ nodes }: Pick<Connection, 'nodes'>) {
    if (nodes.kind === 'cluster') this.#members = new Members(nodes);
    else this.#node = new LeadingNode(nodes.client);
  }

  /**
   * The result of the call.
   * @throws what the call throws; LeaderChangedError if another node leads before the call has ended; NoLeaderError
   */
  async run<T>(call: (client: AppendingClient) => Promise<T>): Promise<T> {
    const node = await this.node();
    let release = (): void => undefined;
    const left = new Promise<never>((_, reject) => {
      release = node.onLeft(reject);
    });
    const askAgain = (): void => {
      void this.#ask();
      overdue = setTimeout(askAgain, ASK_AGAIN_MS);
    };
    let overdue = this.#members && setTimeout(askAgain, OVERDUE_MS);
    try {
      return await Promise.race([call(node.client), left]);
    } catch (error) {
      if (isTransient(error)) void this.#ask();
      throw error;
    } finally {
      clearTimeout(overdue);
      release();
    }
  }

  /** @throws NoLeaderError */
  async node(): Promise<LeadingNode> {
    if (this.#node !== undefined) return this.#node;
    await this.#ask();
    if (this.#node === undefined) throw new NoLeaderError(this.#members?.failure);
    // When its channel is closed under a read, the library throws where it cannot be caught. That happens in the turn
    // of the event loop in which another call fails, so this one begins in a new turn.
    await eventLoopTurn();
    return this.#node;
  }

  async close(): Promise<void> {
    await (this.#members?.close() ?? this.#node?.client.dispose());
  }

  /** Looks up the leader and switches to it. One look-up at a time, at least ASK_AGAIN_MS apart. */
  #ask(): Promise<void> {
    this.#asking ??= this.#askMembers().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #askMembers(): Promise<void> {
    if (this.#members === undefined) return;
    await sleep(Math.max(0, this.#askedAt + ASK_AGAIN_MS - Date.now()));
    this.#askedAt = Date.now();
    const client = await this.#members.leader(this.#node?.client);
    if (client === undefined || client === this.#node?.client) return;
    const left = this.#node;
    this.#node = new LeadingNode(client);
    left?.leave();
  }
}
