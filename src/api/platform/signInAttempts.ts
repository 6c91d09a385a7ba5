import { LRUCache } from 'lru-cache';

const WINDOW_MS = 15 * 60 * 1000;
const MOST_REMEMBERED = 50_000;

type Window = { readonly endsAt: number; count: number };

/** Where an attempt comes from, and whom it is about. */
export type Attempt = { readonly tenant: string; readonly address: string; readonly email: string };

/**
 * Limits wrong passwords: 10 in 15 minutes for an e-mail address from one network address, 100 for a network
 * address as a whole. An attempt counts from the moment it begins, so that many at once gain nothing; a success is not counted.
 */
export class SignInAttempts {
  readonly #windows = new LRUCache<string, Window>({ max: MOST_REMEMBERED });
  readonly #now: () => number;

  /** @param now milliseconds on a clock that never goes backwards */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts an attempt. Returns how many seconds to wait when it may not be made; undefined when it may. */
  begin(attempt: Attempt): number | undefined {
    const now = this.#now();
    const windows = limitsOf(attempt).map(({ key, limit }) => ({ window: this.#window(key, now), limit }));
    const full = windows.filter(({ window, limit }) => window.count >= limit);
    if (full.length > 0) return Math.ceil((Math.max(...full.map(({ window }) => window.endsAt)) - now) / 1000);
    for (const { window } of windows) window.count += 1;
    return undefined;
  }

  /** The attempt was successful: it, and the failures before it, no longer count for this e-mail address. */
  succeeded(attempt: Attempt): void {
    const [ofEmail, ofAddress] = limitsOf(attempt);
    this.#windows.delete(ofEmail.key);
    const window = this.#windows.get(ofAddress.key);
    if (window !== undefined) window.count = Math.max(0, window.count - 1);
  }

  #window(key: string, now: number): Window {
    const known = this.#windows.get(key);
    if (known !== undefined && known.endsAt > now) return known;
    const window = { endsAt: now + WINDOW_MS, count: 0 };
    this.#windows.set(key, window);
    return window;
  }
}

type Limit = { readonly key: string; readonly limit: number };

const limitsOf = ({ tenant, address, email }: Attempt): readonly [Limit, Limit] => [
  { key: JSON.stringify([tenant, address, email.toLowerCase()]), limit: 10 },
  { key: JSON.stringify([address]), limit: 100 },
];
