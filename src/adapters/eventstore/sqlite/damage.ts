/** Checks the event log's file before it is used. */
import { EventLogDamagedError } from '../../../ports/eventStore.js';
import { damageOf } from '../../damagedFiles.js';
import type { Durability } from './schema.js';

/** @throws EventLogDamagedError */
export function refuseDamagedLog(file: string, durability: Durability): void {
  // Without an fsync per commit, a power cut may lose commits from the middle of the unsynchronised ones.
  const damage = damageOf(file, { isOnlyRead: true, mayLackCommits: durability === 'normal' });
  if (damage !== undefined) throw new EventLogDamagedError(file, damage);
}
