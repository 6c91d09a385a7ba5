/**
 * The export of an order for a dispute: a ZIP archive with its replay, its events and those of its deliveries to the byte,
 * their proofs, and what is needed to check them without the service.
 */
import { readFile } from 'node:fs/promises';
import { Zip, ZipDeflate } from 'fflate';
import type { SignedCheckpoint } from '../../audit/checkpoints.js';
import type { ProvedEvents, ProvedLeaf } from '../../audit/proof.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { MAX_EXPORT_EVENTS } from '../../domain/limits.js';
import { deliveryStream, orderStream } from '../../domain/streams.js';
import type { Revision } from '../../ports/eventStore.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { shownActor } from '../actors.js';
import { stepText } from '../assets/replay.js';
import { type ReplaySource, replaySteps } from '../replay/steps.js';
import { howToCheck } from './howToCheck.js';
import { PAGE_END, pageBegin, stepSection } from './page.js';

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

/** The archive would have more events or bytes than it may have. */
export class ArchiveTooLargeError extends Error {
  override readonly name = 'ArchiveTooLargeError';
}

/** Without ZIP64 an archive, and each file in it, has less than 2 GB. */
const MAX_ZIP_BYTES = 0x7fffffff;
const UNIX = 3;
const MODE = 0o100644 * 2 ** 16;

/** Files are compressed while they are made. Names are ours, so nothing of what users wrote becomes a path. */
class Archive {
  readonly #exported: Exported;
  readonly #zip = new Zip((error, piece) => this.#add(error, piece));
  #made: Uint8Array[] = [];
  #bytes = 0;

  constructor(exported: Exported) {
    this.#exported = exported;
  }

  /** @returns a function that writes more of the file; `isLast` ends it. @throws ArchiveTooLargeError */
  begin(name: string): (content: string | Uint8Array, isLast?: boolean) => void {
    const { exportedAt, maxBytes } = this.#exported;
    const file = new ZipDeflate(name, { level: 6 });
    Object.assign(file, { mtime: exportedAt, os: UNIX, attrs: MODE });
    let size = 0;
    this.#zip.add(file);
    return (content, isLast = false) => {
      const bytes = Buffer.from(content);
      size += bytes.length;
      if (size > MAX_ZIP_BYTES || this.#bytes > MAX_ZIP_BYTES)
        throw new ArchiveTooLargeError('The export is larger than a ZIP archive can be.');
      file.push(bytes, isLast);
      if (this.#bytes > maxBytes) throw new ArchiveTooLargeError(`The export has more than ${maxBytes} bytes.`);
    };
  }

  file(name: string, content: string | Uint8Array): void {
    this.begin(name)(content, true);
  }

  end(): void {
    this.#zip.end();
  }

  /** @returns what was made since the last call */
  taken(): Uint8Array {
    const made = Buffer.concat(this.#made);
    this.#made = [];
    return made;
  }

  #add(error: Error | null, piece: Uint8Array): void {
    if (error !== null) throw error;
    this.#made.push(piece);
    this.#bytes += piece.length;
  }
}

function requireFew(events: number): void {
  if (events > MAX_EXPORT_EVENTS)
    throw new ArchiveTooLargeError(`The order and its deliveries have more than ${MAX_EXPORT_EVENTS} events.`);
}

/** Yields the bytes of the archive. @throws ArchiveTooLargeError; the cancellation's reason; what the source throws */
export async function* orderExport(source: ExportSource, exported: Exported): AsyncGenerator<Uint8Array, void, void> {
  const { tenant, orderId, exportedAt, deliveryLogDays } = exported;
  const archive = new Archive(exported);
  const deliveries = await writeReplay(archive, source, exported);
  yield archive.taken();
  const unproved = { uncovered: [] as string[], changed: [] as string[], erased: [] as string[] };
  for await (const [name, event] of provedEvents(source, exported, deliveries)) {
    archive.file(`events/${name}.json`, `${event.leaf}\n`);
    if ('unproved' in event) unproved[event.unproved].push(name);
    else {
      const { leaf, proof } = event;
      archive.file(`proofs/${name}.json`, `${JSON.stringify({ data: { leaf, proof } })}\n`);
    }
    yield archive.taken();
  }
  if (source.checkpoint !== undefined) {
    archive.file('checkpoint', source.checkpoint.note);
    archive.file('key', `${source.checkpoint.key}\n`);
  }
  for (const name of VERIFIER_FILES) archive.file(`verifier/${name}`, await readFile(new URL(name, VERIFIERS)));
  archive.file(
    'HOW-TO-CHECK.md',
    howToCheck({ tenant: tenant.name, orderId, exportedAt, deliveryLogDays, ...unproved }),
  );
  archive.end();
  yield archive.taken();
}

/** @returns the ids of the deliveries in the replay */
async function writeReplay(archive: Archive, source: ReplaySource, exported: Exported): Promise<ReadonlySet<string>> {
  const { tenant, orderId, exportedAt, cancellation } = exported;
  const [asJson, asPage] = [archive.begin('replay.json'), archive.begin('replay.html')];
  const head = { tenant: tenant.name, order_id: orderId, exported_at: exportedAt };
  const deliveries = new Set<string>();
  asJson(`${JSON.stringify(head).slice(0, -1)},"data":[\n`);
  asPage(pageBegin({ orderId, tenant: tenant.name, exportedAt }));
  let steps = 0;
  for await (const step of replaySteps(source, { tenant, orderId, from: 0, cancellation })) {
    const actor = shownActor(source, tenant, step.recorded.metadata.actor);
    for (const { id } of step.deliveries) deliveries.add(id);
    asJson(`${steps === 0 ? '' : ',\n'}${stepText(tenant, step, actor)}`);
    steps += 1;
    requireFew(steps);
    for (const piece of stepSection(tenant, step, actor)) asPage(piece);
  }
  asJson('\n]}\n', true);
  asPage(PAGE_END, true);
  return deliveries;
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
