/** Time with microseconds, and ids that sort by time. */
import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** Milliseconds since the epoch with a fraction; steps of a microsecond or less. */
const nowMs = (): number => performance.timeOrigin + performance.now();

let lastMicros = 0;

/** Now, `2026-11-21T03:11:47.123456Z`. Follows the machine's clock, but never goes backwards within this process. */
export function now(): string {
  const drift = Date.now() - nowMs();
  const micros = Math.floor((Math.abs(drift) > 50 ? Date.now() : nowMs()) * 1000);
  lastMicros = Math.max(lastMicros, micros);
  const millis = Math.floor(lastMicros / 1000);
  return `${new Date(millis).toISOString().slice(0, 23)}${String(lastMicros % 1000).padStart(3, '0')}Z`;
}

const ID_BYTES = 16;
// One call of the random generator serves many ids: a batch takes a thousand at once.
const pool = new Uint8Array(ID_BYTES * 256);
let used = pool.length;

function randomBytes(): Uint8Array {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return pool.slice(used - ID_BYTES, used);
}

const SEQUENCES = 2 ** 31;
let lastMs = 0;
let sequence = 0;

/** UUID version 7 (RFC 9562 §5.7, counter by §6.2 method 1); within a process each is greater than the one before. */
export function newId(): string {
  const random = randomBytes();
  const ms = Date.now();
  if (ms > lastMs) {
    lastMs = ms;
    sequence = new DataView(random.buffer).getUint32(0) >>> 1;
  } else {
    sequence = (sequence + 1) % SEQUENCES;
    if (sequence === 0) lastMs += 1;
  }
  return v7({ random, msecs: lastMs, seq: sequence });
}
