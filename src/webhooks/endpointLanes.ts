/**
 * Shares the room in hand and the calls at once between webhooks, so that one slow receiver never delays another.
 *
 * The rule for both (dynamic thresholds, Choudhury and Hahne 1998): a webhook may have as much as is left free. One
 * alone gets half of it, two get a third each, and there is always something left for the next.
 */

export type LaneLimits = {
  /** Messages in hand at once, of all webhooks. */
  readonly inHand: number;
  /** Calls at once, of all webhooks. */
  readonly calls: number;
  /** Calls at once to one webhook; it gets less while others need the calls. */
  readonly callsPerEndpoint: number;
};

type Call = { readonly since: number };

type Lane = {
  /** Messages in hand. */
  inHand: number;
  /** Calls in work, the oldest first. */
  readonly calls: Set<Call>;
  /** Begin a call, or are told that there will be none; the first come first. */
  readonly waiting: ((call: Call | undefined) => void)[];
  /** Smoothed time of a call (ms). */
  callMs: number;
  /** When the message that was sent away last is to come again (ms): the next one comes after it. */
  againAt: number;
};

const FIRST_GUESS_MS = 20;
const SMOOTHING = 0.2;
const SHORTEST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 30_000;

export class EndpointLanes {
  readonly #limits: LaneLimits;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #lanes = new Map<string, Lane>();
  readonly #withWaiting = new Set<Lane>();
  #inHand = 0;
  #calls = 0;
  #stopped = false;

  /**
   * @param now milliseconds
   * @param random from 0 to 1
   */
  constructor(limits: LaneLimits, now: () => number, random: () => number) {
    this.#limits = limits;
    this.#now = now;
    this.#random = random;
  }

  /** Takes a message in hand. Returns what lets it go; undefined when the webhook has its share in hand already. */
  enter(endpoint: string): (() => void) | undefined {
    const lane = this.#lane(endpoint);
    if (lane.inHand >= Math.max(1, this.#limits.inHand - this.#inHand)) return undefined;
    lane.inHand += 1;
    this.#inHand += 1;
    return () => {
      lane.inHand -= 1;
      this.#inHand -= 1;
    };
  }

  /**
   * How long (ms) a message that found no room is to stay away: until its turn as the line moves now, but hardly longer
   * than it has been waiting, since the line may come to move faster; 30 s at most.
   */
  delayMs(endpoint: string, redeliveries: number): number {
    const lane = this.#lane(endpoint);
    const now = this.#now();
    const [oldest] = lane.calls;
    // A receiver that has begun to hang is not seen in the calls that have ended.
    const callMs = Math.max(lane.callMs, oldest === undefined ? 0 : now - oldest.since);
    const perMessage = callMs / this.#limits.callsPerEndpoint;
    const turnMs = Math.max(lane.againAt - now, lane.inHand * perMessage) + perMessage;
    const longestMs = Math.min(LONGEST_DELAY_MS, SHORTEST_DELAY_MS * 2 ** Math.min(redeliveries + 1, 20));
    if (turnMs > longestMs) return longestMs * (1 - this.#random() / 2);
    lane.againAt = now + turnMs;
    return Math.max(SHORTEST_DELAY_MS, turnMs);
  }

  /** Makes a call when it is its turn. Returns what it returns; undefined when it was not made because of `stop`. */
  async call<T>(endpoint: string, make: () => Promise<T>): Promise<T | undefined> {
    const lane = this.#lane(endpoint);
    const call = await this.#turn(lane);
    if (call === undefined) return undefined;
    try {
      return await make();
    } finally {
      lane.callMs += SMOOTHING * (this.#now() - call.since - lane.callMs);
      lane.calls.delete(call);
      this.#calls -= 1;
      this.#startWaiting();
    }
  }

  /** What waits for its turn does not get it any more. */
  stop(): void {
    this.#stopped = true;
    for (const lane of this.#withWaiting) for (const begin of lane.waiting.splice(0)) begin(undefined);
    this.#withWaiting.clear();
  }

  #turn(lane: Lane): Promise<Call | undefined> {
    if (this.#stopped) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      lane.waiting.push(resolve);
      this.#withWaiting.add(lane);
      this.#startWaiting();
    });
  }

  #startWaiting(): void {
    for (let lane = this.#next(); lane !== undefined; lane = this.#next()) {
      const begin = lane.waiting.shift();
      // Behind the others: each has its turn.
      this.#withWaiting.delete(lane);
      if (lane.waiting.length > 0) this.#withWaiting.add(lane);
      const call = { since: this.#now() };
      lane.calls.add(call);
      this.#calls += 1;
      begin?.(call);
    }
  }

  /**
   * Of the lanes that may begin a call, the one whose turn it is; undefined when there is none. Each gets as many turns,
   * so a slow receiver comes to hold more calls at once, as it has to for the same rate, but never what others need.
   */
  #next(): Lane | undefined {
    const free = this.#limits.calls - this.#calls;
    if (free <= 0) return undefined;
    const most = Math.min(this.#limits.callsPerEndpoint, Math.max(1, free));
    for (const lane of this.#withWaiting) if (lane.calls.size < most) return lane;
    return undefined;
  }

  #lane(endpoint: string): Lane {
    const known = this.#lanes.get(endpoint);
    if (known !== undefined) return known;
    const lane: Lane = { inHand: 0, calls: new Set(), waiting: [], callMs: FIRST_GUESS_MS, againAt: 0 };
    this.#lanes.set(endpoint, lane);
    return lane;
  }
}
