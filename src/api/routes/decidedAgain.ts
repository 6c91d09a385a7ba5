import type { Api } from '../deps.js';
import { answerTo } from '../errors.js';
import type { RequestContext } from '../requestContext.js';

/** Refusals for what is there, or is not. */
const REFUSALS: readonly unknown[] = [404, 409, 412, 422];

/**
 * A write on a log that machines share. It does not ask for the log's end first: if it was decided without what another
 * machine has written, its append conflicts, and it is decided again. What is refused, or changes nothing, appends nothing.
 * Then the log is asked, and if another machine has written for the tenant meanwhile, the write is decided once more.
 */
export async function decidedAgain<Made>(
  { logEnd, unshown, directory }: Api,
  { tenant, deadline }: RequestContext,
  decide: () => Made | Promise<Made>,
): Promise<Made> {
  if (logEnd === undefined || unshown?.lastOf === undefined) return decide();
  const last = unshown.lastOf(tenant.name);
  const isOld = async (): Promise<boolean> => {
    if (deadline.mayHaveWritten || !(await logEnd.reached())) return false;
    return unshown.lastOf?.(tenant.name) !== last || directory.tenant(tenant.name) !== tenant;
  };
  try {
    const made = await decide();
    if (!(await isOld())) return made;
  } catch (error) {
    if (!REFUSALS.includes(answerTo(error)?.status) || !(await isOld())) throw error;
  }
  return decide();
}
