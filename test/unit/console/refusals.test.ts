/** Refusals of the service, as the console says them. */
import { readdirSync, readFileSync } from 'node:fs';
import { withNameInWords } from '../../../console/src/app/sessionWords.js';

test.each([
  ['The lines.0.item_id field names no known record.', 'The item field names no known record.'],
  ['The customer_reference field is required.', 'The customer reference field is required.'],
  ['The external_id field is required.', 'The external id field is required.'],
  ['The id field must be a UUID.', 'The id field must be a UUID.'],
  ['The name "The unit_code field " is taken.', 'The name "The unit_code field " is taken.'],
])('%s', (sentence, said) => {
  expect(withNameInWords(sentence)).toBe(said);
});

const dutchIn = (file: string) => Object.entries<string>(JSON.parse(readFileSync(`console/src/api/${file}`, 'utf8')));
const DUTCH = ['refusals.nl.json', 'reasons.nl.json'].flatMap(dutchIn);
/** Of a field, or of what there is; and what errors are made of: a message, or a message and a reason. */
const REFUSAL =
  /^(?:must|is|has|names) .*\.$|^(?:The|This|There|An?) .*\b(?:cannot|must|field|no|already|taken|many|last|changed|needs)\b.*\.$/;
const MADE_OF =
  /(?:Error|badRequest|notFound|forbidden|unavailable|tryLater)\((?:\d+, )?[`']([^`'\n]* [^`'\n]*)[`'](?:, [`']([^`']*)[`'])?/g;
/** The console sends none of this, or it is for operators. */
const FOR_PROGRAMS =
  /tenant(?! is | are)|link was|^The (?:key|number|item must|scope|client|token|session|parameter)|JSON|sync|POST|locale|UUID|Unicode|UTF-8|host|order model|array of obj|`next`|ZIP|this version|together with|order id|id of an event|none or some|not be null|no proof: \$|an array\.|1 item|RECORDS\} items|id \S+ is taken|stands in|stays with|has carried|validated here|[Cc]ursor|link to the next|each other|grant_type|client_|credentials|Master Data|given twice|If-Match|Idempotency-Key|console|METRICS|X-|nknown |not be after|a key that|not added|not in its order|no unique field|can be searched|malformed|at least one event|before it was added|name twice|dry_run|known ones|which table|eventTypes|not authenticated|here, which|has left|another event log|are changed at|: \$\{\w+\}$|MANY_KEYS|from and|be 1 to|event: |Cookie/;
const ENGLISH_WORD =
  /\b(?:the|are|must|has|have|there|this|with|than|and|its|given|changed|followed|found in|public|may|within|address|removed|attempts?|an|needed)\b/i;
/** Why something was not delivered, and where that is said. */
const REASON =
  /(?<=[`'])(?:no (?:answer|connection) w|more than|the (?:connection|name) |redirect|7 (?:is (?!no net)|may|was)|The [asrw]|All|Attempt|No a|webhook r|Disabled)[^`']*/g;
const DELIVERING = ['httpsTransport', 'targetAddress', 'receiverLookup', 'deliver', '../domain/webhook/delivery'];

test('each refusal that people meet is Dutch in Dutch, and each reason why something was not delivered', () => {
  const source = ['src/domain', 'src/commands', 'src/queries', 'src/api']
    .flatMap((place) =>
      readdirSync(place, { recursive: true, encoding: 'utf8' })
        .filter((file) => /^(?!operator|openapi|auth).*\.ts$/.test(file))
        .map((file) => readFileSync(`${place}/${file}`, 'utf8').replace(/\/\*.*?\*\/|^\s*\/\/.*?$/gms, '')),
    )
    .join('\n');
  const texts = [...source.matchAll(/`([^`]*)`|'([^'\n]*)'/g)].map(([, long, text = long ?? '']) => text);
  const made = [...source.matchAll(MADE_OF)].flatMap(([, message = '', reason = '']) => [message, reason]);
  const all = [...texts.filter((text) => REFUSAL.test(text)), ...made].filter((text) => !FOR_PROGRAMS.test(text));
  expect(new Set(all).size).toBeGreaterThan(90);
  const reasons = DELIVERING.flatMap((file) => {
    const code = readFileSync(`src/webhooks/${file}.ts`, 'utf8').replace(/\$\{[^}]*\}/g, '7');
    return code.match(REASON) ?? [];
  });
  expect(reasons.length).toBeGreaterThan(20);
  const said = [...all, ...reasons, 'Disabled by an admin.'].map((text) => {
    const field = /^(?:must|is|has|names) /.test(text) ? 'The field field ' : '';
    const sentence = field + text.replace(/\$\{.*?\}/gs, '7');
    return DUTCH.reduce((words, [from, to]) => words.replace(RegExp(from, 'g'), to), withNameInWords(sentence));
  });
  expect(said.filter((sentence) => ENGLISH_WORD.test(sentence))).toEqual([]);
});
