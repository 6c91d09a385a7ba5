/** How the protocol double takes appends: in a call each. */
import streams, { type AppendReq } from '@eventstore/db-client/generated/streams_pb.js';
import { type sendUnaryData as Answer, type ServerReadableStream, status } from '@grpc/grpc-js';
import type { DoubleEvent, DoubleLog, DoubleOutcome } from './doubleLog.js';
import { failure, type Refusal } from './doubleRefusal.js';

type Call = ServerReadableStream<AppendReq, streams.AppendResp>;

export class DoubleAppends {
  /** Those that reached the log. */
  count = 0;
  frozen = false;
  /** Who the last append came from, as its call says it. */
  authorization: unknown;
  readonly #log: DoubleLog;
  readonly #refusal: () => Refusal | undefined;

  /** @param refusal what an append gets where another node leads */
  constructor(log: DoubleLog, refusal: () => Refusal | undefined) {
    this.#log = log;
    this.#refusal = refusal;
  }

  take(call: Call, answer: Answer<streams.AppendResp>): void {
    this.authorization = call.metadata.get('authorization')[0];
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      answer(refusal);
      return;
    }
    const events: DoubleEvent[] = [];
    let options: AppendReq.Options | undefined;
    call.on('data', (request: AppendReq) => {
      options ??= request.getOptions();
      const message = request.getProposedMessage();
      if (message !== undefined) events.push(proposed(message));
    });
    call.on('end', () => {
      if (!this.frozen) this.#write(options, events, answer);
    });
  }

  #write(
    options: AppendReq.Options | undefined,
    events: readonly DoubleEvent[],
    answer: Answer<streams.AppendResp>,
  ): void {
    this.count += 1;
    if (this.#log.tooLarge(events)) {
      const details = { 'maximum-append-size': String(this.#log.maxAppendSize) };
      answer(failure(status.INVALID_ARGUMENT, 'maximum-append-size-exceeded', details));
      return;
    }
    const stream = Buffer.from(options?.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString('utf8');
    const revision = options?.hasRevision() === true ? Number(options.getRevision()) : undefined;
    const expected = revision ?? (options?.hasNoStream() === true ? 'no-stream' : 'any');
    const outcome = this.#log.write(stream, expected, events);
    answer(null, responseTo(outcome));
  }
}

function proposed(message: AppendReq.ProposedMessage): DoubleEvent {
  const metadata = message.getMetadataMap();
  return {
    id: message.getId()?.getString() ?? '',
    type: metadata.get('type') ?? '',
    contentType: metadata.get('content-type') ?? '',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  };
}

function responseTo(outcome: DoubleOutcome): streams.AppendResp {
  if (outcome.kind === 'conflict') {
    const wrong = new streams.AppendResp.WrongExpectedVersion();
    if (outcome.actual !== undefined) wrong.setCurrentRevision(String(outcome.actual));
    return new streams.AppendResp().setWrongExpectedVersion(wrong);
  }
  const { revision, position } = outcome;
  const at = new streams.AppendResp.Position();
  at.setCommitPosition(String(position)).setPreparePosition(String(position));
  const success = new streams.AppendResp.Success().setCurrentRevision(String(revision)).setPosition(at);
  return new streams.AppendResp().setSuccess(success);
}
