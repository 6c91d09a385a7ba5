/** The operator's API, and the session that a link has opened. Its token is in this tab's storage and nowhere else. */
import createClient from 'openapi-fetch';
import { useSyncExternalStore } from 'react';
import type { components, paths } from '../../generated/operator';
import { bodyOf, clientOptions } from '../api/client';

export type Schemas = components['schemas'];
export type Tenant = Schemas['OperatorTenant'];
export type Parked = Schemas['Parked'];
export type Job = Schemas['RowJob'];

type Session = { readonly token: string; readonly operator: string; readonly endsAt: number };

const isSession = (value: unknown): value is Session =>
  typeof value === 'object' && value !== null && 'token' in value && 'operator' in value && 'endsAt' in value;

const KEPT_AS = 'console.operator';
const listeners = new Set<() => void>();
let session = kept();

function kept(): Session | undefined {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(KEPT_AS) ?? 'null');
    return isSession(found) && found.endsAt > Date.now() ? found : undefined;
  } catch {
    return undefined;
  }
}

function setSession(next: Session | undefined): void {
  session = next;
  if (next === undefined) sessionStorage.removeItem(KEPT_AS);
  else sessionStorage.setItem(KEPT_AS, JSON.stringify(next));
  for (const tell of listeners) tell();
}

export const endSession = (): void => setSession(undefined);

/** Undefined while nobody is signed in. */
export const useSession = (): Session | undefined =>
  useSyncExternalStore(
    (tell) => {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
    () => session,
  );

export const api = createClient<paths>({ ...clientOptions, credentials: 'omit' });
api.use({
  onRequest({ request }) {
    if (session !== undefined) request.headers.set('Authorization', `Bearer ${session.token}`);
  },
  onResponse({ response }) {
    if (response.status === 401 && session !== undefined) endSession();
  },
});

/** A link opens one session, however often the page is rendered. */
const entering = new Map<string, Promise<void>>();

/** @throws ApiError */
export function enter(token: string): Promise<void> {
  const begun = entering.get(token) ?? open(token);
  entering.set(token, begun);
  return begun;
}

async function open(token: string): Promise<void> {
  const { data } = await bodyOf(api.POST('/api/v1/operator/sessions', { body: { token } }));
  setSession({ token: data.token, operator: data.operator, endsAt: Date.now() + data.expires_in * 1_000 });
}
