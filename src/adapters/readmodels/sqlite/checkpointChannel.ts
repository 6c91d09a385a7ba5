/** Tells waiting readers of the same process, in whatever thread, what has been committed. */
import { realpathSync } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';
import type { Position } from '../../../ports/eventStore.js';

export type Checkpoints = ReadonlyMap<string, Position>;

/** The file must exist: its real path names the channel. */
export function openCheckpointChannel(file: string): BroadcastChannel {
  const channel = new BroadcastChannel(`dynamic-assets:readmodels:${realpathSync(file)}`);
  channel.unref();
  return channel;
}
