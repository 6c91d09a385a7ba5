/**
 * A protocol double of a cluster of three EventStoreDB nodes. They share one log, as if each event were on all of them;
 * who leads is for the test to say. Each stands behind a proxy, by which its machine hangs.
 */
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import { ServerCredentials, status } from '@grpc/grpc-js';
import { DoubleLog, type DoubleRecord } from './doubleLog.js';
import { failure } from './doubleRefusal.js';
import type { Dialect } from './doubleSubscription.js';
import { EventStoreDouble } from './eventStoreDouble.js';
import { TcpProxy } from './tcpProxy.js';

const { VNodeState } = gossip.MemberInfo;

type Certificate = { readonly cert: string; readonly key: string };

export type ClusterNode = { readonly double: EventStoreDouble; readonly proxy: TcpProxy };

export class ClusterDouble {
  readonly log = new DoubleLog();
  readonly nodes: ClusterNode[] = [];
  #leader: ClusterNode | undefined;
  /** Nodes that the others know to be away. */
  readonly #missing = new Set<ClusterNode>();
  /** The node that takes itself for the leader, and is not. */
  #deposed: ClusterNode | undefined;

  readonly #certificate: Certificate | undefined;
  readonly #dialect: Dialect | undefined;

  private constructor(certificate: Certificate | undefined, dialect: Dialect | undefined) {
    this.#certificate = certificate;
    this.#dialect = dialect;
  }

  /** @param certificate of the nodes, in PEM; without one they speak no TLS */
  static async start(certificate?: Certificate, dialect?: Dialect): Promise<ClusterDouble> {
    const cluster = new ClusterDouble(certificate, dialect);
    for (let count = 0; count < 3; count++) cluster.nodes.push(await cluster.#startNode());
    cluster.elect(cluster.nodes[0]);
    return cluster;
  }

  /** Addresses of the nodes, for a URL. */
  get hosts(): string {
    return this.nodes.map(({ proxy }) => `127.0.0.1:${proxy.port}`).join(',');
  }

  get url(): string {
    return `esdb://${this.hosts}?tls=false`;
  }

  get leader(): ClusterNode {
    if (this.#leader === undefined) throw new Error('No node leads.');
    return this.#leader;
  }

  /** All nodes but the leader. */
  get followers(): readonly ClusterNode[] {
    return this.nodes.filter((node) => node !== this.#leader);
  }

  /**
   * Until now the nodes told what was so before: that a leader which hangs is alive and leads.
   * @param leader undefined during the election
   * @param missing nodes that are away
   */
  elect(leader: ClusterNode | undefined, missing: readonly ClusterNode[] = []): void {
    this.#leader = leader;
    this.#missing.clear();
    for (const node of missing) this.#missing.add(node);
  }

  /**
   * The node takes itself for the leader, as one does that hung during an election. It shows an older copy of the log,
   * and stores nothing, since no other follows it.
   * @param copy undefined once it knows better
   */
  depose(node: ClusterNode, copy: readonly DoubleRecord[] | undefined): void {
    this.#deposed = copy && node;
    node.double.log = copy === undefined ? this.log : new DoubleLog();
    if (copy !== undefined) node.double.log.restore(copy);
    node.double.appends.frozen = copy !== undefined;
  }

  async dispose(): Promise<void> {
    for (const { double, proxy } of this.nodes) {
      await double.dispose();
      await proxy.dispose();
    }
  }

  async #startNode(): Promise<ClusterNode> {
    const membership = {
      gossip: () => this.#gossip(double === this.#deposed?.double ? this.#deposed : this.#leader),
      refusal: () =>
        double === this.#leader?.double || double === this.#deposed?.double ? undefined : this.#notLeader(),
    };
    const double: EventStoreDouble = new EventStoreDouble(this.log, membership, this.#credentials(), this.#dialect);
    await double.start();
    return { double, proxy: await TcpProxy.start(double.port) };
  }

  #credentials(): ServerCredentials | undefined {
    if (this.#certificate === undefined) return undefined;
    const { cert, key } = this.#certificate;
    return ServerCredentials.createSsl(null, [{ cert_chain: Buffer.from(cert), private_key: Buffer.from(key) }]);
  }

  #gossip(leader: ClusterNode | undefined) {
    const members = this.nodes.map((node) => {
      const endPoint = new gossip.EndPoint().setAddress('127.0.0.1').setPort(node.proxy.port);
      const state = node === leader ? VNodeState.LEADER : VNodeState.FOLLOWER;
      return new gossip.MemberInfo()
        .setHttpEndPoint(endPoint)
        .setIsAlive(node === leader || !this.#missing.has(node))
        .setState(leader === undefined ? VNodeState.UNKNOWN : state);
    });
    return new gossip.ClusterInfo().setMembersList(members);
  }

  /** As the server says it: with the leader's address, or that it knows none. */
  #notLeader() {
    if (this.#leader === undefined) return failure(status.UNKNOWN, '', {}, 'No leader info available in response');
    return failure(status.NOT_FOUND, 'not-leader', {
      'leader-endpoint-host': '127.0.0.1',
      'leader-endpoint-port': String(this.#leader.proxy.port),
    });
  }
}
