/** A database and queues of the run's own, on the engines that the environment names. */
import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';

const ID = randomUUID();

/** Queues whose names begin with `bench-` stay behind, empty. @returns settings; those of engines that are not named are missing */
export function ownPlaces({ MONGODB_URL, RABBITMQ_URL }) {
  const mongoUrl = MONGODB_URL?.replace(/^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/[^?]*)?/, `$1/bench_${ID}`);
  const rabbitUrl = RABBITMQ_URL === undefined ? undefined : new URL(RABBITMQ_URL);
  rabbitUrl?.searchParams.set('queue_prefix', `bench-${ID}.`);
  return {
    ...(mongoUrl === undefined ? {} : { MONGODB_URL: mongoUrl }),
    ...(rabbitUrl === undefined ? {} : { RABBITMQ_URL: rabbitUrl.href }),
  };
}

/** Removes the database. */
export async function dropDatabase(mongoUrl) {
  const client = await MongoClient.connect(mongoUrl);
  await client.db().dropDatabase();
  await client.close();
}
