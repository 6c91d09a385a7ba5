/** The export of an order over the API. */

import { NotFoundError } from '../../commands/context.js';
import { recordAccess } from '../../commands/identity/access.js';
import { recordId } from '../../commands/tables.js';
import { MAX_EXPORT_BYTES } from '../../domain/limits.js';
import { AnswerTooLargeError } from '../../queries/storedRecord.js';
import { untilShown } from '../assets/moments.js';
import { replaySource } from '../assets/replay.js';
import type { Api } from '../deps.js';
import { unavailable } from '../errors.js';
import type { Call, Reply } from '../routes/operation.js';
import { ArchiveTooLargeError, type ExportSource, orderExport } from './orderExport.js';

const ZIP_TYPE = 'application/zip';

/** Documentation of an export. */
export const exportOfOrder = {
  work: 'costly',
  summary: 'An order for a dispute: its replay, its events, their proofs, and what checks them',
  description:
    'A ZIP archive: the replay as JSON and as a page, the events of the order and of its deliveries to the byte, a proof of each, the last checkpoint with its key, programs that check them, and HOW-TO-CHECK.md, which says how and what it does not prove. Events that no checkpoint covers yet have no proof. That somebody exported it is an entry of the activity. 503 while the service makes the tree.',
  answer: {
    description: 'The archive.',
    headers: { 'Content-Disposition': { description: 'Its name.', schema: { type: 'string' } } },
    content: { [ZIP_TYPE]: { schema: { type: 'string', format: 'binary' } } },
  },
} as const;

const notReady = () => unavailable('The tree over the log is not made yet.');

/** The export is noted when it is made, before anything of it is sent; one that cannot be noted is refused. */
export async function exportReply(api: Api, { req, caller, tenant, path }: Call): Promise<Reply> {
  const { commands, exportParts } = api;
  const orderId = recordId(tenant.orderModel, path.id);
  const cancellation = req.context.deadline;
  const order = await commands.orders.load(tenant.name, orderId, cancellation);
  if (order === undefined) throw new NotFoundError(`There is no order ${orderId}.`);
  const checkpoint = await exportParts.checkpoint();
  if (checkpoint === undefined) throw notReady();
  const signed = checkpoint === 'none' ? undefined : checkpoint;
  await untilShown(api, tenant.name);
  const source: ExportSource = {
    ...replaySource(api, tenant.name),
    checkpoint: signed,
    async prove(stream, from) {
      const found = await exportParts.prove(stream, from, signed?.note);
      if (found === undefined) throw notReady();
      return found;
    },
  };
  const { deliveryLogDays } = exportParts;
  const maxBytes = MAX_EXPORT_BYTES;
  const exported = { tenant, orderId, exportedAt: commands.now(), deliveryLogDays, maxBytes, cancellation };
  const body: Uint8Array[] = [];
  try {
    for await (const piece of orderExport(source, exported)) body.push(piece);
  } catch (error) {
    throw error instanceof ArchiveTooLargeError ? new AnswerTooLargeError(error.message) : error;
  }
  await recordAccess(commands, caller, [{ type: 'OrderExported', data: { orderId } }]);
  const headers = {
    'Content-Type': ZIP_TYPE,
    'Content-Disposition': `attachment; filename="order-${orderId}.zip"`,
  };
  return { body: Buffer.concat(body), headers };
}
