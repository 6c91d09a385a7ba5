/** JSON text of answers: its size, and how it is sent. */
import type { Response } from 'express';

/** JSON text, as one string or in parts that are sent one after the other. Large parts are never copied together. */
export type JsonText = string | readonly (string | Uint8Array)[];

export const bytesOf = (json: JsonText): number =>
  typeof json === 'string' ? Buffer.byteLength(json) : json.reduce((bytes, part) => bytes + Buffer.byteLength(part), 0);

export const oneBuffer = (json: JsonText): Buffer =>
  typeof json === 'string'
    ? Buffer.from(json)
    : Buffer.concat(json.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));

const SMALL_BYTES = 262_144;

/** Joins the parts of a small text: handling each part would take longer than copying it. */
export const joined = (json: JsonText): JsonText =>
  typeof json === 'string' || bytesOf(json) > SMALL_BYTES ? json : [oneBuffer(json)];

/**
 * Answers with this JSON text, or without a body. (express' own `json` and `send` would serialize, hash and re-encode.)
 */
export function sendJson(
  res: Response,
  status: number,
  json: JsonText | undefined,
  headers: { readonly [name: string]: string } = {},
): void {
  res.statusCode = status;
  if (json !== undefined) res.setHeader('Content-Type', 'application/json; charset=utf-8');
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  const bytes = json === undefined ? 0 : bytesOf(json);
  res.req.context.answerBytes = bytes;
  if (json === undefined || typeof json === 'string') {
    res.end(json);
    return;
  }
  if (json.length > 1) res.setHeader('Content-Length', bytes);
  for (const part of json.slice(0, -1)) res.write(part);
  res.end(json.at(-1));
}
