/**
 * Several processes share the lanes of one database. Each registers as a projector, sees the others, and takes its
 * share of the lanes: round-robin, in the order of registration. Two processes may disagree for a moment; a lane's
 * lease decides.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Projectors } from '../ports/projectors.js';
import { type Lane, lanesOf } from '../projector/lanes.js';
import { keepRunning } from '../supervision/keepRunning.js';
import { sleep } from '../supervision/waiting.js';

const BEAT_MS = 500;
const BACKOFF = { firstMs: 500, longestMs: 2_000 };
/** After a projector of this process has failed, other processes may try for this time. */
const STANDBY_MS = 10_000;

/** Projects one lane. */
type Projector = { failure(): Error | undefined; stop(): Promise<void> };

/** The lanes of the projector with this id, given all projectors in order. */
export const shareOf = (lanes: readonly Lane[], projectors: readonly string[], id: string): readonly Lane[] =>
  lanes.filter(({ index }) => projectors[index % projectors.length] === id);

/** @param start starts to project a lane; calls `onFailure` on each failure */
export function shareLanes(
  projectors: Projectors,
  wanted: number,
  start: (lane: Lane, onFailure: () => void) => Projector,
  log: Logger,
): Projector {
  const id = randomUUID();
  const stopping = new AbortController();
  const running = new Map<number, { readonly projector: Projector; ended?: Promise<void> }>();
  let standbyUntil = 0;
  let away: Error | undefined;
  let logged: string | undefined;

  /** Another process may take over once it has ended: everything begun is committed by then. */
  const end = (index: number): Promise<void> | undefined => {
    const own = running.get(index);
    if (own !== undefined) own.ended ??= own.projector.stop().then(() => void running.delete(index));
    return own?.ended;
  };
  const take = (lanes: readonly Lane[]): void => {
    const own = new Set(lanes.map(({ index }) => index));
    for (const index of running.keys()) if (!own.has(index)) void end(index);
    const onFailure = (): void => {
      standbyUntil = performance.now() + STANDBY_MS;
    };
    for (const lane of lanes)
      if (!running.has(lane.index)) running.set(lane.index, { projector: start(lane, onFailure) });
  };
  const logShare = (shared: {
    readonly lanes: readonly number[];
    readonly of: number;
    readonly projectors: number;
  }): void => {
    if (logged === String(shared.lanes)) return;
    logged = String(shared.lanes);
    log.info(shared, shared.lanes.length === 0 ? 'others project; this one stands by' : 'this process projects');
  };
  const share = async (succeeded: () => void): Promise<void> => {
    const lanes = lanesOf(await projectors.settleLanes(wanted));
    while (!stopping.signal.aborted) {
      await (performance.now() < standbyUntil ? projectors.leave(id) : projectors.beat(id));
      const others = await projectors.alive();
      if (stopping.signal.aborted) return;
      const own = shareOf(lanes, others.length === 0 ? [id] : others, id);
      take(own);
      logShare({ lanes: own.map(({ index }) => index + 1), of: lanes.length, projectors: others.length });
      away = undefined;
      succeeded();
      await sleep(BEAT_MS, stopping.signal);
    }
  };
  const ended = keepRunning(share, {
    signal: stopping.signal,
    backoff: BACKOFF,
    onFailure({ error, failures }) {
      away = error instanceof Error ? error : new Error(String(error));
      if (failures === 1)
        log.warn({ err: error }, 'who else projects is not known; this process goes on with its lanes');
    },
  });
  return {
    failure: () => [...running.values()].map(({ projector }) => projector.failure()).find(isFailure) ?? away,
    async stop() {
      stopping.abort();
      await ended;
      // It expires by itself if the server is away.
      await projectors.leave(id).catch(() => undefined);
      await Promise.all([...running.keys()].map(end));
      await projectors.close();
    },
  };
}

const isFailure = (failure: Error | undefined): boolean => failure !== undefined;
