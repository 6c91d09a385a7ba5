/** How the protocol double takes appends: in a call each, and over a call that stays open, as the server (version 23.10) does. */
import codes from '@eventstore/db-client/generated/code_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import statuses from '@eventstore/db-client/generated/status_pb.js';
import streams, { type AppendReq, type BatchAppendReq } from '@eventstore/db-client/generated/streams_pb.js';
import {
  type sendUnaryData as Answer,
  type ServerDuplexStream,
  type ServerReadableStream,
  status,
} from '@grpc/grpc-js';
import type { Message } from 'google-protobuf';
import any from 'google-protobuf/google/protobuf/any_pb.js';
import { type DoubleEvent, type DoubleLog, type DoubleOutcome, MAX_APPEND_SIZE } from './doubleLog.js';
import { failure, type Refusal } from './doubleRefusal.js';

type Call = ServerReadableStream<AppendReq, streams.AppendResp>;
type OpenCall = ServerDuplexStream<BatchAppendReq, streams.BatchAppendResp>;
type Outcome = DoubleOutcome | { readonly kind: 'too large' } | { readonly kind: 'answer lost' };

const { Code } = codes;
type Code = codes.Code;

export class DoubleAppends {
  /** Those that reached the log. */
  count = 0;
  frozen = false;
  /** Who the last append came from, as its call says it. */
  authorization: unknown;
  /** So many of the next appends are stored, but their answer is lost. */
  answersToLose = 0;
  readonly #open = new Set<OpenCall>();
  readonly #log: DoubleLog;
  readonly #refusal: () => Refusal | undefined;

  /** @param refusal what an append gets where another node leads */
  constructor(log: DoubleLog, refusal: () => Refusal | undefined) {
    this.#log = log;
    this.#refusal = refusal;
  }

  /** Quietly is how servers of versions 24.6 to 24.10.2 end a call in which they have failed. */
  endCalls(how: 'quietly' | 'with an error'): void {
    for (const call of this.#open) {
      this.#open.delete(call);
      if (how === 'quietly') call.end();
      else call.emit('error', failure(status.UNAVAILABLE, ''));
    }
  }

  /** An append in a call of its own. */
  takeOne(call: Call, answer: Answer<streams.AppendResp>): void {
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
      if (this.frozen) return;
      const stream = nameIn(options);
      const revision = options?.hasRevision() === true ? Number(options.getRevision()) : undefined;
      const outcome = this.#write(stream, revision ?? (options?.hasNoStream() === true ? 'no-stream' : 'any'), events);
      if (outcome.kind === 'stored') answer(null, stored(outcome));
      else if (outcome.kind === 'conflict') answer(null, conflict(outcome.actual));
      else answer(refusalOf(outcome));
    });
  }

  /** Appends over a call that stays open: it ends when one of them comes while another node leads. */
  takeMany(call: OpenCall): void {
    this.authorization = call.metadata.get('authorization')[0];
    this.#open.add(call);
    call.on('cancelled', () => this.#open.delete(call));
    const end = (refusal: Refusal): void => {
      this.#open.delete(call);
      call.emit('error', refusal);
    };
    call.on('data', (request: BatchAppendReq) => {
      if (this.frozen || !this.#open.has(call)) return;
      const refusal = this.#refusal();
      if (refusal !== undefined && refusal.code !== status.UNKNOWN) {
        end(refusal);
        return;
      }
      const options = request.getOptions();
      const answer = new streams.BatchAppendResp()
        .setCorrelationId(request.getCorrelationId())
        .setStreamIdentifier(options?.getStreamIdentifier());
      if (refusal !== undefined) {
        call.write(
          answer.setError(withDetails(Code.UNKNOWN, refusal.details, 'google.protobuf.Empty', new shared.Empty())),
        );
        return;
      }
      const events = request.getProposedMessagesList().map(proposed);
      const revision = options?.hasStreamPosition() === true ? Number(options.getStreamPosition()) : undefined;
      const expected = revision ?? (options?.hasNoStream() === true ? 'no-stream' : 'any');
      const outcome = this.#write(nameIn(options), expected, events);
      if (outcome.kind === 'answer lost') end(refusalOf(outcome));
      else call.write(filled(answer, outcome));
    });
  }

  #write(stream: string, expected: number | 'any' | 'no-stream', events: readonly DoubleEvent[]): Outcome {
    this.count += 1;
    if (this.#log.tooLarge(events)) return { kind: 'too large' };
    const outcome = this.#log.write(stream, expected, events);
    if (this.answersToLose === 0) return outcome;
    this.answersToLose -= 1;
    return { kind: 'answer lost' };
  }
}

type Options = AppendReq.Options | BatchAppendReq.Options | undefined;

const nameIn = (options: Options): string =>
  Buffer.from(options?.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString('utf8');

function proposed(message: AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage): DoubleEvent {
  const metadata = message.getMetadataMap();
  return {
    id: message.getId()?.getString() ?? '',
    type: metadata.get('type') ?? '',
    contentType: metadata.get('content-type') ?? '',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  };
}

function stored({ revision, position }: DoubleOutcome & { readonly kind: 'stored' }): streams.AppendResp {
  const at = new streams.AppendResp.Position();
  at.setCommitPosition(String(position)).setPreparePosition(String(position));
  const success = new streams.AppendResp.Success().setCurrentRevision(String(revision)).setPosition(at);
  return new streams.AppendResp().setSuccess(success);
}

function conflict(actual: number | undefined): streams.AppendResp {
  const wrong = new streams.AppendResp.WrongExpectedVersion();
  if (actual !== undefined) wrong.setCurrentRevision(String(actual));
  return new streams.AppendResp().setWrongExpectedVersion(wrong);
}

/** How a call of its own ends, with what the server's metadata say. */
function refusalOf({ kind }: Outcome): Refusal {
  if (kind === 'answer lost') return failure(status.UNAVAILABLE, '');
  return failure(status.INVALID_ARGUMENT, 'maximum-append-size-exceeded', {
    'maximum-append-size': String(MAX_APPEND_SIZE),
  });
}

/** The answer over an open call, where what the server refuses is in the message. */
function filled(answer: streams.BatchAppendResp, outcome: Outcome): streams.BatchAppendResp {
  if (outcome.kind === 'stored') {
    const { revision, position } = outcome;
    const at = new shared.AllStreamPosition();
    at.setCommitPosition(String(position)).setPreparePosition(String(position));
    return answer.setSuccess(
      new streams.BatchAppendResp.Success().setCurrentRevision(String(revision)).setPosition(at),
    );
  }
  if (outcome.kind === 'conflict') {
    const wrong = new shared.WrongExpectedVersion();
    if (outcome.actual !== undefined) wrong.setCurrentStreamRevision(String(outcome.actual));
    return answer.setError(detailed(Code.ALREADY_EXISTS, 'WrongExpectedVersion', wrong));
  }
  const large = new shared.MaximumAppendSizeExceeded().setMaxappendsize(MAX_APPEND_SIZE);
  return answer.setError(detailed(Code.INVALID_ARGUMENT, 'MaximumAppendSizeExceeded', large));
}

const detailed = (code: Code, name: string, details: Message): statuses.Status =>
  withDetails(code, name, `event_store.client.${name}`, details);

function withDetails(code: Code, message: string, type: string, details: Message): statuses.Status {
  const packed = new any.Any();
  packed.pack(details.serializeBinary(), type);
  return new statuses.Status().setCode(code).setMessage(message).setDetails(packed);
}
