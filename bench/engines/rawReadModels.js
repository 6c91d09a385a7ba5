/** What the bare driver of MongoDB does with the documents and indexes that the service made. */
import { MongoClient } from 'mongodb';

const COPY = 'bench_raw_copy';

/**
 * The least that has to be done: for an upsert, to ask which keys there are and to insert the rest; for a
 * rebuild, to insert everything.
 * @returns documents a second for each, in batches of `batch`
 */
export async function rawRates(url, count, batch) {
  const client = await MongoClient.connect(url);
  try {
    const db = client.db();
    const source = await largestCollection(db);
    const documents = await source.find().limit(count).toArray();
    const indexes = (await source.indexes()).filter(({ name }) => name !== '_id_');
    const inserts = await rateOf(db, indexes, documents, batch, (copy, some) => insert(copy, some));
    const upserts = await rateOf(db, indexes, documents, batch, async (copy, some) => {
      const there = await copy.find({ k: { $in: some.map(({ k }) => k) } }, { projection: { k: 1 } }).toArray();
      const known = new Set(there.map(({ k }) => k));
      await insert(
        copy,
        some.filter(({ k }) => !known.has(k)),
      );
    });
    return { inserts, upserts };
  } finally {
    await client.close();
  }
}

const insert = (copy, documents) => copy.insertMany(documents, { ordered: false });

async function rateOf(db, indexes, documents, batch, write) {
  await db.dropCollection(COPY).catch(() => undefined);
  const copy = await db.createCollection(COPY);
  for (const { key, name } of indexes) await copy.createIndex(key, { name });
  const start = performance.now();
  for (let n = 0; n < documents.length; n += batch) await write(copy, documents.slice(n, n + batch));
  const rate = (documents.length * 1000) / (performance.now() - start);
  await copy.drop();
  return rate;
}

/** The table of the benchmark is by far the largest. */
async function largestCollection(db) {
  const names = (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
  const sized = await Promise.all(
    names.map(async (name) => ({ name, count: await db.collection(name).estimatedDocumentCount() })),
  );
  return db.collection(sized.toSorted((a, b) => b.count - a.count)[0].name);
}
