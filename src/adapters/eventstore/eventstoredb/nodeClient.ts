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
import { AppendingClient } from './appendingClient.js';

/** A node of a cluster, as another node reports it. */
export type Member = { readonly endPoint: EndPoint; readonly leads: boolean };

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
