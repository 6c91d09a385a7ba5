import type { EndPoint } from '@eventstore/db-client';
import type { AppendingClient } from './appendingClient.js';
import type { Connection } from './connection.js';
import type { Member, NodeClient } from './nodeClient.js';

/** Limit for one node's answer, in milliseconds. */
const GOSSIP_MS = 1_000;

type Cluster = Extract<Connection['nodes'], { readonly kind: 'cluster' }>;

/** The nodes of a cluster and their clients. */
export class Members {
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
    const told = new Map<string, EndPoint>();
    this.failure = undefined;
    return new Promise((resolve) => {
      let staying: NodeClient | undefined;
      const ask = async (endPoint: EndPoint): Promise<void> => {
        const name = nameOf(endPoint);
        if (asked.has(name)) return;
        asked.add(name);
        const client = this.#client(endPoint);
        const members = await this.#gossip(client);
        for (const member of members) told.set(nameOf(member.endPoint), member.endPoint);
        const leads = members.some((member) => member.leads && nameOf(member.endPoint) === name);
        if (leads && client === now) staying = client;
        else if (leads) resolve(client);
        await Promise.all(members.map((member) => ask(member.endPoint)));
      };
      void Promise.all([...this.#cluster.named, ...this.#known].map(ask)).then(() => {
        if (told.size > 0) this.#keep([...told.values()], now);
        resolve(staying);
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
  #keep(told: readonly EndPoint[], now: AppendingClient | undefined): void {
    this.#known = told;
    const names = new Set([...this.#cluster.named, ...told].map(nameOf));
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
