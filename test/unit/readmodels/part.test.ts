import { Part } from '#app/adapters/readmodels/mongodb/part.js';

type Stored = { readonly _id: string; readonly n?: number; readonly m?: number; readonly of?: string };

/** A collection that keeps what it is told. */
function recording() {
  const told: unknown[] = [];
  const tell =
    (answer?: unknown) =>
    (...of: unknown[]) => {
      told.push(of[0]);
      return answer;
    };
  const found = [{ _id: 'one.a', of: 'one', n: 1 }];
  const cursor = { map: (as: (each: Stored) => unknown) => ({ toArray: async () => found.map(as) }) };
  const collection = {
    find: tell(cursor),
    countDocuments: tell(),
    insertMany: tell(),
    bulkWrite: tell(),
    deleteMany: tell(),
    updateMany: tell(),
  };
  return { told, part: new Part<Stored>(collection as never, 'one') };
}

it('a part of a shared collection finds its own documents, as those of a collection of their own', async () => {
  const { told, part } = recording();
  expect(await part.findOne({ _id: 'a' })).toEqual({ _id: 'a', n: 1 });
  part.find({ $or: [{ _id: { $in: ['a', 'b'] } }, { $nor: [{ _id: { $gt: 'c' } }] }], n: 1 });
  await part.countDocuments();
  expect(told).toEqual([
    { _id: 'one.a' },
    { of: 'one', $or: [{ _id: { $in: ['one.a', 'one.b'] } }, { $nor: [{ _id: { $gt: 'one.c' } }] }], n: 1 },
    { of: 'one' },
  ]);
});

it('finds given ids by nothing else: beside them, the part is one more condition that a server may begin with', () => {
  const { told, part } = recording();
  part.find({ _id: { $in: ['a', 'b'] }, n: 1 });
  part.find({ _id: { $gt: 'a' } });
  expect(told).toEqual([
    { _id: { $in: ['one.a', 'one.b'] }, n: 1 },
    { of: 'one', _id: { $gt: 'one.a' } },
  ]);
});

const refused = (_id: string, options: ErrorOptions) => new Error(`${_id} is refused.`, options);

it('it changes no others', async () => {
  const { told, part } = recording();
  await part.insertMany([{ _id: 'a', n: 1 }], refused);
  await part.deleteMany({});
  await part.deleteMany({ _id: { $gt: 'a' } });
  await part.updateMany({ n: 1 }, { $set: { n: 2 } });
  const set = { $set: { n: 2 } };
  const replacement = { _id: 'a', n: 2 };
  await part.bulkWrite(
    [
      { replaceOne: { filter: { _id: 'a' }, replacement, upsert: true } },
      { updateOne: { filter: { _id: 'a' }, update: set } },
      { updateOne: { filter: { _id: 'a' }, update: { ...set, $setOnInsert: { m: 3 } }, upsert: true } },
    ],
    { ordered: true, refused },
  );
  expect(told).toEqual([
    [{ _id: 'one.a', of: 'one', n: 1 }],
    { of: 'one' },
    { of: 'one', _id: { $gt: 'one.a' } },
    { of: 'one', n: 1 },
    [
      {
        replaceOne: { filter: { _id: 'one.a' }, replacement: { _id: 'one.a', of: 'one', n: 2 }, upsert: true },
      },
      { updateOne: { filter: { _id: 'one.a' }, update: set } },
      {
        updateOne: {
          filter: { _id: 'one.a' },
          update: { ...set, $setOnInsert: { m: 3, of: 'one' } },
          upsert: true,
        },
      },
    ],
  ]);
});
