import type { Request } from 'express';
import { Backlogs } from '#app/api/admission.js';
import { HttpError } from '#app/api/errors.js';
import { LARGE_WRITE_BYTES, MAX_TENANT_BACKLOG_BYTES } from '#app/domain/limits.js';

const withBody = (bytes: number) => ({ headers: { 'content-length': String(bytes) } }) as Request;

/** A write that is shown when the test says so. */
function pending() {
  let show: (isShown: boolean) => void = () => {};
  const isShown = new Promise<boolean>((resolve) => {
    show = resolve;
  });
  return { isShown: () => isShown, show: () => show(true) };
}

test('a tenant with too many bytes that are not shown is refused, and nobody else, until they are', async () => {
  const backlogs = new Backlogs();
  const [first, second] = [pending(), pending()];
  backlogs.add('acme', withBody(MAX_TENANT_BACKLOG_BYTES - 1), first.isShown);
  backlogs.requireRoom('acme');
  backlogs.add('acme', withBody(1), second.isShown);
  expect(() => backlogs.requireRoom('acme')).toThrow(HttpError);
  backlogs.requireRoom('other');
  first.show();
  await first.isShown();
  backlogs.requireRoom('acme');
});

test('small writes count as well, and one whose read models cannot be asked does not', async () => {
  const backlogs = new Backlogs();
  const most = MAX_TENANT_BACKLOG_BYTES / LARGE_WRITE_BYTES;
  for (let n = 0; n < most; n++) backlogs.add('acme', withBody(100), pending().isShown);
  expect(() => backlogs.requireRoom('acme')).toThrow(HttpError);
  const failing = Promise.reject(new Error('away'));
  backlogs.add('other', withBody(MAX_TENANT_BACKLOG_BYTES), () => failing);
  await failing.catch(() => {});
  backlogs.requireRoom('other');
});
