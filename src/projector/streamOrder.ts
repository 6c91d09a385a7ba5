/** Which events must wait for others: those of a stream come in their order, and a tenant's own before and after all else of it. */
import { parseStream } from '../domain/streams.js';
import type { Step } from './step.js';

export class StreamOrder {
  readonly #streams = new Set<string>();
  /** Tenants that have any, and whether a tenant's own event is among them. */
  readonly #tenants = new Map<string, boolean>();

  /** It is not applied. */
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
