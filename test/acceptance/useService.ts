import { PATIENT, type Service, type ServiceOptions, startService } from './service.js';
import { sharedService } from './sharedService.js';
import type { TenantClient } from './tenant.js';

export type Run = {
  /** There while tests run. */
  service(): Service;
  tenant(name: string): TenantClient;
  acme(): TenantClient;
};

/**
 * Tenants of this file in a service that it shares with other files. With settings (`env`, also an empty one) the file has a
 * service of its own, which it may stop and kill. It fails the file when the service logged an error that nobody foresaw.
 * @param options or what makes them, where that takes time
 */
export function useService(options: ServiceOptions | (() => Promise<ServiceOptions>)): Run {
  let service: Service | undefined;
  const running = (): Service => {
    if (service === undefined) throw new Error('The service runs only while tests do.');
    return service;
  };
  beforeAll(async () => {
    const { env, tenants = {} } = typeof options === 'function' ? await options() : options;
    if (env !== undefined) {
      service = await startService({ tenants, env: { ...PATIENT, ...env } });
      return;
    }
    service = await sharedService();
    for (const [name, model] of Object.entries(tenants)) await service.createTenant(name, model);
  });
  afterAll(async () => {
    if (service === undefined) return;
    await service.dispose();
    expect(service.loggedErrors).toEqual([]);
  });
  return {
    service: running,
    tenant: (name) => running().tenant(name),
    acme: () => running().tenant('acme'),
  };
}
