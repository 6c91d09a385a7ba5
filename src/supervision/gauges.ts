/** Gauges for Prometheus, looked up at each scrape: without a value while it cannot be found, rather than an old one. */
import { Gauge, type Registry } from 'prom-client';

export type Values = readonly (readonly [labels: { readonly [label: string]: string }, value: number])[];
/** By name: what it says, its values, and the names of their labels. */
type Gauges = {
  readonly [name: string]: readonly [help: string, values: () => Promise<Values> | Values, ...labels: string[]];
};

/** Without labels. */
export const one = (value: number): Values => [[{}, value]];

export function registerGauges(registry: Registry, gauges: Gauges): void {
  for (const [name, [help, values, ...labelNames]] of Object.entries(gauges))
    new Gauge({
      registers: [registry],
      name,
      help,
      labelNames,
      async collect() {
        const found = await (async () => values())().catch((): Values => []);
        if (labelNames.length === 0) this.remove();
        else this.reset();
        for (const [labels, value] of found) this.inc(labels, value);
      },
    });
}
