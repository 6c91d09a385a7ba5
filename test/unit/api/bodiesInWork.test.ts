import { EventEmitter } from 'node:events';
import type { Request, Response } from 'express';
import { BodiesInWork } from '#app/api/admission.js';
import { MAX_TENANT_BODY_BYTES_IN_WORK } from '#app/domain/limits.js';
import { Deadline, DeadlineError } from '#app/supervision/deadline.js';

const MB = 1024 * 1024;
const LIMIT = 8 * MB;
const AT_ONCE = MAX_TENANT_BODY_BYTES_IN_WORK / LIMIT;

const response = (): Response => new EventEmitter() as unknown as Response;
/** Of the requests of a test. */
let deadline: Deadline;
beforeEach(() => {
  deadline = new Deadline(60_000, () => new DeadlineError('It took too long.'));
});
const request = (headers: { readonly [name: string]: string }): Request =>
  ({ headers, context: { deadline } }) as unknown as Request;
const ofSize = (bytes: number): Request => request({ 'content-length': String(bytes) });

/** Whether it was let in at once. */
async function enters(bodies: BodiesInWork, tenant: string, req: Request): Promise<boolean> {
  const outcome = await Promise.race([bodies.enter(tenant, req, response(), LIMIT), Promise.resolve('waits')]);
  return outcome !== 'waits';
}

async function fill(bodies: BodiesInWork, tenant: string): Promise<(() => void)[]> {
  return Promise.all(Array.from({ length: AT_ONCE }, () => bodies.enter(tenant, ofSize(LIMIT), response(), LIMIT)));
}

afterEach(() => {
  jest.useRealTimers();
  deadline.end();
});

it('a tenant has at most 32 MB of bodies in work; the next one waits until one of them is done', async () => {
  const bodies = new BodiesInWork();
  const [leave] = await fill(bodies, 'acme');
  let isIn = false;
  const next = bodies.enter('acme', ofSize(LIMIT), response(), LIMIT).then(() => {
    isIn = true;
  });
  await Promise.resolve();
  expect(isIn).toBe(false);
  leave?.();
  await next;
  expect(isIn).toBe(true);
});

it('another tenant goes on, and so do small bodies', async () => {
  const bodies = new BodiesInWork();
  await Promise.all([fill(bodies, 'acme'), fill(bodies, 'other')]);
  jest.useFakeTimers();
  expect(await enters(bodies, 'acme', ofSize(65_536))).toBe(true);
  expect(await enters(bodies, 'third', ofSize(LIMIT))).toBe(true);
  expect(await enters(bodies, 'third', ofSize(LIMIT))).toBe(false);
});

it('a body that does not tell its size counts as the largest', async () => {
  const bodies = new BodiesInWork();
  const compressed = request({ 'content-encoding': 'gzip', 'content-length': '100' });
  for (let n = 0; n < AT_ONCE; n += 1)
    expect(await enters(bodies, 'acme', n % 2 === 0 ? compressed : request({}))).toBe(true);
  jest.useFakeTimers();
  expect(await enters(bodies, 'acme', compressed)).toBe(false);
});

it('one that comes when 100 wait is 429, one that waits too long 503; one whose client has left waits no more', async () => {
  const bodies = new BodiesInWork();
  const leaves = await fill(bodies, 'acme');
  const clients = Array.from({ length: 100 }, response);
  const waiting = clients.map((res) => bodies.enter('acme', ofSize(LIMIT), res, LIMIT));
  await expect(bodies.enter('acme', ofSize(LIMIT), response(), LIMIT)).rejects.toMatchObject({ status: 429 });
  clients[0]?.emit('close');
  await expect(waiting[0]).rejects.toMatchObject({ status: 429 });
  const late = Promise.allSettled(waiting.slice(1));
  deadline.cancel(new Error('It took too long.'));
  for (const each of await late) expect(each).toMatchObject({ status: 'rejected', reason: { status: 503 } });
  for (const leave of leaves) leave();
  expect(await enters(bodies, 'acme', ofSize(LIMIT))).toBe(true);
});
