/** For auditors: the proof of an event, and the export of an order for a dispute, with what is needed to check it without the service. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { Archive } from '../../audit/archive.js';
import type { ProvedEvents } from '../../audit/proof.js';
import { ConflictError, NotFoundError } from '../../commands/context.js';
import { recordAccess } from '../../commands/identity/access.js';
import { recordId } from '../../commands/tables.js';
import { deliveryStream, orderStream } from '../../domain/streams.js';
import type { Revision } from '../../ports/eventStore.js';
import { untilShown } from '../assets/moments.js';
import { replaySteps } from '../assets/replay.js';
import type { Api } from '../deps.js';
import { HttpError, unavailable } from '../errors.js';
import * as json from '../openapi/schema.js';
import { type Call, dataReply, RECORD_ID, type Reply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';

const ZIP_TYPE = 'application/zip';

/** The build copies them from docs/snippets. */
const SNIPPETS = new URL('../../snippets/', import.meta.url);
const VERIFIERS = ['proof.mjs', 'proof.py', 'proof.go'];

/** File names sort as events follow one another, up to a million in a stream. */
const NUMBER_DIGITS = 6;

/** Why an event has no proof. */
const WHY_UNPROVED = {
  uncovered: 'no checkpoint covers it yet; ask again when the next one is signed',
  erased: 'values of it were erased, as a law demands (DataErased in the log says who, when and why)',
  changed: 'it is not what the checkpoint covers: the log was changed',
};

const notReady = () => unavailable('The tree over the log is not made yet.');

/** The export is noted when it is made, before anything of it is sent; one that cannot be noted is refused. */
async function exportReply(api: Api, { req, caller, tenant, path }: Call): Promise<Reply> {
  const { commands, askTree } = api;
  const orderId = recordId(tenant.orderModel, path.id);
  const cancellation = req.context.deadline;
  const checkpoint = await askTree({ kind: 'checkpoint' });
  if (checkpoint === undefined) throw notReady();
  await untilShown(api, tenant.name);

  const archive = new Archive();
  const streams = new Map([[orderStream(tenant.name, orderId), 'order']]);
  const replay: string[] = [];
  for await (const { text, deliveries } of replaySteps(api, tenant, orderId, 0, cancellation)) {
    for (const { id } of deliveries) streams.set(deliveryStream(tenant.name, id), `delivery-${id}`);
    replay.push(text);
    archive.count(text.length);
  }
  if (replay.length === 0) throw new NotFoundError(`There is no order ${orderId}.`);
  const about = { tenant: tenant.name, order_id: orderId, exported_at: commands.now() };
  await archive.file('replay.json', `${JSON.stringify(about).slice(0, -1)},"data":[\n${replay.join(',\n')}\n]}\n`);
  const unproved: string[] = [];
  for (const [name, stream] of streams) {
    for (let from: Revision | undefined = 0; from !== undefined; ) {
      cancellation.throwIfCancelled();
      const found: ProvedEvents | undefined = await askTree({
        kind: 'stream',
        stream: name,
        from,
        note: checkpoint.note,
      });
      if (found === undefined) throw notReady();
      for (const event of found.events) {
        const file = `${stream}-${String(event.revision).padStart(NUMBER_DIGITS, '0')}`;
        const { leaf } = event;
        await archive.file(`events/${file}.json`, `${leaf}\n`);
        if ('unproved' in event) unproved.push(`- ${file}: ${WHY_UNPROVED[event.unproved]}\n`);
        else await archive.file(`proofs/${file}.json`, `${JSON.stringify({ data: { leaf, proof: event.proof } })}\n`);
      }
      from = found.next;
    }
  }
  await archive.file('checkpoint', checkpoint.note);
  await archive.file('key', `${checkpoint.key}\n`);
  for (const name of VERIFIERS) await archive.file(`verifier/${name}`, await readFile(new URL(name, SNIPPETS)));
  const howToCheck = await readFile(new URL('HOW-TO-CHECK.md', SNIPPETS), 'utf8');
  const without = unproved.length === 0 ? '' : `\nEvents without a proof:\n\n${unproved.join('')}`;
  await archive.file('HOW-TO-CHECK.md', `${howToCheck}${without}`);
  const body = archive.end();
  await recordAccess(commands, caller, { type: 'OrderExported', data: { orderId } });
  const headers = {
    'Content-Type': ZIP_TYPE,
    'Content-Disposition': `attachment; filename="order-${orderId}.zip"`,
  };
  return { body, headers };
}

const proofQuery = z.strictObject({
  event: z
    .guid('must be the id of an event.')
    .transform((id) => id.toLowerCase())
    .meta({ description: 'The `event_id` of an entry of the activity or of a history.' }),
});

export const audit: Resource = {
  tag: 'audit',
  schemas: { EventProof: json.closedObject({ leaf: json.text, proof: json.text }) },
  pathParameters: { id: { ...RECORD_ID, name: 'order_id' } },
  operations: {
    'GET /audit/proof': {
      id: 'getEventProof',
      summary: 'Proves that an event is in the log, as a signed checkpoint says',
      description:
        'Programs in docs/snippets check the answer without this service, with the key that the operator gives. Events of users, API clients and webhooks hold secrets: no proof of them is given out.',
      allow: 'adminsAndAuditors',
      work: 'costly',
      query: parametersIn(proofQuery),
      answer: json.one('EventProof'),
      async handle({ askTree }, { tenant, query }) {
        const { event } = parseQuery(proofQuery, query);
        const found = await askTree({ kind: 'proof', eventId: event, tenant: tenant.name });
        if (found === undefined) throw notReady();
        if (found === 'unknown') throw new NotFoundError(`There is no proof of ${event}: it is unknown or secret.`);
        if (found === 'changed')
          throw new HttpError(500, 'Internal server error.', `The event: ${WHY_UNPROVED.changed}`);
        if (typeof found === 'string') throw new ConflictError(`The event has no proof: ${WHY_UNPROVED[found]}.`);
        return dataReply(found);
      },
    },
    'GET /orders/:id/export': {
      id: 'exportOrder',
      work: 'costly',
      summary: 'An order for a dispute: its replay, its events, their proofs, and what checks them',
      description:
        'A ZIP archive: the replay, the events of the order and of its deliveries to the byte, a proof of each that the last checkpoint covers, programs that check them, and HOW-TO-CHECK.md.',
      answer: {
        description: 'The archive.',
        content: { [ZIP_TYPE]: { schema: { type: 'string', format: 'binary' } } },
      },
      // It is noted in the log.
      grows: ['logBytes'],
      allow: 'adminsAndAuditors',
      handle: exportReply,
    },
  },
};
