/**
 * How long a delay takes on a server that has no delayed messages: through a chain of queues, each of which holds every
 * message for the same time (so none waits behind a longer one) and passes it on. The time of level n is 2^n units; the
 * routing key says, bit by bit from the highest level, in which of them a message waits.
 */

export const UNIT_MS = 50;
export const LEVELS = 20;

/** Only so many of the highest bits are set: at most so many hops, and at most 1/16 too late. */
const SIGNIFICANT_BITS = 5;
const MAX_UNITS = (2 ** SIGNIFICANT_BITS - 1) * 2 ** (LEVELS - SIGNIFICANT_BITS);

/** About 14 hours. What is to wait longer goes round again. */
export const MAX_DELAY_MS = MAX_UNITS * UNIT_MS;

export type DelayRoute = {
  /** The highest level to wait in; undefined when there is nothing to wait for. */
  readonly level: number | undefined;
  readonly routingKey: string;
  /** How long it takes: never less than asked for, unless that is more than `MAX_DELAY_MS`. */
  readonly delayMs: number;
};

/** @param delayMs milliseconds; less than 1 is none */
export function delayRoute(delayMs: number): DelayRoute {
  const units = roundUp(Math.min(MAX_UNITS, Math.ceil(Math.max(0, delayMs) / UNIT_MS)));
  const bits = units.toString(2);
  return {
    level: units === 0 ? undefined : bits.length - 1,
    routingKey: [...bits.padStart(LEVELS, '0')].join('.'),
    delayMs: units * UNIT_MS,
  };
}

function roundUp(units: number): number {
  const step = 2 ** Math.max(0, units.toString(2).length - SIGNIFICANT_BITS);
  return Math.ceil(units / step) * step;
}

/** Matches the routing keys that wait (`1`) or do not wait (`0`) in this level. */
export const levelPattern = (level: number, bit: '0' | '1'): string => {
  const position = LEVELS - 1 - level;
  return `${'*.'.repeat(position)}${bit}${level === 0 ? '' : '.#'}`;
};
