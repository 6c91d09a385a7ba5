import type { ReadEvent } from '#app/domain/eventTypes.js';

type Said = Partial<Omit<ReadEvent, 'metadata'>> & Pick<ReadEvent, 'stream' | 'type' | 'data'>;

/** An event of the tenant acme. @param kind of the actor */
export const readEvent = ({ kind = 'client', ...said }: Said & { readonly kind?: string }): ReadEvent => {
  const actor = { kind, id: 'c', name: 'ERP' };
  const caused = { correlationId: '1', causationId: '1', occurredAt: '2026-11-21T03:11:47.000000Z' };
  return { id: '1', revision: 0, position: 1, ...said, metadata: { tenant: 'acme', actor, ...caused } };
};
