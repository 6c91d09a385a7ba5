/** What a service shows of its tenant until it is ready. */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import type { Service } from '../acceptance/service.js';
import { TenantClient } from '../acceptance/tenant.js';

export const POLL_MS = 25;

const refusal = z.strictObject({ message: z.string(), error: z.string() });

/** The same tenant, as another process of the service has it. */
export const seenBy = (service: Service, { name, admin, client, orderModel }: TenantClient): TenantClient =>
  new TenantClient(service, { tenant: name, admin, client }, orderModel);

/** The number of items, or why there is none. */
export async function total(tenant: TenantClient): Promise<number | string> {
  const answer = await tenant.getList('dyn_item');
  if (answer.status === 200) return Number(Object(Object(answer.body).meta).total);
  expect(answer.status).toBe(503);
  return refusal.parse(answer.body).error;
}

/** Asks for the number of items until the service is ready. @returns each answer: a total, or why there is none */
export async function totalsUntilReady(service: Service, tenant: TenantClient): Promise<readonly (number | string)[]> {
  const seen: (number | string)[] = [];
  for (;;) {
    const ready = (await service.readiness()).status === 200;
    seen.push(await total(tenant));
    if (ready) return seen;
    await wait(POLL_MS);
  }
}
