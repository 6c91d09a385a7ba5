/**
 * The export of an order for a dispute: a ZIP archive with its replay, its events and those of its deliveries to the byte,
 * their proofs, and what is needed to check them without the service.
 */

import { readFile } from 'node:fs/promises';
import { Zip, ZipDeflate } from 'fflate';
import { NotFoundError } from '../../commands/context.js';
import { recordAccess } from '../../commands/identity/access.js';
import { recordId } from '../../commands/tables.js';
import { MAX_EXPORT_BYTES, MAX_EXPORT_EVENTS } from '../../domain/limits.js';
import { deliveryStream, orderStream } from '../../domain/streams.js';
import type { Revision } from '../../ports/eventStore.js';
import { AnswerTooLargeError } from '../../queries/storedRecord.js';
import { untilShown } from '../assets/moments.js';
import { replaySteps } from '../assets/replay.js';
import type { Api } from '../deps.js';
import { unavailable } from '../errors.js';
import type { Call, Reply } from '../routes/operation.js';

const ZIP_TYPE = 'application/zip';

/** Documentation of an export. */
export const exportOfOrder = {
  work: 'costly',
  summary: 'An order for a dispute: its replay, its events, their proofs, and what checks them',
  description:
    'A ZIP archive: the replay, the events of the order and of its deliveries to the byte, a proof of each that the last checkpoint covers, programs that check them, and HOW-TO-CHECK.md. That somebody exported it is an entry of the activity.',
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

  /** @throws AnswerTooLargeError */
  file(name: string, content: string | Uint8Array): void {
    const file = new ZipDeflate(name);
    this.#zip.add(file);
    file.push(Buffer.from(content), true);
    requireFew(0, this.#bytes);
  }

  end(): Uint8Array {
    this.#zip.end();
    return Buffer.concat(this.#made);
  }
}

/** @throws AnswerTooLargeError */
function requireFew(events: number, characters = 0): void {
  if (events > MAX_EXPORT_EVENTS || characters > MAX_EXPORT_BYTES)
    throw new AnswerTooLargeError(
      `The order and its deliveries have more than ${MAX_EXPORT_EVENTS} events, or ${MAX_EXPORT_BYTES} bytes.`,
    );
}

/** The export is noted when it is made, before anything of it is sent; one that cannot be noted is refused. */
export async function exportReply(api: Api, { req, caller, tenant, path }: Call): Promise<Reply> {
  const { commands, exportParts } = api;
  const orderId = recordId(tenant.orderModel, path.id);
  const cancellation = req.context.deadline;
  const checkpoint = await exportParts.checkpoint();
  if (checkpoint === undefined) throw notReady();
  await untilShown(api, tenant.name);

  const archive = new Archive();
  const streams = new Map([[orderStream(tenant.name, orderId), 'order']]);
  const replay: string[] = [];
  let characters = 0;
  for await (const { text, deliveries } of replaySteps(api, tenant, orderId, 0, cancellation)) {
    for (const { id } of deliveries) streams.set(deliveryStream(tenant.name, id), `delivery-${id}`);
    replay.push(text);
    characters += text.length;
    requireFew(replay.length, characters);
  }
  if (replay.length === 0) throw new NotFoundError(`There is no order ${orderId}.`);
  const about = { tenant: tenant.name, order_id: orderId, exported_at: commands.now() };
  archive.file('replay.json', `${JSON.stringify(about).slice(0, -1)},"data":[\n${replay.join(',\n')}\n]}\n`);
  const unproved: string[] = [];
  let count = 0;
  for (const [name, stream] of streams) {
    for (let from: Revision | undefined = 0; from !== undefined; ) {
      cancellation.throwIfCancelled();
      const found = await exportParts.prove(name, from, checkpoint.note);
      if (found === undefined) throw notReady();
      count += found.events.length;
      requireFew(count);
      for (const event of found.events) {
        const file = `${stream}-${String(event.revision).padStart(NUMBER_DIGITS, '0')}`;
        archive.file(`events/${file}.json`, `${event.leaf}\n`);
        if ('unproved' in event) unproved.push(`${file}: ${WHY_UNPROVED[event.unproved]}`);
        else {
          const { leaf, proof } = event;
          archive.file(`proofs/${file}.json`, `${JSON.stringify({ data: { leaf, proof } })}\n`);
        }
      }
      from = found.next;
    }
  }
  archive.file('checkpoint', checkpoint.note);
  archive.file('key', `${checkpoint.key}\n`);
  for (const name of VERIFIER_FILES) archive.file(`verifier/${name}`, await readFile(new URL(name, VERIFIERS)));
  archive.file('HOW-TO-CHECK.md', howToCheck(unproved));
  const body = archive.end();
  await recordAccess(commands, caller, [{ type: 'OrderExported', data: { orderId } }]);
  const headers = {
    'Content-Type': ZIP_TYPE,
    'Content-Disposition': `attachment; filename="order-${orderId}.zip"`,
  };
  return { body, headers };
}

/** Why an event of the export has no proof. */
const WHY_UNPROVED = {
  uncovered: 'no checkpoint covered it yet; export again later',
  erased: 'values of it were erased, as a law demands (DataErased in the log says who, when and why)',
  changed: 'it is not what the checkpoint covers: the log was changed',
};

/** A test runs its commands as they are printed. */
const howToCheck = (unproved: readonly string[]): string => `# How to check this export

| File | What it is |
|---|---|
| \`replay.json\` | what happened to the order, made from the events |
| \`events/*.json\` | the events of the order and of its deliveries to webhooks, to the byte as the log has them |
| \`proofs/*.json\` | for each event the proof that it is in the log that the checkpoint covers ([c2sp.org/tlog-proof](https://c2sp.org/tlog-proof)) |
| \`checkpoint\` | number of the log's events, and the root of the Merkle tree over them, signed (RFC 6962, Ed25519) |
| \`key\` | the public key, as a copy |
| \`verifier/\` | programs in Node, Python and Go that check a proof; they use nothing of the service |
${unproved.length === 0 ? '' : `\nEvents without a proof:\n\n${unproved.map((why) => `- ${why}\n`).join('')}`}
1. A forger would put a forged key beside the export: compare \`key\` with the one that the operator gave you before (\`dynamic-assets audit keys\`).
2. Compare \`checkpoint\` with those that were kept where the operator cannot change them. One of the same size (second line) must have the same root (third line); for another, ask the operator for \`dynamic-assets audit verify --checkpoint <yours>\`.
3. Check that the events are in that log. Each program prints the event that its proof is of:

\`\`\`sh
wrong=0
for proof in proofs/*.json; do
  node verifier/proof.mjs "$(cat key)" < "$proof" | cmp -s - "events/\${proof##*/}" || { echo "WRONG $proof"; wrong=1; }
done
[ "$wrong" = 0 ] && echo "All events with a proof are in the log that the key has signed."
\`\`\`

4. The events of a stream are numbered from 0 without a gap (\`revision\`), so none is left out before the last one.

Nothing of this proves that an event says the truth, that nothing was changed before the first checkpoint that was kept elsewhere, or that nothing came after the last event.
`;
