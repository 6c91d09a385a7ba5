/**
 * `Retry-After` (RFC 9110 §10.2.3), seconds or an HTTP date, as milliseconds from `nowMs` on; undefined when
 * there is none or it cannot be read.
 */
export function retryAfterMs(header: string | string[] | undefined, nowMs: number): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}
