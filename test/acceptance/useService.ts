import { type Service, type ServiceOptions, startService } from './service.js';
import type { TenantClient } from './tenant.js';

export type Run = {
  /** There while tests run. */
  readonly service: Service;
  tenant(name: string): TenantClient;
};

/** Tests of what a service does look at what it has written: an answer waits until that is shown, also where the machine is busy. */
const PATIENT = { REQUEST_TIMEOUT_MS: '60000', WRITE_WAIT_MS: '50000' };

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
    const { env, ...rest } = typeof options === 'function' ? await options() : options;
    service = await startService({ ...rest, env: { ...PATIENT, ...env } });
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
