import type { RecordedEvent, Revision } from '#app/ports/eventStore.js';
import { DeliveryCache } from '#app/webhooks/deliveryCache.js';
import { metadata } from '../../contract/eventStoreFixtures.js';

/** A log whose events all have this text, and which records its reads. */
function openLog(text = 'text') {
  const reads: string[] = [];
  return {
    reads,
    isAway: false,
    async readStream(stream: string, revision: Revision = 0): Promise<readonly RecordedEvent[]> {
      reads.push(`${stream} ${revision}`);
      if (this.isAway) throw new Error('away');
      if (revision > 2) return [];
      return [{ id: `${revision}`, type: 'OrderApproved', data: { text }, metadata, stream, revision, position: 9 }];
    },
  };
}

it('an event that many webhooks get is read once, whether they ask at the same time or after each other', async () => {
  const log = openLog();
  const place = { stream: 'order-acme.1', revision: 1 };
  const cache = new DeliveryCache(log);
  const read = () => cache.event(place);
  const found = [...(await Promise.all([read(), read(), read()])), await read()];
  expect(found.map((event) => event?.id)).toEqual(['1', '1', '1', '1']);
  expect(log.reads).toEqual(['order-acme.1 1']);
});

it('what is not there is looked for again, and so is what could not be read', async () => {
  const log = openLog();
  const cache = new DeliveryCache(log);
  const missing = { stream: 'order-acme.1', revision: 3 };
  expect(await cache.event(missing)).toBeUndefined();
  expect(await cache.event(missing)).toBeUndefined();
  expect(log.reads).toHaveLength(2);
  log.isAway = true;
  await expect(cache.event({ stream: 'order-acme.1', revision: 1 })).rejects.toThrow('away');
  log.isAway = false;
  expect((await cache.event({ stream: 'order-acme.1', revision: 1 }))?.id).toBe('1');
});

it('who waits for a slow read gets its event, though others have filled the room meanwhile', async () => {
  const log = openLog('x'.repeat(900_000));
  const cache = new DeliveryCache(log);
  const read = log.readStream.bind(log);
  let arrive: () => void = () => undefined;
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  log.readStream = async (stream, revision) => {
    if (stream === 'order-acme.slow') await arrived;
    return read(stream, revision);
  };
  const slow = cache.event({ stream: 'order-acme.slow', revision: 1 });
  for (let n = 0; n < 20; n++) await cache.event({ stream: `order-acme.${n}`, revision: 1 });
  arrive();
  expect((await slow)?.id).toBe('1');
});

it('no more than eight million characters are kept', async () => {
  const log = openLog('x'.repeat(900_000));
  const cache = new DeliveryCache(log);
  for (let n = 0; n < 20; n++) await cache.event({ stream: `order-acme.${n}`, revision: 1 });
  for (let n = 0; n < 20; n++) await cache.event({ stream: `order-acme.${n}`, revision: 1 });
  expect(log.reads).toHaveLength(40);
  await cache.event({ stream: 'order-acme.19', revision: 1 });
  expect(log.reads).toHaveLength(40);
});

describe('a document', () => {
  /** Makes documents of this size in bytes, and counts the documents that it made. */
  function maker(bytes: number) {
    const made = { count: 0 };
    const make = async () => {
      made.count += 1;
      return [Buffer.alloc(bytes)];
    };
    return { made, make };
  }

  it('of an event is made once for all its webhooks, whether they ask at the same time or later', async () => {
    const cache = new DeliveryCache(openLog());
    const { made, make } = maker(1_000);
    const asked = await Promise.all(Array.from({ length: 40 }, () => cache.document('approved 1', make)));
    expect(new Set([...asked, await cache.document('approved 1', make)]).size).toBe(1);
    expect(made.count).toBe(1);
  });
});
