/** Delays the answer to a write until reads show it. */
import type { Request } from 'express';
import { continueTrace, inSpans, traceparentOf } from '../../ports/tracing.js';
import type { Api } from '../deps.js';
import type { Reply } from './operation.js';

/**
 * True if the answer need not wait because reads will. Otherwise whether the read models show the write in time. If
 * they do not, or cannot be reached, the write stands and the answer has the header `Projection-Pending: true`.
 */
export function shownByReads(api: Api, { context }: Request, { written = 0, changed }: Reply): true | Promise<boolean> {
  if (written === 0) return true;
  const { pendingWrites, config, log, tracer, readModels } = api;
  const tenant = context.tenantName ?? '';
  const until = async (limitMs: number): Promise<boolean> => {
    const span = continueTrace(tracer, traceparentOf(context.span), 'wait until visible', {});
    const wait = async () => {
      const isShown = await readModels.waitForEvent('records', written, limitMs, context.tenantName);
      span?.setAttribute('dynamic_assets.visible', isShown);
      return isShown;
    };
    try {
      return span === undefined ? await wait() : await inSpans([span], wait);
    } catch (error) {
      log.warn({ err: error, position: written }, 'written, but the read models cannot tell whether they show it');
      return false;
    }
  };
  if (pendingWrites === undefined || changed === undefined) return withinWait(until(config.projectionWaitMs));
  const { part, isFew } = changed;
  if (isFew && pendingWrites.hasRoom(tenant, part)) {
    pendingWrites.add(tenant, part, until(Number.POSITIVE_INFINITY));
    return true;
  }
  const shown = until(config.projectionWaitMs);
  return withinWait(isFew ? shown : pendingWrites.during(tenant, part, shown));

  function withinWait(shown: Promise<boolean>): Promise<boolean> {
    return context.deadline.within(shown).catch(() => false);
  }
}
