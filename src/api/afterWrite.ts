import type { Response } from 'express';
import type { Position } from '../ports/eventStore.js';
import type { ApiDeps } from './deps.js';

/**
 * Waits until the read models show a write. The write stands in any case: where they do not show it in
 * time, or cannot be reached, the answer says so with the header `Projection-Pending: true`.
 * @param position of the write; 0 when there was nothing to write
 */
export async function settle(
  { readModels, config, log }: Pick<ApiDeps, 'readModels' | 'config' | 'log'>,
  res: Response,
  position: Position,
): Promise<void> {
  if (position === 0) return;
  const shown = await readModels.waitFor('records', position, config.projectionWaitMs).catch((error: unknown) => {
    log.warn({ err: error, position }, 'written, but the read models cannot tell whether they show it');
    return false;
  });
  if (!shown) res.setHeader('Projection-Pending', 'true');
}
