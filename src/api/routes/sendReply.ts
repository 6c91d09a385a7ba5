/** Sends a handler's answer: with its ETag, compressed if the client asks for it, or as 304. */
import type { Request, Response } from 'express';
import { encodingFor } from '../compression.js';
import type { Api } from '../deps.js';
import { etag, heldTag, tagOfText } from '../entityTags.js';
import { bytesOf, joined, sendJson } from '../jsonAnswer.js';
import { tooManyRequests } from '../rateLimit.js';
import type { Reply } from './operation.js';

/** @param reply has the operation's status if it has none of its own */
export async function sendReply(api: Api, req: Request, res: Response, reply: Reply): Promise<void> {
  const { status = 200, headers } = reply;
  const body = reply.body && joined(reply.body);
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    // A write is always answered, however full memory is.
    if (reply.isReplayed === true) res.setHeader('Idempotency-Replayed', 'true');
    sendJson(res, status, body, reply.tag === undefined ? headers : { ...headers, ETag: etag(reply.tag) });
    countInFlight(api, req, res, res.writableLength);
    return;
  }
  tellStaleness(api, req, res);
  res.vary('Accept-Encoding');
  // Ranges are not supported: the whole is sent (RFC 9110 §14.2, §14.3).
  if (req.headers.range !== undefined) res.setHeader('Accept-Ranges', 'none');
  const tag = reply.tag ?? (status === 200 && body !== undefined ? await tagOfText(body) : undefined);
  const held = tag === undefined ? undefined : heldTag(req, tag);
  if (held !== undefined) {
    sendJson(res, 304, undefined, { ...headers, ETag: held });
    return;
  }
  if (body === undefined) {
    sendJson(res, status, body, headers);
    return;
  }
  const encoding = encodingFor(req, body);
  const described = tag === undefined ? headers : { ...headers, ETag: etag(tag, encoding) };
  requireRoom(api, req);
  if (encoding === undefined) {
    sendJson(res, status, body, described);
    countInFlight(api, req, res, res.writableLength);
    return;
  }
  // Counted before compression, which may wait for its turn.
  countInFlight(api, req, res, bytesOf(body));
  const { tenantName = '', deadline } = req.context;
  const bytes =
    reply.compressed?.[encoding] ?? (await deadline.within(api.compression.compress(body, encoding, tenantName)));
  if (!res.writableEnded) sendJson(res, status, [bytes], { ...described, 'Content-Encoding': encoding });
}

/** Reads may lag behind writes. */
function tellStaleness({ staleness, pendingWrites }: Api, { context }: Request, res: Response): void {
  if (context.tenantName === undefined) return;
  const seconds = staleness(context.tenantName);
  if (seconds > 0) res.setHeader('Projection-Staleness', String(seconds));
  if (pendingWrites?.isLate(context.tenantName)) res.setHeader('Projection-Pending', 'true');
}

/** @throws HttpError 429 while the tenant's clients leave too many bytes untaken */
function requireRoom({ answers }: Api, { context: { tenantName } }: Request): void {
  if (tenantName === undefined || answers.hasRoom(tenantName)) return;
  throw tooManyRequests('Too many answers wait for the clients of this tenant to take them.', 1);
}

function countInFlight({ answers }: Api, { context: { tenantName } }: Request, res: Response, bytes: number): void {
  if (tenantName !== undefined) answers.add(tenantName, bytes, res);
}
