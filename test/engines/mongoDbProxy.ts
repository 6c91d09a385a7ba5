/**
 * A proxy in front of a MongoDB server: it keeps the commands that pass. On demand it answers as a replica set does that is
 * asked for the data of one moment: it tells the moment. It has no data of its own, so what is read is what is there.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { BSON, type Document, Timestamp } from 'mongodb';

/** A message of the wire protocol: https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/ */
const OP_MSG = 2013;
/** Length, request, answered request and kind of the message; flags, and the kind of the first section. */
const HEADER = 16;
const BODY = HEADER + 5;

export const MOMENT = new Timestamp({ t: 7, i: 1 });

const TYPED = { promoteValues: false, promoteLongs: false, promoteBuffers: false } as const;

export class MongoDbProxy {
  readonly #target: { readonly host: string; readonly port: number };
  readonly #tellsMoments: boolean;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly commands: Document[] = [];

  private constructor(url: string, tellsMoments: boolean) {
    const { hostname, port } = new URL(url);
    this.#target = { host: hostname, port: Number(port || 27017) };
    this.#tellsMoments = tellsMoments;
    this.#server = createServer((client) => this.#accept(client));
  }

  /** @param url of one server without TLS */
  static async start(url: string, { tellsMoments = false } = {}): Promise<MongoDbProxy> {
    const proxy = new MongoDbProxy(url, tellsMoments);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** The URL of a database of the server, through the proxy. */
  through(url: string): string {
    const through = new URL(url);
    through.host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    through.searchParams.set('directConnection', 'true');
    return through.href;
  }

  /** The commands that pass while this runs, by name and collection: `find records_…`. */
  async during(work: () => Promise<unknown>): Promise<readonly Document[]> {
    this.commands.length = 0;
    await work();
    return [...this.commands];
  }

  #accept(client: Socket): void {
    const server = connect(this.#target);
    /** Requests whose answers tell a moment. */
    const asked = new Set<number>();
    this.#pass(client, server, (message) => this.#sent(message, asked));
    this.#pass(server, client, (message) => answered(message, asked));
  }

  /** @param seen passes a message on, changed perhaps */
  #pass(from: Socket, to: Socket, seen: (message: Buffer) => Buffer): void {
    this.#sockets.add(from);
    let rest = Buffer.alloc(0);
    from.on('data', (piece) => {
      rest = Buffer.concat([rest, piece]);
      while (rest.length >= HEADER && rest.length >= rest.readInt32LE(0)) {
        const message = rest.subarray(0, rest.readInt32LE(0));
        rest = rest.subarray(message.length);
        to.write(message.readInt32LE(12) === OP_MSG ? seen(message) : message);
      }
    });
    from.on('close', () => to.destroy());
    from.on('error', () => to.destroy());
  }

  #sent(message: Buffer, asked: Set<number>): Buffer {
    const command = BSON.deserialize(message.subarray(BODY, BODY + message.readInt32LE(BODY)));
    this.commands.push(command);
    if (this.#tellsMoments && command.readConcern?.level === 'snapshot') asked.add(message.readInt32LE(4));
    return message;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

function answered(message: Buffer, asked: Set<number>): Buffer {
  if (!asked.delete(message.readInt32LE(8))) return message;
  const answer = BSON.deserialize(message.subarray(BODY), TYPED);
  if (answer.cursor !== undefined) answer.cursor.atClusterTime = MOMENT;
  const changed = Buffer.concat([message.subarray(0, BODY), BSON.serialize(answer)]);
  changed.writeInt32LE(changed.length, 0);
  return changed;
}
