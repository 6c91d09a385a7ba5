import { setTimeout as wait } from 'node:timers/promises';
import { Collection } from 'mongodb';

/** Holds up the next call of this method of a collection. @returns when it was called, and what lets it go on */
export function holdUp(method: 'updateOne' | 'updateMany' | 'bulkWrite' | 'createIndexes') {
  const { prototype } = Collection;
  const { updateOne, updateMany, bulkWrite, createIndexes } = prototype;
  const original = { updateOne, updateMany, bulkWrite, createIndexes }[method];
  let goOn = () => {};
  const mayGoOn = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const spy = jest.spyOn(prototype, method).mockImplementationOnce(async function (this: Collection, ...args) {
    await mayGoOn;
    return Reflect.apply(original, this, args);
  });
  const called = async () => {
    while (spy.mock.calls.length === 0) await wait(5);
  };
  return { called, calls: () => spy.mock.calls.length, goOn: () => goOn() };
}
