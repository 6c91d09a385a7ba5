/** Reads wait for what other machines have written, and for nothing else. */
import { setImmediate as turn } from 'node:timers/promises';
import type { EventSlice, EventStore, RecordedEvent } from '#app/ports/eventStore.js';
import { ReadModelsWithheldError } from '#app/ports/readModels.js';
import { OthersWrites } from '#app/reading/othersWrites.js';
import { ORDERS } from '#app/reading/pendingWrites.js';

type Asked = { readonly how: 'all' | 'event'; readonly position: number };

/** A log that grows by hand, and read models that show what they are told to. */
class Machine {
  checkpoint = 10;
  readonly asked: Asked[] = [];
  #news: EventSlice[] = [];
  #wake: () => void = () => undefined;
  #shown: (isShown: boolean) => void = () => undefined;
  readonly log = {
    head: async () => 10,
    subscribe: ({ signal }: { readonly signal: AbortSignal }) => this.#follow(signal),
    append: async () => ({ revision: 0, position: 0 }),
  } as unknown as EventStore;
  readonly writes = new OthersWrites(
    {
      checkpoint: async () => this.checkpoint,
      waitFor: (_, position) => this.#wait({ how: 'all', position }),
      waitForEvent: (_, position) => this.#wait({ how: 'event', position }),
    },
    5_000,
  );

  static async start(): Promise<Machine> {
    const machine = new Machine();
    await machine.writes.follow(machine.log, (error) => {
      throw error;
    });
    return machine;
  }

  async see(...events: readonly (readonly [stream: string, position: number])[]): Promise<void> {
    const seen = events.map(([stream, position]) => ({ id: `e${position}`, stream, position }) as RecordedEvent);
    this.#news.push({ events: seen, position: events.at(-1)?.[1] ?? 0, caughtUp: true });
    this.#wake();
    await turn();
  }

  show(isShown = true): void {
    this.#shown(isShown);
  }

  #wait(asked: Asked): Promise<boolean> {
    this.asked.push(asked);
    return new Promise((resolve) => {
      this.#shown = resolve;
    });
  }

  async *#follow(signal: AbortSignal): AsyncGenerator<EventSlice> {
    while (!signal.aborted) {
      for (const slice of this.#news.splice(0)) yield slice;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener('abort', () => resolve());
      });
    }
  }
}

let machine: Machine;
beforeEach(async () => {
  machine = await Machine.start();
});
afterEach(() => machine.writes.stop());

const outcomeOf = (promise: Promise<void> | undefined) => Promise.race([promise?.then(() => 'done'), turn('waits')]);

test('a read of the table waits for the event that was seen, a read of another one does not', async () => {
  await machine.see(['table-acme.dyn_item', 11]);
  expect(await outcomeOf(machine.writes.untilShown('acme', 'dyn_party'))).toBe('done');
  expect(machine.writes.isPending('other')).toBe(false);
  const read = machine.writes.untilShown('acme', 'dyn_item');
  expect(await outcomeOf(read)).toBe('waits');
  expect(machine.asked).toEqual([{ how: 'event', position: 11 }]);
  machine.show();
  await read;
  expect(machine.writes.isLate('acme')).toBe(false);
});

test('what the checkpoint has passed is not waited for again', async () => {
  await machine.see(['table-acme.dyn_item', 11], ['order-acme.o1', 12]);
  machine.checkpoint = 12;
  expect(await outcomeOf(machine.writes.untilShown('acme', ORDERS))).toBe('done');
  expect(machine.writes.isPending('acme')).toBe(false);
  expect(machine.asked).toEqual([]);
});

test('what this process appends is not waited for, whether it is seen before or after the answer of the append', async () => {
  let answer: () => void = () => undefined;
  const log = machine.writes.leavingOut({
    ...machine.log,
    append: () =>
      new Promise((resolve) => {
        answer = () => resolve({ revision: 0, position: 11 });
      }),
  });
  // Everything before the start is shown.
  await machine.writes.untilShown('acme', ORDERS);
  const appended = log.append('order-acme.o1', [{ id: 'e11' } as RecordedEvent], 'any');
  await machine.see(['order-acme.o1', 11]);
  answer();
  await appended;
  expect(machine.writes.isPending('acme')).toBe(false);
  await machine.see(['order-acme.o1', 12]);
  expect(machine.writes.isPending('acme')).toBe(true);
});

test('an append that failed may have been another one’s: its event is waited for', async () => {
  await machine.writes.untilShown('acme', ORDERS);
  const append = async () => {
    throw new Error('away');
  };
  const log = machine.writes.leavingOut({ ...machine.log, append });
  await expect(log.append('order-acme.o1', [{ id: 'e11' } as RecordedEvent], 'any')).rejects.toThrow('away');
  await machine.see(['order-acme.o1', 11]);
  expect(machine.writes.isPending('acme')).toBe(true);
});

test('a read that has waited in vain says so, and what it does not find may be there', async () => {
  await machine.see(['order-acme.o1', 11]);
  const read = machine.writes.untilShown('acme', ORDERS);
  await turn();
  machine.show(false);
  await read;
  expect(machine.writes.isLate('acme')).toBe(true);
  expect(() => machine.writes.requireShown('acme')).toThrow(ReadModelsWithheldError);
  machine.checkpoint = 11;
  await machine.writes.untilShown('acme', ORDERS);
  expect(machine.writes.isLate('acme')).toBe(false);
});

test('events of many streams are waited for as one, in the order of the log', async () => {
  await machine.see(...Array.from({ length: 40 }, (_, n) => [`order-acme.o${n}`, 11 + n] as const));
  void machine.writes.untilShown('acme', ORDERS);
  await turn();
  expect(machine.asked).toEqual([{ how: 'all', position: 50 }]);
});

test('of more streams than are kept, reads wait for all events so far', async () => {
  await machine.see(...Array.from({ length: 10_001 }, (_, n) => [`order-acme.o${n}`, 11 + n] as const));
  expect(machine.writes.isPending('other')).toBe(true);
  void machine.writes.untilShown('other', ORDERS);
  await turn();
  expect(machine.asked).toEqual([{ how: 'all', position: 10_011 }]);
});

test('the place that was seen is told', async () => {
  const seen = machine.writes.waitFor(11);
  expect(await outcomeOf(seen)).toBe('waits');
  await machine.see(['order-acme.o1', 11]);
  expect(await outcomeOf(seen)).toBe('done');
});
