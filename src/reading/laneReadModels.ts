/** The read models of all lanes as one: what names a tenant goes to its lane, all else to every one. */
import type { Position } from '../ports/eventStore.js';
import type { ReadModels } from '../ports/readSide.js';
import { laneIndex } from '../projector/lanes.js';
import type { ReadGate } from './readGate.js';
import type { Behind } from './staleness.js';

/** What a tenant's lane is found among: the lanes in their order. */
export function ofTenant<Part>(parts: readonly Part[], tenant: string): Part {
  const part = parts[laneIndex(tenant, parts.length)];
  if (part === undefined) throw new Error('There is no lane.');
  return part;
}

export function readLanes(lanes: readonly ReadModels[]): ReadModels {
  const [only] = lanes;
  if (lanes.length === 1 && only !== undefined) return only;
  const of = ({ tenant }: { readonly tenant: string }) => ofTenant(lanes, tenant);
  const all = <Answer>(ask: (lane: ReadModels) => Promise<Answer>) => Promise.all(lanes.map(ask));
  const waited = (tenant: string | undefined, wait: (lane: ReadModels) => Promise<boolean>) =>
    tenant === undefined ? all(wait).then((reached) => reached.every((each) => each)) : wait(ofTenant(lanes, tenant));
  return {
    get: (table, ...asked) => of(table).get(table, ...asked),
    list: (table, ...asked) => of(table).list(table, ...asked),
    listBehind: (table, ...asked) => of(table).listBehind(table, ...asked),
    byIds: (table, ...asked) => of(table).byIds(table, ...asked),
    cleanedUpIds: (table, ...asked) => of(table).cleanedUpIds(table, ...asked),
    tableState: (table, ...asked) => of(table).tableState(table, ...asked),
    tableFigures: async (tables) => {
      const shares = lanes.map((lane, index) => ({
        lane,
        own: tables.filter(({ tenant }) => laneIndex(tenant, lanes.length) === index),
      }));
      return (await Promise.all(shares.map(({ lane, own }) => lane.tableFigures(own)))).flat();
    },
    snapshot: (table, ...asked) => of(table).snapshot(table, ...asked),
    countOutsideBatch: (table, ...asked) => of(table).countOutsideBatch(table, ...asked),
    someOutsideBatch: (table, ...asked) => of(table).someOutsideBatch(table, ...asked),
    deletedRecords: (table, ...asked) => of(table).deletedRecords(table, ...asked),
    find: (table, ...asked) => of(table).find(table, ...asked),
    history: (tenant, ...asked) => ofTenant(lanes, tenant).history(tenant, ...asked),
    approvals: (tenant, ...asked) => ofTenant(lanes, tenant).approvals(tenant, ...asked),
    delivery: (tenant, ...asked) => ofTenant(lanes, tenant).delivery(tenant, ...asked),
    deliveries: (tenant, ...asked) => ofTenant(lanes, tenant).deliveries(tenant, ...asked),
    webhookHealth: (tenant, ...asked) => ofTenant(lanes, tenant).webhookHealth(tenant, ...asked),
    deliveryBacklog: async () => (await all((lane) => lane.deliveryBacklog())).flat(),
    checkpoint: async (projection) => Math.min(...(await all((lane) => lane.checkpoint(projection)))),
    checkpoints: async () => lowest(await all((lane) => lane.checkpoints())),
    async anchor() {
      const places = (await all((lane) => lane.anchor())).filter((place) => place !== undefined);
      return places.sort((a, b) => b.position - a.position)[0];
    },
    parked: async () => (await all((lane) => lane.parked())).flat(),
    outOfOrder: async () => (await all((lane) => lane.outOfOrder())).flat(),
    waitFor: (...asked) => waited(asked[3], (lane) => lane.waitFor(...asked)),
    waitForEvent: (...asked) => waited(asked[3], (lane) => lane.waitForEvent(...asked)),
    async close() {
      await all((lane) => lane.close());
    },
  };
}

function lowest(all: readonly ReadonlyMap<string, Position>[]): ReadonlyMap<string, Position> {
  const names = new Set(all.flatMap((each) => [...each.keys()]));
  return new Map([...names].map((name) => [name, Math.min(...all.map((each) => each.get(name) ?? 0))]));
}

/** The gates of the lanes as one. */
export type Gate = Pick<ReadGate, 'staleness' | 'isCurrent' | 'withheld' | 'behind'>;

export function gateOf(gates: readonly ReadGate[]): Gate {
  return {
    staleness: (tenant) => ofTenant(gates, tenant).staleness(tenant),
    isCurrent: (tenant) => ofTenant(gates, tenant).isCurrent(tenant),
    async withheld() {
      return (await Promise.all(gates.map((gate) => gate.withheld()))).find((reason) => reason !== undefined);
    },
    async behind() {
      const found = (await Promise.all(gates.map((gate) => gate.behind()))).filter((each) => each !== undefined);
      if (found.length === 0) return undefined;
      return {
        names: found.flatMap(({ names }) => names).sort(),
        isAll: found.every(({ isAll }) => isAll),
        seconds: Math.max(...found.map(({ seconds }) => seconds)),
      } satisfies Behind;
    },
  };
}
