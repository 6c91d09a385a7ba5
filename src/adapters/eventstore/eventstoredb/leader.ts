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
      void this.ask();
      overdue = setTimeout(checkAgain, ASK_AGAIN_MS);
    };
    let overdue = this.#members && setTimeout(checkAgain, OVERDUE_MS);
    try {
      return await Promise.race([call(node.client), left]);
    } catch (error) {
      if (isTransient(error)) void this.ask();
      throw error;
    } finally {
      clearTimeout(overdue);
      release();
    }
  }

  /** @throws NoLeaderError */
  async node(): Promise<LeadingNode> {
    if (this.#node !== undefined) return this.#node;
    await this.ask();
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
  ask(): Promise<void> {
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
   * The client of the node that most of the nodes name as the leader, itself among them. For a while, the others still
   * name a leader that hangs or died; and a node that hung for a while still names itself, and may lack events that the
   * next leader has shown.
   * @param now the current leader's client; it is kept
   * @returns undefined if there is none in time
   */
  leader(now: AppendingClient | undefined): Promise<NodeClient | undefined> {
    const asked = new Set<string>();
    const answers = new Answers();
    this.failure = undefined;
    return new Promise((resolve) => {
      const ask = async (endPoint: EndPoint): Promise<void> => {
        const name = nameOf(endPoint);
        if (asked.has(name)) return;
        asked.add(name);
        const members = await this.#gossip(this.#client(endPoint));
        answers.add(name, members);
        const leader = answers.leader('of all');
        if (leader !== undefined) resolve(this.#client(leader));
        await Promise.all(members.map((member) => ask(member.endPoint)));
      };
      void Promise.all([...this.#cluster.named, ...this.#known].map(ask)).then(() => {
        if (answers.endPoints.length > 0) this.#forgetOthers(answers.endPoints, now);
        const leader = answers.leader('of those that answered');
        resolve(leader && this.#client(leader));
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
type Member = { readonly endPoint: EndPoint; readonly leads: boolean; readonly votes: boolean };

/** What the nodes of a cluster say of its members, one answer each. A node counts by the address that the members have. */
class Answers {
  readonly #members = new Map<string, Member>();
  readonly #answers = new Map<string, readonly Member[]>();

  /** @param members empty if the node did not answer */
  add(node: string, members: readonly Member[]): void {
    for (const member of members) this.#members.set(nameOf(member.endPoint), member);
    if (members.length > 0) this.#answers.set(node, members);
  }

  get endPoints(): readonly EndPoint[] {
    return [...this.#members.values()].map(({ endPoint }) => endPoint);
  }

  /**
   * The node that a majority names as the leader, and itself.
   * @param majority of all that vote; or, once no other answer is to come, of those that answered
   */
  leader(majority: 'of all' | 'of those that answered'): EndPoint | undefined {
    const voters = [...this.#members].flatMap(([name, { votes }]) => (votes ? [name] : []));
    const answered = voters.filter((name) => this.#answers.has(name));
    const half = (majority === 'of all' ? voters : answered).length / 2;
    const names = (by: string, leader: string): boolean =>
      this.#answers.get(by)?.some(({ endPoint, leads }) => leads && nameOf(endPoint) === leader) ?? false;
    const leader = answered.find((name) => names(name, name) && answered.filter((by) => names(by, name)).length > half);
    return leader === undefined ? undefined : this.#members.get(leader)?.endPoint;
  }
}

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

/** Copies for reads, and addresses of nodes that have not been met yet. */
const WITHOUT_VOTE: readonly number[] = [
  VNodeState.MANAGER,
  VNodeState.READONLYLEADERLESS,
  VNodeState.PREREADONLYREPLICA,
  VNodeState.READONLYREPLICA,
];

/** Empty for a node that accepts no calls from clients. */
function memberOf(member: MemberInfo): readonly Member[] {
  const endPoint = member.getHttpEndPoint();
  if (endPoint === undefined) return [];
  return [
    {
      endPoint: { address: endPoint.getAddress(), port: endPoint.getPort() },
      leads: member.getIsAlive() && member.getState() === VNodeState.LEADER,
      votes: !WITHOUT_VOTE.includes(member.getState()),
    },
  ];
}
