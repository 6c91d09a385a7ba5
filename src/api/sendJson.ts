import type { Response } from 'express';

/** Answers with JSON text as it is. (express' own `json` and `send` would serialize, hash and re-encode.) */
export function sendJson(res: Response, status: number, json: string): void {
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.end(json);
}
