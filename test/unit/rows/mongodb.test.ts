/** Options of MONGODB_URL: those that would break what the rows rely on have no effect, or are refused. */
import { clientOf } from '#app/adapters/rows/mongodb/connection.js';

const clientWith = (options: string) => clientOf(`mongodb://ops:secret@db.example/assets?${options}`);

test.each([
  'readPreference=secondary&readPreferenceTags=dc:north',
  'readConcernLevel=linearizable',
  'w=0',
  'w=1&journal=false&wtimeoutMS=5',
  'retryWrites=false',
])('%s has no effect', (options) => {
  const { readPreference, readConcern, writeConcern, options: read } = clientWith(options);
  expect(readPreference).toMatchObject({ mode: 'primary', tags: [] });
  expect(readConcern).toMatchObject({ level: 'local' });
  expect(writeConcern).toMatchObject({ w: 'majority', j: true, wtimeout: 0 });
  expect(read.retryWrites).toBe(true);
});

test.each([
  ['maxStalenessSeconds=90', 'Primary read preference cannot be combined with maxStalenessSeconds'],
  ['sharding=yes', 'option sharding is not supported'],
])('%s is refused', (options, sentence) => {
  expect(() => clientWith(options)).toThrow(`MONGODB_URL is refused: ${sentence}.`);
});

test.each(['tlsCAFile', 'tlsCertificateKeyFile'])('a missing file of %s is refused, and named', (option) => {
  expect(() => clientWith(`${option}=/no/file.pem`)).toThrow(/^MONGODB_URL is refused: .*'\/no\/file\.pem'\.$/);
});
