/**
 * The export of an order for a dispute: a ZIP archive with its replay, its events and those of its deliveries to the byte,
 * their proofs, and what is needed to check them without the service.
 */

import { readFile } from 'node:fs/promises';
import { Zip, ZipDeflate } from 'fflate';
import { NotFoundError } from '../../commands/context.js';
import { recordAccess } from '../../commands/identity/access.js';
import { loadOrder } from '../../commands/orders/loadOrder.js';
import { recordId } from '../../commands/tables.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { MAX_EXPORT_BYTES, MAX_EXPORT_EVENTS } from '../../domain/limits.js';
import { deliveryStream, orderStream } from '../../domain/streams.js';
import type { Revision } from '../../ports/eventStore.js';
import { AnswerTooLargeError } from '../../queries/storedRecord.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { untilShown } from '../assets/moments.js';
import { replaySteps } from '../assets/replay.js';
import type { Api } from '../deps.js';
import { unavailable } from '../errors.js';
import type { Call, Reply } from '../routes/operation.js';
import { howToCheck } from './howToCheck.js';

const ZIP_TYPE = 'application/zip';

/** Documentation of an export. */
export const exportOfOrder = {
  work: 'costly',
  summary: 'An order for a dispute: its replay, its events, their proofs, and what checks them',
  description:
    'A ZIP archive: the replay as JSON, the events of the order and of its deliveries to the byte, a proof of each, the last checkpoint with its key, programs that check them, and HOW-TO-CHECK.md, which says how and what it does not prove. Events that no checkpoint covers yet have no proof. That somebody exported it is an entry of the activity. 503 while the service makes the tree.',
  answer: {
    description: 'The archive.',
    headers: { 'Content-Disposition': { description: 'Its name.', schema: { type: 'string' } } },
    content: { [ZIP_TYPE]: { schema: { type: 'string', format: 'binary' } } },
  },
} as const;

/** The build copies them from docs/snippets. */
const VERIFIERS = new URL('../../snippets/', import.meta.url);
const VERIFIER_FILES = ['proof.mjs', 'proof.py', 'proof.go'];

/** File names sort as events follow one another, up to a million in a stream. */
const NUMBER_DIGITS = 6;

const notReady = () => unavailable('The tree over the log is not made yet.');

/** Files are compressed while they are made. Names are ours, so nothing of what users wrote becomes a path. */
class Archive {
  readonly #made: Uint8Array[] = [];
  #bytes = 0;
  readonly #zip = new Zip((error, piece) => {
    if (error !== null) throw error;
    this.#made.push(piece);
    this.#bytes += piece.length;
  });

  /** @returns a function that writes more of the file; `isLast` ends it. @throws AnswerTooLargeError */
  begin(name: string): (content: string | Uint8Array, isLast?: boolean) => void {
    const file = new ZipDeflate(name);
    this.#zip.add(file);
    return (content, isLast = false) => {
      file.push(Buffer.from(content), isLast);
      if (this.#bytes > MAX_EXPORT_BYTES)
        throw new AnswerTooLargeError(`The export has more than ${MAX_EXPORT_BYTES} bytes.`);
    };
  }

  file(name: string, content: string | Uint8Array): void {
    this.begin(name)(content, true);
  }

  end(): Uint8Array {
    this.#zip.end();
    return Buffer.concat(this.#made);
  }
}

/** @throws AnswerTooLargeError */
function requireFew(events: number): void {
  if (events > MAX_EXPORT_EVENTS)
    throw new AnswerTooLargeError(`The order and its deliveries have more than ${MAX_EXPORT_EVENTS} events.`);
}

/** The export is noted when it is made, before anything of it is sent; one that cannot be noted is refused. */
export async function exportReply(api: Api, { req, caller, tenant, path }: Call): Promise<Reply> {
  const { commands, exportParts } = api;
  const orderId = recordId(tenant.orderModel, path.id);
  const cancellation = req.context.deadline;
  const order = await loadOrder(commands.eventStore, tenant.name, orderId, { cancellation });
  if (order === undefined) throw new NotFoundError(`There is no order ${orderId}.`);
  const checkpoint = await exportParts.checkpoint();
  if (checkpoint === undefined) throw notReady();
  const signed = checkpoint === 'none' ? undefined : checkpoint;
  await untilShown(api, tenant.name);

  const exported = { tenant, orderId, exportedAt: commands.now(), cancellation };
  const archive = new Archive();
  const streams = [
    ['order', orderStream(tenant.name, orderId)] as const,
    ...(await writeReplay(archive, api, exported)).map(
      (id) => [`delivery-${id}`, deliveryStream(tenant.name, id)] as const,
    ),
  ];
  const unproved = { uncovered: [] as string[], changed: [] as string[], erased: [] as string[] };
  let count = 0;
  for (const [stream, name] of streams) {
    for (let from: Revision | undefined = 0; from !== undefined; ) {
      cancellation.throwIfCancelled();
      const found = await exportParts.prove(name, from, signed?.note);
      if (found === undefined) throw notReady();
      count += found.events.length;
      requireFew(count);
      for (const event of found.events) {
        const file = `${stream}-${String(event.revision).padStart(NUMBER_DIGITS, '0')}`;
        archive.file(`events/${file}.json`, `${event.leaf}\n`);
        if ('unproved' in event) unproved[event.unproved].push(file);
        else {
          const { leaf, proof } = event;
          archive.file(`proofs/${file}.json`, `${JSON.stringify({ data: { leaf, proof } })}\n`);
        }
      }
      from = found.next;
    }
  }
  if (signed !== undefined) {
    archive.file('checkpoint', signed.note);
    archive.file('key', `${signed.key}\n`);
  }
  for (const name of VERIFIER_FILES) archive.file(`verifier/${name}`, await readFile(new URL(name, VERIFIERS)));
  archive.file('HOW-TO-CHECK.md', howToCheck({ ...exported, ...unproved, tenant: tenant.name }));
  const body = archive.end();
  await recordAccess(commands, caller, [{ type: 'OrderExported', data: { orderId } }]);
  const headers = {
    'Content-Type': ZIP_TYPE,
    'Content-Disposition': `attachment; filename="order-${orderId}.zip"`,
  };
  return { body, headers };
}

type Exported = {
  readonly tenant: Tenant;
  readonly orderId: string;
  readonly exportedAt: string;
  readonly cancellation: Cancellation;
};

/** @returns the ids of the deliveries in the replay */
async function writeReplay(
  archive: Archive,
  api: Api,
  { tenant, orderId, exportedAt, cancellation }: Exported,
): Promise<readonly string[]> {
  const write = archive.begin('replay.json');
  const head = { tenant: tenant.name, order_id: orderId, exported_at: exportedAt };
  write(`${JSON.stringify(head).slice(0, -1)},"data":[\n`);
  const deliveries = new Set<string>();
  let steps = 0;
  for await (const step of replaySteps(api, { tenant, orderId, from: 0, cancellation })) {
    for (const { id } of step.deliveries) deliveries.add(id);
    write(`${steps === 0 ? '' : ',\n'}${step.text}`);
    steps += 1;
    requireFew(steps);
  }
  write('\n]}\n', true);
  return [...deliveries];
}
