/**
 * Limits guesses of passwords and client secrets. docs/limits.md has the numbers.
 *
 * 1. A wrong guess is counted three times: for the account from this network, for the network, and for the account.
 * 2. Beyond the free guesses of a count, each further one has to wait twice as long as the one before, up to a limit.
 * 3. A network that has opened the account before has the first count only: guesses made elsewhere lock nobody out.
 * 4. A right guess resets the count of the account from this network; any count ends after an hour without a guess.
 * 5. Each process counts by itself, in memory. Unknown accounts are counted like others.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  FIRST_GUESS_WAIT_S,
  GUESSES_FORGOTTEN_AFTER_S,
  GUESSES_OF_ACCOUNT,
  GUESSES_OF_NETWORK,
  GUESSES_OF_PASSWORD,
  GUESSES_OF_SECRET,
  LONGEST_PASSWORD_WAIT_S,
  LONGEST_SECRET_WAIT_S,
} from '../../domain/limits.js';

/** Counts of guesses that are remembered; beyond it, the least recently used are forgotten. */
const MAX_REMEMBERED_GUESSES = 50_000;

/** What is guessed, for which account, and from which network. */
export type Guess = {
  readonly kind: 'password' | 'secret';
  readonly tenant: string;
  readonly account: string;
  readonly network: string;
};

export type Attempt = {
  /** If above 0, the guess may not be made yet. */
  readonly secondsToWait: number;
  /** To be called once, when the guess has been checked; `undecided` if the check failed. */
  readonly end: (outcome: 'right' | 'wrong' | 'undecided') => void;
};

/** Times in milliseconds of the clock. */
type Count = { wrong: number; inFlight: number; waitUntil: number; lastAt: number };

type Limit = { readonly count: Count; readonly free: number; readonly longestWaitS: number };

const SPECIFIC = {
  password: { free: GUESSES_OF_PASSWORD, longestWaitS: LONGEST_PASSWORD_WAIT_S },
  secret: { free: GUESSES_OF_SECRET, longestWaitS: LONGEST_SECRET_WAIT_S },
} as const;

export class Guesses {
  readonly #counts = new LRUCache<string, Count>({ max: MAX_REMEMBERED_GUESSES });
  /** Pairs of account and network that have opened the account. */
  readonly #opened = new LRUCache<string, true>({ max: MAX_REMEMBERED_GUESSES });
  readonly #now: () => number;

  /** @param now monotonic clock, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts a guess from its beginning, so that concurrent guesses gain nothing. */
  begin(guess: Guess): Attempt {
    const pair = guessKey(guess.kind, guess.tenant, guess.account, guess.network);
    const limits = this.#limitsOf(guess, pair);
    const now = this.#now();
    const waitMs = Math.max(...limits.map((limit) => msToWait(limit, now)));
    if (waitMs > 0) return { secondsToWait: Math.ceil(waitMs / 1000), end: () => {} };
    for (const { count } of limits) count.inFlight += 1;
    const end: Attempt['end'] = (outcome) => {
      for (const limit of limits) this.#end(limit, outcome);
      if (outcome !== 'right') return;
      this.#counts.delete(pair);
      this.#opened.set(pair, true);
    };
    return { secondsToWait: 0, end };
  }

  #end({ count, free, longestWaitS }: Limit, outcome: 'right' | 'wrong' | 'undecided'): void {
    count.inFlight -= 1;
    if (outcome !== 'wrong') return;
    const now = this.#now();
    count.wrong += 1;
    count.lastAt = now;
    if (count.wrong < free) return;
    const doublings = Math.min(count.wrong - free, 20);
    count.waitUntil = now + 1000 * Math.min(longestWaitS, FIRST_GUESS_WAIT_S * 2 ** doublings);
  }

  #limitsOf({ kind, tenant, account, network }: Guess, pair: string): readonly Limit[] {
    const specific = { count: this.#count(pair), ...SPECIFIC[kind] };
    if (this.#opened.get(pair) === true) return [specific];
    const { longestWaitS } = SPECIFIC[kind];
    return [
      specific,
      { count: this.#count(guessKey('network', network)), free: GUESSES_OF_NETWORK, longestWaitS },
      { count: this.#count(guessKey(kind, tenant, account)), free: GUESSES_OF_ACCOUNT, longestWaitS },
    ];
  }

  #count(key: string): Count {
    const now = this.#now();
    const known = this.#counts.get(key);
    if (known !== undefined && (known.inFlight > 0 || now - known.lastAt < GUESSES_FORGOTTEN_AFTER_S * 1000))
      return known;
    const count = { wrong: 0, inFlight: 0, waitUntil: 0, lastAt: now };
    this.#counts.set(key, count);
    return count;
  }
}

/** Beyond the free guesses, they run one at a time. */
function msToWait({ count, free }: Limit, now: number): number {
  if (count.waitUntil > now) return count.waitUntil - now;
  return count.inFlight > 0 && count.wrong + count.inFlight >= free ? FIRST_GUESS_WAIT_S * 1000 : 0;
}

/** Short keys, whatever the client sent. */
const guessKey = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
