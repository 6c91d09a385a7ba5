/** Listeners for the time before the service is ready: at the start, and when it restarts on a replaced event log. */
import type { RequestListener } from 'node:http';

/** Serves /health/live only. @param reason for callers */
function livenessOnly(reason: string): RequestListener {
  const readiness = { ready: false, checks: { event_store: { ok: false, detail: reason } } };
  const refusal = { message: 'Temporarily unavailable; try again.', error: reason };
  return (req, res) => {
    const path = req.url?.split('?')[0];
    const isLive = path === '/health/live';
    const body = isLive ? { status: 'live' } : path === '/health/ready' ? readiness : refusal;
    res.writeHead(isLive ? 200 : 503, {
      'Content-Type': 'application/json; charset=utf-8',
      'Cache-Control': 'no-store',
      ...(isLive ? {} : { 'Retry-After': '1' }),
    });
    res.end(JSON.stringify(body));
  };
}

export const starting = livenessOnly('The service starts.');
export const startingAnew = livenessOnly(
  'The event log was put back to an older copy, or is another one: the service starts anew on it.',
);
