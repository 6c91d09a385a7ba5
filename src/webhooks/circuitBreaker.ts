/** Leaves a webhook alone that keeps failing: nothing is attempted then, so no attempt is used up. */

export type CircuitThresholds = {
  /** Failures in a row, at least. */
  readonly failures: number;
  /** The time they span, at least (ms): a short burst of failures opens nothing. */
  readonly spanMs: number;
  /** From the opening to the first probe (ms); doubles with each probe that fails. */
  readonly firstProbeMs: number;
  readonly longestProbeMs: number;
};

export const DEFAULT_THRESHOLDS: CircuitThresholds = {
  failures: 10,
  spanMs: 30_000,
  firstProbeMs: 15_000,
  longestProbeMs: 300_000,
};

/** While a probe is in work others wait for this part of the time between probes: there may be very many of them. */
const WHILE_PROBING = 3;

/** A call that is let through: to be told once what came of it; `unused` when there was no call after all. */
export type Passage = (outcome: 'succeeded' | 'failed' | 'unused') => void;

type Circuit = {
  failures: number;
  failingSince: number;
  /** Set while it is open. */
  open: { probeAt: number; probeMs: number; isProbing: boolean } | undefined;
};

/** One circuit for each webhook, in the memory of this process. */
export class CircuitBreakers {
  readonly #thresholds: CircuitThresholds;
  readonly #now: () => number;
  readonly #onChange: (endpoint: string, isOpen: boolean) => void;
  /** Only of webhooks that failed last. */
  readonly #circuits = new Map<string, Circuit>();

  /**
   * @param now milliseconds
   * @param onChange hears when a circuit opens or closes
   */
  constructor(
    thresholds: CircuitThresholds,
    now: () => number,
    onChange: (endpoint: string, isOpen: boolean) => void = () => undefined,
  ) {
    this.#thresholds = thresholds;
    this.#now = now;
    this.#onChange = onChange;
  }

  /** How long (ms) no call may be made; 0 when one may. */
  waitMs(endpoint: string): number {
    const open = this.#circuits.get(endpoint)?.open;
    if (open === undefined) return 0;
    const untilProbe = Math.max(0, open.probeAt - this.#now());
    return open.isProbing ? Math.max(open.probeMs / WHILE_PROBING, untilProbe) : untilProbe;
  }

  /** Lets a call through; undefined when none may be made now. Of an open circuit one at a time. */
  pass(endpoint: string): Passage | undefined {
    if (this.waitMs(endpoint) > 0) return undefined;
    const open = this.#circuits.get(endpoint)?.open;
    if (open !== undefined) open.isProbing = true;
    return (outcome) => {
      if (open !== undefined) open.isProbing = false;
      if (outcome === 'succeeded') this.forget(endpoint);
      if (outcome === 'failed') this.#failed(endpoint, open !== undefined);
    };
  }

  /** Nothing is known of it any more. */
  forget(endpoint: string): void {
    const circuit = this.#circuits.get(endpoint);
    this.#circuits.delete(endpoint);
    if (circuit?.open !== undefined) this.#onChange(endpoint, false);
  }

  #failed(endpoint: string, wasProbe: boolean): void {
    const now = this.#now();
    const circuit = this.#circuits.get(endpoint) ?? { failures: 0, failingSince: now, open: undefined };
    this.#circuits.set(endpoint, circuit);
    circuit.failures += 1;
    const { failures, spanMs, firstProbeMs, longestProbeMs } = this.#thresholds;
    if (circuit.open === undefined) {
      if (circuit.failures < failures || now - circuit.failingSince < spanMs) return;
      circuit.open = { probeAt: now + firstProbeMs, probeMs: firstProbeMs, isProbing: false };
      this.#onChange(endpoint, true);
    } else if (wasProbe) {
      // Calls that were in work when it opened say nothing new.
      const probeMs = Math.min(longestProbeMs, 2 * circuit.open.probeMs);
      circuit.open = { probeAt: now + probeMs, probeMs, isProbing: false };
    }
  }
}
