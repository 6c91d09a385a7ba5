/** What `doctor` asks a RabbitMQ server. */
import { urlsOfHosts } from './hosts.js';
import { Session } from './session.js';

const NAME = 'dynamic-assets doctor';
const NOT_FOUND = 404;

export type Inspected = {
  /** Version of the server. */
  readonly version: string;
  readonly classicQueues: readonly string[];
};

/** @param names of queues; those that are missing are no classic ones. @throws Error if no host can be reached */
export async function inspectRabbitMq(url: string, names: readonly string[]): Promise<Inspected> {
  const urls = urlsOfHosts(url);
  const prefix = new URL(urls[0] ?? url).searchParams.get('queue_prefix') ?? '';
  const session = await firstSession(urls);
  try {
    const classicQueues: string[] = [];
    for (const name of names) if (await isClassic(session, prefix + name)) classicQueues.push(prefix + name);
    return { version: session.serverVersion, classicQueues };
  } finally {
    await session.close();
  }
}

async function firstSession([url = '', ...others]: readonly string[]): Promise<Session> {
  try {
    return await Session.open(url, NAME);
  } catch (error) {
    if (others.length === 0) throw error;
    return firstSession(others);
  }
}

/** The server refuses to declare a queue that is there as another type. */
async function isClassic(session: Session, queue: string): Promise<boolean> {
  const channel = await session.openChannel();
  try {
    // Declaring a missing one would make it.
    await channel.checkQueue(queue);
    await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'classic' } });
  } catch (error) {
    // The refusal has closed the channel.
    if (error instanceof Error && 'code' in error && (error.code === NOT_FOUND || isOtherType(error))) return false;
    throw error;
  }
  await channel.close();
  return true;
}

const isOtherType = ({ message }: Error): boolean => message.includes("inequivalent arg 'x-queue-type'");

const FIRST_WITHOUT_MIRRORS = 4;

/** Since version 4 a classic queue is on one node only, whatever policy it has. */
export const singleQueues = ({ version, classicQueues }: Inspected): readonly string[] =>
  Number.parseInt(version, 10) >= FIRST_WITHOUT_MIRRORS ? classicQueues : [];
