/**
 * The export of an order for a dispute: a ZIP archive with its replay, its events and those of its deliveries to the byte,
 * their proofs, and what is needed to check them without the service.
 */
import { readFile } from 'node:fs/promises';
import type { SignedCheckpoint } from '../../audit/checkpoints.js';
import type { ProvedEvents, ProvedLeaf } from '../../audit/proof.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { MAX_EXPORT_EVENTS } from '../../domain/limits.js';
import { deliveryStream, orderStream } from '../../domain/streams.js';
import type { Revision } from '../../ports/eventStore.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { actorShower, stepText } from '../assets/replay.js';
import { type ReplaySource, replaySteps } from '../replay/steps.js';
import { howToCheck } from './howToCheck.js';
import { PAGE_END, pageBegin, stepSection } from './page.js';
import { ArchiveTooLargeError, ZipArchive, ZipFile } from './zip.js';

export type ExportSource = ReplaySource & {
  /** The last one when the export began: all proofs are of it. Undefined if there is none. */
  readonly checkpoint: SignedCheckpoint | undefined;
  /** Events of the stream, as stored, from a revision on. */
  readonly prove: (stream: string, from: Revision) => Promise<ProvedEvents>;
};

export type Exported = {
  readonly tenant: Pick<Tenant, 'name' | 'assetTypes' | 'orderModel' | 'clients' | 'webhooks'>;
  /** There is such an order. */
  readonly orderId: string;
  /** ISO 8601. */
  readonly exportedAt: string;
  readonly deliveryLogDays: number;
  /** Bytes that the archive may have. */
  readonly maxBytes: number;
  readonly cancellation?: Cancellation | undefined;
};

/** The build copies them from docs/snippets. */
const VERIFIERS = new URL('../../snippets/', import.meta.url);
const VERIFIER_FILES = ['proof.mjs', 'proof.py', 'proof.go'];

/** Yields the bytes of the archive. @throws ArchiveTooLargeError; the cancellation's reason; what the source throws */
export async function* orderExport(source: ExportSource, exported: Exported): AsyncGenerator<Uint8Array, void, void> {
  let bytes = 0;
  for await (const piece of archiveOf(source, exported)) {
    bytes += piece.length;
    requireRoom(bytes, exported);
    yield piece;
  }
}

function requireRoom(bytes: number, { maxBytes }: Pick<Exported, 'maxBytes'>): void {
  if (bytes > maxBytes)
    throw new ArchiveTooLargeError(`The export has more than ${maxBytes} bytes: the operator can make it.`);
}

function requireFew(events: number): void {
  if (events > MAX_EXPORT_EVENTS)
    throw new ArchiveTooLargeError(`The order and its deliveries have more than ${MAX_EXPORT_EVENTS} events.`);
}

async function* archiveOf(source: ExportSource, exported: Exported): AsyncGenerator<Uint8Array, void, void> {
  const { tenant, orderId, exportedAt, deliveryLogDays } = exported;
  const archive = new ZipArchive(new Date(exportedAt));
  const replay = await replayFiles(source, exported);
  for (const file of replay.files) yield* await archive.add(file);
  const add = async (name: string, content: string | Uint8Array): Promise<readonly Uint8Array[]> => {
    const file = new ZipFile(name);
    await file.write(content);
    return archive.add(file);
  };
  const unproved = { uncovered: [] as string[], changed: [] as string[], erased: [] as string[] };
  for await (const [name, event] of provedEvents(source, exported, replay.deliveries)) {
    yield* await add(`events/${name}.json`, `${event.leaf}\n`);
    if ('unproved' in event) {
      unproved[event.unproved].push(name);
      continue;
    }
    const { leaf, proof } = event;
    yield* await add(`proofs/${name}.json`, `${JSON.stringify({ data: { leaf, proof } })}\n`);
  }
  if (source.checkpoint !== undefined) {
    yield* await add('checkpoint', source.checkpoint.note);
    yield* await add('key', `${source.checkpoint.key}\n`);
  }
  for (const name of VERIFIER_FILES) yield* await add(`verifier/${name}`, await readFile(new URL(name, VERIFIERS)));
  const page = howToCheck({ tenant: tenant.name, orderId, exportedAt, deliveryLogDays, ...unproved });
  yield* await add('HOW-TO-CHECK.md', page);
  yield archive.end();
}

/** @returns the files of the replay, and the ids of the deliveries in it */
async function replayFiles(source: ReplaySource, exported: Exported) {
  const { tenant, orderId, exportedAt, cancellation } = exported;
  const [asJson, asPage] = [new ZipFile('replay.json'), new ZipFile('replay.html')];
  const head = { tenant: tenant.name, order_id: orderId, exported_at: exportedAt };
  const actorOf = actorShower(source, tenant, cancellation);
  const deliveries = new Set<string>();
  await asJson.write(`${JSON.stringify(head).slice(0, -1)},"data":[\n`);
  await asPage.write(pageBegin({ orderId, tenant: tenant.name, exportedAt }));
  let steps = 0;
  for await (const step of replaySteps(source, { tenant, orderId, from: 0, cancellation })) {
    const actor = await actorOf(step);
    for (const { id } of step.deliveries) deliveries.add(id);
    await asJson.write(steps === 0 ? '' : ',\n', stepText(tenant, step, actor));
    steps += 1;
    requireFew(steps);
    requireRoom(asJson.bytes + asPage.bytes, exported);
    await asPage.write(...stepSection(tenant, step, actor));
  }
  await asJson.write('\n]}\n');
  await asPage.write(PAGE_END);
  return { files: [asJson, asPage], deliveries };
}

/** Names sort as events follow one another, up to a million in a stream. */
const NUMBER_DIGITS = 6;

/** Each event with its name in the archive. */
async function* provedEvents(
  { prove }: ExportSource,
  { tenant, orderId, cancellation }: Exported,
  deliveries: Iterable<string>,
): AsyncGenerator<readonly [name: string, event: ProvedLeaf]> {
  const streams = [
    { name: 'order', stream: orderStream(tenant.name, orderId) },
    ...[...deliveries].map((id) => ({ name: `delivery-${id}`, stream: deliveryStream(tenant.name, id) })),
  ];
  let count = 0;
  for (const { name, stream } of streams) {
    for (let from: Revision | undefined = 0; from !== undefined; ) {
      cancellation?.throwIfCancelled();
      const { events, next }: ProvedEvents = await prove(stream, from);
      count += events.length;
      requireFew(count);
      for (const event of events) yield [`${name}-${String(event.revision).padStart(NUMBER_DIGITS, '0')}`, event];
      from = next;
    }
  }
}
