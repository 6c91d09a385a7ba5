/**
 * Checkpoints of publishers: each is the one message of a queue that keeps the last one only. It is stored after the
 * messages that it covers, so a crash in between repeats some and loses none.
 */
import { sleep } from '../../../supervision/waiting.js';
import { browse } from './browse.js';
import { checkpointMessage, positionOf } from './messages.js';
import type { Session } from './session.js';
import { checkpointQueue } from './topology.js';

/** Another process that reads at the same moment holds the message for some milliseconds. */
const READS = 5;
const READ_AGAIN_MS = 40;

export type Checkpoint = { readonly name: string; readonly position: number };

export class Checkpoints {
  /** The furthest that this process has read or stored: it never moves one back behind this. */
  readonly #known = new Map<string, number>();

  /** 0 when there is none. */
  async read(session: Session, name: string): Promise<number> {
    await session.declareCheckpoint(name);
    let position: number | undefined;
    for (let reads = 0; reads < READS && position === undefined; reads++) {
      if (reads > 0) await sleep(READ_AGAIN_MS);
      position = await stored(session, name);
    }
    return this.#advance(name, position ?? 0);
  }

  /** Call it when the messages are stored. */
  async store(session: Session, { name, position }: Checkpoint): Promise<void> {
    const known = this.#known.get(name) ?? (await this.read(session, name));
    if (position <= known) return;
    await session.declareCheckpoint(name);
    await session.send([checkpointMessage(name, position)]);
    this.#advance(name, position);
  }

  #advance(name: string, position: number): number {
    const furthest = Math.max(position, this.#known.get(name) ?? 0);
    this.#known.set(name, furthest);
    return furthest;
  }
}

/** The furthest one of what is there: two, after a crash between storing the next and dropping the last. */
async function stored(session: Session, name: string): Promise<number | undefined> {
  let furthest: number | undefined;
  await browse(session, checkpointQueue(name), 2, async (message) => {
    furthest = Math.max(positionOf(message), furthest ?? 0);
    return 'next';
  });
  return furthest;
}
