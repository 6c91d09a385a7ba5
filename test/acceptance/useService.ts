import { type Service, type ServiceOptions, startService } from './service.js';
import type { TenantClient } from './tenant.js';

export type Run = {
  /** There while tests run. */
  readonly service: Service;
  tenant(name: string): TenantClient;
};

/**
 * One service for all tests of a file. It fails the file when the service logged an error that nobody foresaw.
 * @param options or what makes them, where that takes time
 */
export function useService(options: ServiceOptions | (() => Promise<ServiceOptions>)): Run {
  let service: Service | undefined;
  const running = (): Service => {
    if (service === undefined) throw new Error('The service runs only while tests do.');
    return service;
  };
  beforeAll(async () => {
    service = await startService(typeof options === 'function' ? await options() : options);
  });
  afterAll(async () => {
    if (service === undefined) return;
    await service.dispose();
    expect(service.loggedErrors).toEqual([]);
  });
  return {
    get service() {
      return running();
    },
    tenant: (name) => running().tenant(name),
  };
}
