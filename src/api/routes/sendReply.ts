/** Sends what a handler answers: with its ETag, in fewer bytes where the client asks for it, or 304 where it has it already. */
import type { Request, Response } from 'express';
import { encodingFor } from '../compression.js';
import type { Api } from '../deps.js';
import { etag, heldTag, tagOfText } from '../entityTags.js';
import { bytesOf, type JsonText, joined, sendJson } from '../jsonAnswer.js';
import { tooManyRequests } from '../rateLimit.js';
import type { Reply } from './operation.js';

/** @param reply with the status that the operation names, where it has none of its own */
export async function sendReply(api: Api, req: Request, res: Response, reply: Reply): Promise<void> {
  const { status = 200, headers } = reply;
  const body = reply.body && joined(reply.body);
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    if (body !== undefined) countInFlight(api, req, res, body);
    sendJson(res, status, body, reply.tag === undefined ? headers : { ...headers, ETag: etag(reply.tag) });
    return;
  }
  tellStaleness(api, req, res);
  res.setHeader('Vary', 'Accept-Encoding');
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
  countInFlight(api, req, res, body);
  if (encoding === undefined) {
    sendJson(res, status, body, described);
    return;
  }
  const { tenantName = '', deadline } = req.context;
  const bytes =
    reply.compressed?.[encoding] ?? (await deadline.within(api.compression.compress(body, encoding, tenantName)));
  if (!res.writableEnded) sendJson(res, status, [bytes], { ...described, 'Content-Encoding': encoding });
}

/** What reads show may be a little behind what was written. */
function tellStaleness({ staleness }: Api, { context }: Request, res: Response): void {
  if (context.tenantName === undefined) return;
  const seconds = staleness(context.tenantName);
  if (seconds > 0) res.setHeader('Projection-Staleness', String(seconds));
}

/** What was written is answered in any case. @throws HttpError 429 for a read, while clients of the tenant leave too much untaken */
function countInFlight({ answers }: Api, { context, method }: Request, res: Response, body: JsonText): void {
  const { tenantName } = context;
  if (tenantName === undefined) return;
  if (method === 'GET' && !answers.hasRoom(tenantName)) {
    throw tooManyRequests('Too many answers wait for the clients of this tenant to take them.', 1);
  }
  answers.add(tenantName, bytesOf(body), res);
}
