/**
 * The user of the database needs the role `readWrite` alone (docs/operations.md). The server of the tests has no roles, so this
 * compares what the adapter may ask of the driver with what that role allows:
 * https://www.mongodb.com/docs/manual/reference/built-in-roles/#mongodb-authrole-readWrite
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Collection, Db, MongoClient } from 'mongodb';

const ADAPTER = resolve(__dirname, '../../../src/adapters/readmodels/mongodb');
const READ_WRITE = [
  ...['find', 'listCollections', 'listIndexes', 'collStats', 'dbStats', 'dbHash', 'killCursors', 'changeStream'],
  ...['insert', 'update', 'remove', 'createCollection', 'dropCollection', 'createIndex', 'dropIndex'],
  ...['convertToCapped', 'renameCollectionSameDB'],
];

/** The actions for which the server asks, by method of the driver; other methods ask the server for nothing, or for hello. */
const ACTIONS: { readonly [method: string]: readonly string[] } = {
  find: ['find', 'killCursors'],
  findOne: ['find'],
  aggregate: ['find', 'killCursors'],
  countDocuments: ['find'],
  distinct: ['find'],
  insertOne: ['insert', 'createCollection'],
  insertMany: ['insert', 'createCollection'],
  updateOne: ['update', 'insert'],
  updateMany: ['update'],
  deleteOne: ['remove'],
  deleteMany: ['remove'],
  bulkWrite: ['insert', 'update', 'remove'],
  createIndexes: ['createIndex', 'createCollection'],
  listIndexes: ['listIndexes'],
  listCollections: ['listCollections'],
  renameCollection: ['renameCollectionSameDB'],
  dropCollection: ['dropCollection'],
  ...Object.fromEntries(['connect', 'close', 'db', 'collection', 'withSession', 'command'].map((name) => [name, []])),
};

const text = readdirSync(ADAPTER, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readFileSync(join(ADAPTER, file), 'utf8'))
  .join('\n');

test('the role readWrite allows all that the read models on MongoDB ask of the server', () => {
  const methods = [Collection, Db, MongoClient].flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype));
  const used = methods.filter((name) => name !== 'constructor' && new RegExp(`\\.${name}[(<]`).test(text));
  expect(used).toEqual(expect.arrayContaining(['find', 'bulkWrite', 'createIndexes', 'dropCollection']));
  const needed = used.map((name) => [name, ACTIONS[name]] as const);
  expect(needed.filter(([, actions]) => !actions?.every((action) => READ_WRITE.includes(action)))).toEqual([]);
});

test('commands that are sent as they are need no right, or that to find', () => {
  const sent = [...text.matchAll(/\.command\((.*?)\)/g)].map(([, sent = '']) => sent);
  expect(sent.sort()).toEqual(['asked', '{ hello: 1 }']);
  expect(text).toMatch(/const asked = \{\n\s+find: 'state',/);
});
