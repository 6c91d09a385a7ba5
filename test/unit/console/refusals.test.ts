/** Refusals of the service, as the console says them. */
import { readdirSync, readFileSync } from 'node:fs';
import { withNameInWords } from '../../../console/src/app/sessionWords.js';

test.each([
  ['The lines.0.item_id field names no known record.', 'The item field names no known record.'],
  ['The customer_reference field is required.', 'The customer reference field is required.'],
  ['The id field must be a UUID.', 'The id field must be a UUID.'],
  ['The name "The unit_code field " is taken.', 'The name "The unit_code field " is taken.'],
])('%s', (sentence, said) => {
  expect(withNameInWords(sentence)).toBe(said);
});

const DUTCH = Object.entries<string>(JSON.parse(readFileSync('console/src/api/refusals.nl.json', 'utf8')));
const REFUSAL =
  /^(?:must|is|has|names) .*\.$|^(?:The|This|There|An?) .*\b(?:cannot|must|field|no|already|taken|many|last|changed|needs)\b.*\.$/;
/** The console sends none of this, or it is for operators. */
const FOR_PROGRAMS =
  /tenant|link was used|^The (?:key|body|number|item must)|JSON|sync|POST|locale|UUID|Unicode|host name|order model|array of obj|`next`|ZIP|this version|together with|order id|id of an event|none or some|not be null|no proof: \$|an array\.|1 item|RECORDS\} items|id \S+ is taken|stands in|stays with|has carried|validated here/;
const ENGLISH_WORD = /\b(?:the|are|must|has|have|there|this|with|than|and|its|given|changed)\b/i;

test('each refusal that people meet is Dutch in Dutch', () => {
  const sources = ['src/domain', 'src/commands', 'src/api/platform'].flatMap((place) =>
    readdirSync(place, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(`${place}/${file}`, 'utf8').replace(/\/\*.*?\*\/|^\s*\/\/.*?$/gms, '')),
  );
  const texts = [...sources.join('\n').matchAll(/`([^`]*)`|'([^'\n]*)'/g)].map(([, long, text = long ?? '']) => text);
  const refusals = new Set(texts.filter((text) => REFUSAL.test(text) && !FOR_PROGRAMS.test(text)));
  expect(refusals.size).toBeGreaterThan(50);
  const said = [...refusals].map((text) => {
    const sentence = (/^[a-z]/.test(text) ? `The field field ${text}` : text).replace(/\$\{.*?\}/gs, '7');
    return DUTCH.reduce((words, [from, to]) => words.replace(RegExp(from, 'g'), to), withNameInWords(sentence));
  });
  expect(said.filter((sentence) => ENGLISH_WORD.test(sentence))).toEqual([]);
});
