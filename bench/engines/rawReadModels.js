/** What the bare driver of MongoDB does with the documents and indexes that the service made. */
import { MongoClient } from 'mongodb';

const COPY = 'bench_raw_copy';

/** @returns documents inserted a second, in batches of `batch` */
export async function rawInserts(url, count, batch) {
  const client = await MongoClient.connect(url);
  try {
    const db = client.db();
    const source = await largestCollection(db);
    const documents = await source.find().limit(count).toArray();
    const indexes = (await source.indexes()).filter(({ name }) => name !== '_id_');
    await db.dropCollection(COPY).catch(() => undefined);
    const copy = await db.createCollection(COPY);
    for (const { key, name, unique } of indexes) await copy.createIndex(key, { name, ...(unique ? { unique } : {}) });
    const start = performance.now();
    for (let n = 0; n < documents.length; n += batch)
      await copy.insertMany(documents.slice(n, n + batch), { ordered: false });
    const rate = (documents.length * 1000) / (performance.now() - start);
    await copy.drop();
    return rate;
  } finally {
    await client.close();
  }
}

/** The table of the benchmark is by far the largest. */
async function largestCollection(db) {
  const names = (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
  const sized = await Promise.all(
    names.map(async (name) => ({ name, count: await db.collection(name).estimatedDocumentCount() })),
  );
  return db.collection(sized.toSorted((a, b) => b.count - a.count)[0].name);
}
