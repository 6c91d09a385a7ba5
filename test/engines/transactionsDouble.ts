/**
 * Stands between the driver and a MongoDB without transactions, and says that it has them. The commands of a
 * transaction pass one by one, so nothing is undone; but their form is seen, and what they come to.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { BSON } from 'mongodb';

/** A command, in the order they came. */
export type SeenCommand = {
  readonly name: string;
  readonly collection: string;
  /** Number of its transaction in its session; undefined outside of one. */
  readonly transaction: string | undefined;
  readonly starts: boolean;
};

type Document = { [key: string]: unknown };

const OP_REPLY = 1;
const OP_MSG = 2013;
const HEADER_BYTES = 16;
/** What stands before the document: flags and kind of section; in the older reply flags, cursor and two counts. */
const MESSAGE_PREFIX = 5;
const REPLY_PREFIX = 20;

export class TransactionsDouble {
  readonly url: string;
  readonly commands: SeenCommand[] = [];
  readonly #server: Server;
  readonly #port: number;
  readonly #behind: number;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, url: string, behind: number) {
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
    this.#behind = behind;
    this.url = url.replace(`:${behind}`, `:${this.#port}`);
    server.on('connection', (socket) => this.#serve(socket));
  }

  /** @param url of the server behind it, on 127.0.0.1 */
  static async start(url: string): Promise<TransactionsDouble> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TransactionsDouble(server, url, Number(/:(\d+)/.exec(url)?.[1]));
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(client: Socket): void {
    const server = connect(this.#behind, '127.0.0.1');
    for (const [one, other] of [[client, server] as const, [server, client] as const]) {
      this.#sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
    eachMessage(client, (message) => {
      const answer = this.#take(message);
      if (answer.to === 'client') client.write(answer.message);
      else server.write(answer.message);
    });
    eachMessage(server, (message) => void client.write(this.#asReplicaSet(message)));
  }

  #take(message: Buffer): { readonly to: 'client' | 'server'; readonly message: Buffer } {
    if (message.readInt32LE(12) !== OP_MSG) return { to: 'server', message };
    const at = HEADER_BYTES + MESSAGE_PREFIX;
    const command = documentAt(message, at);
    const seen = seenIn(command);
    this.commands.push(seen);
    const isProbe = seen.collection === 'probes' && seen.transaction !== undefined;
    if (isProbe || ['commitTransaction', 'abortTransaction'].includes(seen.name)) {
      return { to: 'client', message: reply(message, { ok: 1, n: 1 }) };
    }
    for (const key of ['lsid', 'txnNumber', 'autocommit', 'startTransaction', 'readConcern']) delete command[key];
    return { to: 'server', message: withDocument(message, at, command) };
  }

  #asReplicaSet(message: Buffer): Buffer {
    const at = HEADER_BYTES + (message.readInt32LE(12) === OP_REPLY ? REPLY_PREFIX : MESSAGE_PREFIX);
    const answer = documentAt(message, at);
    if (!('isWritablePrimary' in answer || 'ismaster' in answer)) return message;
    const me = `127.0.0.1:${this.#port}`;
    return withDocument(message, at, { ...answer, setName: 'double', setVersion: 1, hosts: [me], me, primary: me });
  }
}

function seenIn(command: Document): SeenCommand {
  const [name = '', first] = Object.entries(command)[0] ?? [];
  return {
    name,
    collection: typeof first === 'string' ? first : '',
    transaction: command.autocommit === false ? String(command.txnNumber) : undefined,
    starts: command.startTransaction === true,
  };
}

const documentAt = (message: Buffer, at: number): Document =>
  BSON.deserialize(message.subarray(at, at + message.readInt32LE(at)), { promoteValues: false });

function withDocument(message: Buffer, at: number, document: Document): Buffer {
  const after = message.subarray(at + message.readInt32LE(at));
  const changed = Buffer.concat([message.subarray(0, at), BSON.serialize(document), after]);
  changed.writeInt32LE(changed.length, 0);
  return changed;
}

function reply(request: Buffer, document: Document): Buffer {
  const message = Buffer.concat([Buffer.alloc(HEADER_BYTES + MESSAGE_PREFIX), BSON.serialize(document)]);
  message.writeInt32LE(message.length, 0);
  message.writeInt32LE(request.readInt32LE(4), 8);
  message.writeInt32LE(OP_MSG, 12);
  return message;
}

/** Calls back with each whole message of the wire protocol: its length comes first. */
function eachMessage(socket: Socket, take: (message: Buffer) => void): void {
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    while (received.length >= 4 && received.length >= received.readInt32LE(0)) {
      const length = received.readInt32LE(0);
      take(received.subarray(0, length));
      received = received.subarray(length);
    }
  });
}
