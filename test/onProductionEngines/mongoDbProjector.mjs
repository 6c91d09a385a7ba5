/**
 * Projects a list of events into read models on MongoDB, until it is killed or done. It takes them in slices of
 * several lengths, so that after a crash they are not cut as they were before.
 *
 * node mongoDbProjector.mjs <url> <file of events as JSON> <lease in milliseconds>
 */
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { openMongoReadModelWriter } from '../../dist/adapters/readmodels/mongodb/writer.js';

const [url, file, leaseMs] = process.argv.slice(2);
const { assetTypes, events } = JSON.parse(readFileSync(file, 'utf8'));
const LONGEST_SLICE = 12;
/** Some tables stay below it, and others get collections of their own in the course of the events. */
const SMALL_ROWS = 15;

async function begin(writer) {
  for (;;) {
    try {
      return await writer.begin();
    } catch (error) {
      // The one that was killed holds the lease until it runs out.
      if (error.name !== 'ProjectorLeaseHeldError') throw error;
      await wait(20);
    }
  }
}

const writer = await openMongoReadModelWriter({ url, leaseMs: Number(leaseMs), smallRows: SMALL_ROWS });
process.stdout.write('running\n');
for (;;) {
  await begin(writer);
  const reached = await writer.checkpoint('records');
  const length = 1 + ((reached * 7) % LONGEST_SLICE);
  const slice = events.slice(reached, reached + length);
  if (slice.length === 0) break;
  for (const { table, define, changes, revision, at, history, delivery } of slice) {
    const ref = { tenant: 'acme', table };
    if (define !== undefined) await writer.defineTable(ref, assetTypes[define]);
    if (changes !== undefined) await writer.applyToTable(ref, changes, { revision, at });
    // Like the projection: what is shown already is not put again.
    const shown = delivery === undefined ? undefined : await writer.delivery('acme', delivery.id);
    if ((shown?.revision ?? -1) < (delivery?.revision ?? -1)) await writer.putDelivery('acme', delivery);
    if (history !== undefined) await writer.addHistory('acme', history.orderId, [history.entry]);
  }
  await writer.commit(new Map([['records', reached + slice.length]]));
}
await writer.close();
