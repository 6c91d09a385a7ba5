/** Appends and their outcomes in the server's protocol: as messages of an open call, and as calls of their own. */
import { WrongExpectedVersionError } from '@eventstore/db-client';
import { unpackToCommandError } from '@eventstore/db-client/dist/streams/appendToStream/unpackError.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams, {
  type AppendReq,
  type AppendResp,
  type BatchAppendReq,
  type BatchAppendResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import type { ExpectedRevision, Position, Revision } from '../../../ports/eventStore.js';
import { type EncodedEvent, toPosition } from './encoding.js';

/** One message of an open call, or one call of its own. */
export type Append = {
  readonly stream: string;
  readonly events: readonly EncodedEvent[];
  readonly expectedRevision: ExpectedRevision;
};

/** The last event's revision and position. The answer to an append that was already stored may lack the position. */
export type Appended = { readonly revision: Revision; readonly position: Position | undefined };

export type AppendOutcome = Appended | 'conflict';

/**
 * No deadline is sent: the server would compare it with its own clock, and refuse all appends of a service whose clock
 * is slow. The caller waits no longer than its own deadline.
 */
export function toMessage(id: string, { stream, events, expectedRevision }: Append): BatchAppendReq {
  const options = new streams.BatchAppendReq.Options().setStreamIdentifier(named(stream));
  if (expectedRevision === 'any') options.setAny(new shared.Empty());
  else if (expectedRevision === 'no-stream') options.setNoStream(new shared.Empty());
  else options.setStreamPosition(String(expectedRevision));
  return new streams.BatchAppendReq()
    .setCorrelationId(new shared.UUID().setString(id))
    .setOptions(options)
    .setProposedMessagesList(events.map((event) => filled(new streams.BatchAppendReq.ProposedMessage(), event)))
    .setIsFinal(true);
}

/** The messages of an append in a call of its own. */
export function* toMessages({ stream, events, expectedRevision }: Append): Generator<AppendReq> {
  const options = new streams.AppendReq.Options().setStreamIdentifier(named(stream));
  if (expectedRevision === 'any') options.setAny(new shared.Empty());
  else if (expectedRevision === 'no-stream') options.setNoStream(new shared.Empty());
  else options.setRevision(String(expectedRevision));
  yield new streams.AppendReq().setOptions(options);
  for (const event of events) {
    yield new streams.AppendReq().setProposedMessage(filled(new streams.AppendReq.ProposedMessage(), event));
  }
}

/** The id of the append that this answers. */
export const idOf = (answer: BatchAppendResp): string => answer.getCorrelationId()?.getString() ?? '';

/** @throws what the client throws for such an answer */
export function outcomeOf(answer: BatchAppendResp | AppendResp, stream: string): AppendOutcome {
  const success = answer.getSuccess();
  if (success !== undefined) {
    const commit = success.getPosition()?.getCommitPosition();
    return {
      revision: Number(success.getCurrentRevision()),
      position: commit === undefined ? undefined : toPosition(BigInt(commit)),
    };
  }
  const status = 'getError' in answer ? answer.getError() : undefined;
  if (status === undefined) return 'conflict';
  const error = unpackToCommandError(status, stream);
  if (error instanceof WrongExpectedVersionError) return 'conflict';
  throw error;
}

const named = (stream: string) => new shared.StreamIdentifier().setStreamName(Buffer.from(stream));

/** Passes bytes on unchanged: the client would serialise the data once more, and encode both in base64. */
function filled<M extends AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage>(
  message: M,
  event: EncodedEvent,
): M {
  message.setId(new shared.UUID().setString(event.id)).setData(event.data).setCustomMetadata(event.metadata);
  message.getMetadataMap().set('type', event.type).set('content-type', 'application/json');
  return message;
}
