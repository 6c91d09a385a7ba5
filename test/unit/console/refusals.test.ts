/** Refusals of the service, as the console says them. */
import { withNameInWords } from '../../../console/src/app/sessionWords.js';

test.each([
  ['The lines.0.item_id field names no known record.', 'The item field names no known record.'],
  ['The customer_reference field is required.', 'The customer reference field is required.'],
  ['The id field must be a UUID.', 'The id field must be a UUID.'],
  ['The name "The unit_code field " is taken.', 'The name "The unit_code field " is taken.'],
])('%s', (sentence, said) => {
  expect(withNameInWords(sentence)).toBe(said);
});
