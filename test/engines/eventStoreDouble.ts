/**
 * A protocol double of EventStoreDB: speaks its gRPC protocol over a log in memory, as far as the adapter uses it.
 * It shows that the adapter uses the client and the protocol rightly; it is no proof about a real server.
 */
import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import type { ClusterInfo } from '@eventstore/db-client/generated/gossip_pb.js';
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams, { type ReadReq } from '@eventstore/db-client/generated/streams_pb.js';
import { type sendUnaryData as Answer, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { DoubleAppends } from './doubleAppends.js';
import { DoubleLog } from './doubleLog.js';
import { failure, type Refusal } from './doubleRefusal.js';
import { AllSubscription, confirmation, type Dialect, type ReadCall, readEvent } from './doubleSubscription.js';

const service = {
  ...StreamsService,
  read: {
    ...StreamsService.read,
    responseSerialize: (answer: streams.ReadResp | Buffer) =>
      Buffer.isBuffer(answer) ? answer : Buffer.from(answer.serializeBinary()),
  },
};

/** What a node of a cluster says beyond its log. */
type Membership = {
  readonly gossip: () => ClusterInfo;
  /** The answer to a call that wants the leader; undefined where this node is it. */
  readonly refusal: () => Refusal | undefined;
};

export class EventStoreDouble {
  /** What reads show; appends go to the log that it was made with. */
  log: DoubleLog;
  readonly #dialect: Dialect;
  readonly #membership: Membership | undefined;
  readonly #credentials: ServerCredentials;
  #server: Server | undefined;
  #port = 0;
  #frozen = false;
  readonly appends: DoubleAppends;

  /** @param membership of a node of a cluster, whose nodes share one log */
  constructor(
    log = new DoubleLog(),
    membership?: Membership,
    credentials = ServerCredentials.createInsecure(),
    dialect: Dialect = '23.10',
  ) {
    this.log = log;
    this.#dialect = dialect;
    this.#membership = membership;
    this.#credentials = credentials;
    this.appends = new DoubleAppends(log, () => membership?.refusal());
  }

  static async start(dialect?: Dialect): Promise<EventStoreDouble> {
    const double = new EventStoreDouble(undefined, undefined, undefined, dialect);
    await double.start();
    return double;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `esdb://127.0.0.1:${this.#port}?tls=false`;
  }

  /** After `kill`: again on the same port, with the same log. */
  async start(): Promise<void> {
    const server = new Server({ 'grpc.max_receive_message_length': 17 * 1024 * 1024 });
    server.addService(service, {
      append: this.appends.take.bind(this.appends),
      read: (call: ReadCall) => this.#read(call),
    });
    const membership = this.#membership;
    if (membership !== undefined) {
      server.addService(GossipService, {
        read: (_: unknown, answer: Answer<ClusterInfo>) => answer(null, membership.gossip()),
      });
    }
    const address = `127.0.0.1:${this.#port}`;
    this.#port = await new Promise<number>((resolve, reject) => {
      server.bindAsync(address, this.#credentials, (error, port) => (error === null ? resolve(port) : reject(error)));
    });
    this.#server = server;
  }

  /** As when its process is killed: connections break. */
  async kill(): Promise<void> {
    this.#server?.forceShutdown();
    this.#server = undefined;
  }

  dispose(): Promise<void> {
    return this.kill();
  }

  /** It takes calls, and answers none. */
  freeze(frozen: boolean): void {
    this.#frozen = frozen;
    this.appends.frozen = frozen;
  }

  #read(call: ReadCall): void {
    const options = call.request.getOptions();
    const refusal = this.#membership?.refusal();
    if (refusal !== undefined) {
      if (this.#dialect === '25.0' && options?.hasSubscription()) call.write(confirmation());
      call.emit('error', refusal);
      return;
    }
    if (this.#frozen || options === undefined) return;
    if (options.hasStream()) this.#readStream(call, options);
    else if (options.hasSubscription()) this.#subscribe(call, options);
    else this.#readAll(call, options);
  }

  #subscribe(call: ReadCall, options: ReadReq.Options): void {
    const from = positionIn(options);
    const refused = from !== undefined && (this.log.isInsideRecord(from) || from > this.log.end);
    if (refused && this.#dialect === '23.10') {
      call.emit('error', failure(status.UNKNOWN, '', {}, 'Exception was thrown by handler.'));
      return;
    }
    call.write(confirmation());
    if (refused)
      call.emit('error', failure(status.INVALID_ARGUMENT, '', {}, 'Trying to read from an invalid position.'));
    else void new AllSubscription(this.log, call, options).run();
  }

  #readStream(call: ReadCall, options: ReadReq.Options): void {
    const from = options.getStream();
    const name = text(from?.getStreamIdentifier()?.getStreamName_asU8());
    const stored = this.log.stream(name);
    if (stored.length === 0) {
      const missing = new streams.ReadResp.StreamNotFound();
      const identifier = from?.getStreamIdentifier();
      if (identifier !== undefined) missing.setStreamIdentifier(identifier);
      call.write(new streams.ReadResp().setStreamNotFound(missing));
      call.end();
      return;
    }
    const count = Number(options.getCount());
    const backwards = options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS;
    const revision = from?.hasRevision() === true ? Number(from.getRevision()) : backwards ? stored.length - 1 : 0;
    const wanted = backwards ? stored.slice(0, revision + 1).reverse() : stored.slice(revision);
    for (const record of wanted.slice(0, count)) call.write(readEvent(record));
    call.end();
  }

  #readAll(call: ReadCall, options: ReadReq.Options): void {
    const { log } = this;
    const given = positionIn(options);
    const forwards = options.getReadDirection() === streams.ReadReq.Options.ReadDirection.FORWARDS;
    const isBehindEnd = given !== undefined && given > log.end;
    if (given !== undefined && (forwards ? log.isInsideRecord(given) : isBehindEnd)) {
      const result = this.#dialect === '23.10' ? 'Error' : 'InvalidPosition';
      call.emit('error', failure(status.UNKNOWN, '', {}, `Unexpected ReadAllResult: ${result}`));
      return;
    }
    const count = Number(options.getCount());
    const records = forwards ? log.from(given ?? 0).slice(0, count) : log.before(given ?? log.end, count);
    for (const record of records) call.write(readEvent(record));
    call.end();
  }
}

const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('utf8');

/** Undefined at the start and at the end. */
function positionIn(options: ReadReq.Options): number | undefined {
  const all = options.getAll();
  return all?.hasPosition() === true ? Number(all.getPosition()?.getCommitPosition()) : undefined;
}
