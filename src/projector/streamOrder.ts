/**
 * Tells which events must wait: those of a stream keep their order, and a tenant's own events keep their place among
 * all of the tenant's.
 */
import { parseStream } from '../domain/streams.js';
import type { Step } from './step.js';

export class StreamOrder {
  readonly #streams = new Set<string>();
  /** Tenants with waiting events, and whether one of the tenant's own is among them. */
  readonly #tenants = new Map<string, boolean>();

  /** Adds an event that was not applied. */
  add({ event, tenant }: Step): void {
    this.#streams.add(event.stream);
    this.#tenants.set(tenant, this.#tenants.get(tenant) === true || isOfTenant(event.stream));
  }

  mustWait({ event, tenant }: Step): boolean {
    const own = this.#tenants.get(tenant);
    return own === true || (own === false && isOfTenant(event.stream)) || this.#streams.has(event.stream);
  }
}

const isOfTenant = (stream: string): boolean => parseStream(stream).category === 'tenant';
