/** What is answered while the service starts anew, since the event log is not the one from before. */
import type { RequestListener } from 'node:http';

const REASON = 'The event log was put back to an older copy, or is another one: the service starts anew on it.';

const READINESS = { ready: false, checks: { event_store: { ok: false, detail: REASON } } };
const REFUSAL = { message: 'Temporarily unavailable; try again.', error: REASON };

export const startingAnew: RequestListener = (req, res) => {
  const path = req.url?.split('?')[0];
  const isLive = path === '/health/live';
  const body = isLive ? { status: 'live' } : path === '/health/ready' ? READINESS : REFUSAL;
  res.writeHead(isLive ? 200 : 503, {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    ...(isLive ? {} : { 'Retry-After': '1' }),
  });
  res.end(JSON.stringify(body));
};
