/** Appends, and their outcomes, as the server's protocol has them: over a call that stays open, and in a call of their own. */
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

/** What one call, or one message of the call that stays open, asks for. */
export type Append = {
  readonly stream: string;
  readonly events: readonly EncodedEvent[];
  readonly expectedRevision: ExpectedRevision;
};

/** Of the last event. The answer to an append that was stored before may have no position. */
export type Appended = { readonly revision: Revision; readonly position: Position | undefined };

export type AppendOutcome = Appended | 'conflict';

/**
 * No deadline is asked for: the server compares it with its own clock, and would refuse all appends of a service whose
 * clock is behind. Who asked waits no longer than its own deadline.
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

/** The messages of a call of its own. */
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

/** The id of the append that this is the answer to. */
export const idOf = (answer: BatchAppendResp): string => answer.getCorrelationId()?.getString() ?? '';

/** @throws what the client throws of such an answer */
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

/** Bytes as they are: the client would write the data as JSON once more, and both in base64 on their way into the message. */
function filled<M extends AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage>(
  message: M,
  event: EncodedEvent,
): M {
  message.setId(new shared.UUID().setString(event.id)).setData(event.data).setCustomMetadata(event.metadata);
  message.getMetadataMap().set('type', event.type).set('content-type', 'application/json');
  return message;
}
