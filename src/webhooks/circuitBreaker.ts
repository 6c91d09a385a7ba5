/** Stops attempts to a webhook that keeps failing, so that none of a delivery's five attempts is spent on it. */

export type CircuitThresholds = {
  /** Minimum number of failures in a row. */
  readonly failures: number;
  /** Minimum time that these failures span (ms): a short burst opens nothing. */
  readonly spanMs: number;
  /** From the opening to the first probe (ms). Doubles with each probe that fails. */
  readonly firstProbeMs: number;
  readonly longestProbeMs: number;
};

export const DEFAULT_THRESHOLDS: CircuitThresholds = {
  failures: 10,
  spanMs: 30_000,
  firstProbeMs: 15_000,
  longestProbeMs: 300_000,
};

/** While a probe is in flight, other deliveries wait for a third of the probe interval: there may be very many. */
const WHILE_PROBING = 3;

/** Allows one attempt. Call it once with the attempt's outcome; `unused` if no attempt was made. */
export type Permit = (outcome: 'succeeded' | 'failed' | 'unused') => void;

type Circuit = {
  failures: number;
  failingSince: number;
  /** Set while the circuit is open. From `probeAt` on it is half-open. */
  open: { probeAt: number; probeMs: number; isProbing: boolean } | undefined;
};

/** One circuit for each webhook, in this process's memory. */
export class CircuitBreakers {
  readonly #thresholds: CircuitThresholds;
  readonly #now: () => number;
  readonly #onChange: (endpoint: string, isOpen: boolean) => void;
  /** Holds only webhooks whose last attempt failed. */
  readonly #circuits = new Map<string, Circuit>();

  /**
   * @param now milliseconds
   * @param onChange called when a circuit opens or closes
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

  /** How long no attempt may be made (ms); 0 if one may be made now. */
  waitMs(endpoint: string): number {
    const open = this.#circuits.get(endpoint)?.open;
    if (open === undefined) return 0;
    const untilProbe = Math.max(0, open.probeAt - this.#now());
    return open.isProbing ? Math.max(open.probeMs / WHILE_PROBING, untilProbe) : untilProbe;
  }

  /** Undefined if no attempt may be made now. A half-open circuit gives one permit at a time, for the probe. */
  permit(endpoint: string): Permit | undefined {
    if (this.waitMs(endpoint) > 0) return undefined;
    const open = this.#circuits.get(endpoint)?.open;
    if (open !== undefined) open.isProbing = true;
    return (outcome) => {
      if (open !== undefined) open.isProbing = false;
      if (outcome === 'succeeded') this.close(endpoint);
      if (outcome === 'failed') this.#failed(endpoint, open !== undefined);
    };
  }

  /** Closes the circuit, and forgets earlier failures. */
  close(endpoint: string): void {
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
      // Only a probe counts: attempts that were in flight when the circuit opened say nothing new.
      const probeMs = Math.min(longestProbeMs, 2 * circuit.open.probeMs);
      circuit.open = { probeAt: now + probeMs, probeMs, isProbing: false };
    }
  }
}
