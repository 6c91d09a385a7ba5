/** The nodes of a cluster, and which of them leads. */
import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import {
  type ChannelCredentialOptions,
  type Credentials,
  convertToCommandError,
  type EndPoint,
  NotLeaderError,
  type SingleNodeOptions,
  VNodeState,
} from '@eventstore/db-client';
import { GossipClient } from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import type { MemberInfo } from '@eventstore/db-client/generated/gossip_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import { sleep } from '../../../supervision/waiting.js';
import { AppendingClient } from './appendingClient.js';
import { isTransient, LeaderChangedError, NoLeaderError } from './errors.js';

/** After this time a call is overdue, and the nodes are asked which one leads, in milliseconds. */
const OVERDUE_MS = 1_500;
/** Time between two such questions, in milliseconds. */
const ASK_AGAIN_MS = 100;

/** What a URL names: one server, or nodes of a cluster, any of which knows the others. */
export type Nodes = { readonly kind: 'one'; readonly client: AppendingClient } | Cluster;

type Cluster = {
  readonly kind: 'cluster';
  readonly named: readonly EndPoint[];
  readonly open: (endPoint: EndPoint) => NodeClient;
};

/** The node that led when it was looked up. */
export class LeadingNode {
  readonly client: AppendingClient;
  #left: LeaderChangedError | undefined;
  readonly #callbacks = new Set<(changed: LeaderChangedError) => void>();

  constructor(client: AppendingClient) {
    this.client = client;
  }

  /** Calls back when another node leads. @returns a function that unregisters the callback */
  onLeft(callback: (changed: LeaderChangedError) => void): () => void {
    if (this.#left !== undefined) callback(this.#left);
    this.#callbacks.add(callback);
    return () => this.#callbacks.delete(callback);
  }

  leave(): void {
    this.#left = new LeaderChangedError();
    for (const callback of this.#callbacks) callback(this.#left);
  }
}

/**
 * Finds the leader's client. When a call fails or is overdue, all nodes are asked which one leads: a leader whose
 * machine hangs keeps its connections and stays silent. With a single server there is nothing to ask.
 */
export class Leader {
  readonly #members: Members | undefined;
  #node: LeadingNode | undefined;
  #asking: Promise<void> | undefined;
  #askedAt = 0;

  constructor(nodes: Nodes) {
    if (nodes.kind === 'cluster') this.#members = new Members(nodes);
    else this.#node = new LeadingNode(nodes.client);
  }

  /**
   * The result of the call.
   * @throws what the call throws; LeaderChangedError if another node leads before the call has ended; NoLeaderError
   */
  async run<T>(call: (client: AppendingClient) => Promise<T>): Promise<T> {
    const node = await this.node();
    let release = (): void => undefined;
    const left = new Promise<never>((_, reject) => {
      release = node.onLeft(reject);
    });
    const checkAgain = (): void => {
      void this.#ask();
      overdue = setTimeout(checkAgain, ASK_AGAIN_MS);
    };
    let overdue = this.#members && setTimeout(checkAgain, OVERDUE_MS);
    try {
      return await Promise.race([call(node.client), left]);
    } catch (error) {
      if (isTransient(error)) void this.#ask();
      throw error;
    } finally {
      clearTimeout(overdue);
      release();
    }
  }

  /** @throws NoLeaderError */
  async node(): Promise<LeadingNode> {
    if (this.#node !== undefined) return this.#node;
    await this.#ask();
    if (this.#node === undefined) throw new NoLeaderError(this.#members?.failure);
    // When its channel is closed under a read, the library throws where it cannot be caught. That happens in the turn
    // of the event loop in which another call fails, so this one begins in a new turn.
    await eventLoopTurn();
    return this.#node;
  }

  async close(): Promise<void> {
    await (this.#members?.close() ?? this.#node?.client.dispose());
  }

  /** Looks up the leader and switches to it. One look-up at a time, at least ASK_AGAIN_MS apart. */
  #ask(): Promise<void> {
    this.#asking ??= this.#askMembers().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #askMembers(): Promise<void> {
    if (this.#members === undefined) return;
    await sleep(Math.max(0, this.#askedAt + ASK_AGAIN_MS - Date.now()));
    this.#askedAt = Date.now();
    const client = await this.#members.leader(this.#node?.client);
    if (client === undefined || client === this.#node?.client) return;
    const left = this.#node;
    this.#node = new LeadingNode(client);
    left?.leave();
  }
}

/** Limit for one node's answer, in milliseconds. */
const GOSSIP_MS = 1_000;

/** The nodes of a cluster and their clients. */
class Members {
  /** The last error of a node that did not answer. */
  failure: unknown;
  readonly #cluster: Cluster;
  readonly #clients = new Map<string, NodeClient>();
  /** The members that the nodes named last time. */
  #known: readonly EndPoint[] = [];

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    for (const endPoint of cluster.named) this.#client(endPoint);
  }

  /**
   * The client of the node that says of itself that it leads. The other nodes' answers are not enough: for a while they
   * still name a leader that hangs or died.
   * @param now the current leader's client; returned only if no other node leads
   * @returns undefined if no node claims to lead in time
   */
  leader(now: AppendingClient | undefined): Promise<NodeClient | undefined> {
    const asked = new Set<string>();
    const reported = new Map<string, EndPoint>();
    this.failure = undefined;
    return new Promise((resolve) => {
      let current: NodeClient | undefined;
      const ask = async (endPoint: EndPoint): Promise<void> => {
        const name = nameOf(endPoint);
        if (asked.has(name)) return;
        asked.add(name);
        const client = this.#client(endPoint);
        const members = await this.#gossip(client);
        for (const member of members) reported.set(nameOf(member.endPoint), member.endPoint);
        const leads = members.some((member) => member.leads && nameOf(member.endPoint) === name);
        if (leads && client === now) current = client;
        else if (leads) resolve(client);
        await Promise.all(members.map((member) => ask(member.endPoint)));
      };
      void Promise.all([...this.#cluster.named, ...this.#known].map(ask)).then(() => {
        if (reported.size > 0) this.#forgetOthers([...reported.values()], now);
        resolve(current);
      });
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.dispose()));
  }

  async #gossip(client: NodeClient): Promise<readonly Member[]> {
    try {
      return await client.members(GOSSIP_MS);
    } catch (error) {
      this.failure = error;
      return [];
    }
  }

  /** Drops nodes that have left the cluster, except the one in use. */
  #forgetOthers(reported: readonly EndPoint[], now: AppendingClient | undefined): void {
    this.#known = reported;
    const names = new Set([...this.#cluster.named, ...reported].map(nameOf));
    for (const [name, client] of this.#clients) {
      if (names.has(name) || client === now) continue;
      this.#clients.delete(name);
      void client.dispose();
    }
  }

  #client(endPoint: EndPoint): NodeClient {
    const client = this.#clients.get(nameOf(endPoint)) ?? this.#cluster.open(endPoint);
    this.#clients.set(nameOf(endPoint), client);
    return client;
  }
}

const nameOf = ({ address, port }: EndPoint): string => `${address}:${port}`;

/** A node of a cluster, as another node reports it. */
type Member = { readonly endPoint: EndPoint; readonly leads: boolean };

/** The client of one node of a cluster. It stays with its node, even if that names another as its leader. */
export class NodeClient extends AppendingClient {
  constructor(options: SingleNodeOptions, channel: ChannelCredentialOptions, credentials: Credentials | undefined) {
    super(options, channel, credentials);
    const reconnect = this.handleError;
    this.handleError = async (client, error) => {
      if (!(convertToCommandError(error) instanceof NotLeaderError)) await reconnect(client, error);
    };
  }

  /**
   * The cluster's members as this node knows them: its gossip, which needs no permission.
   * @throws what the client throws, after `timeoutMs` at the latest
   */
  members(timeoutMs: number): Promise<readonly Member[]> {
    const [metadata] = this.callArguments({});
    const ask = (gossip: GossipClient) =>
      new Promise<readonly Member[]>((resolve, reject) => {
        gossip.read(new shared.Empty(), metadata, { deadline: Date.now() + timeoutMs }, (error, answer) => {
          if (error === null) resolve(answer.getMembersList().flatMap(memberOf));
          else reject(error);
        });
      });
    return this.execute(GossipClient, 'gossip', ask);
  }
}

/** Empty for a node that accepts no calls from clients. */
function memberOf(member: MemberInfo): readonly Member[] {
  const endPoint = member.getHttpEndPoint();
  if (endPoint === undefined) return [];
  return [
    {
      endPoint: { address: endPoint.getAddress(), port: endPoint.getPort() },
      leads: member.getIsAlive() && member.getState() === VNodeState.LEADER,
    },
  ];
}
