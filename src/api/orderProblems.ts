/** Problems of an order in answers. */
import { PROBLEM_CODES, type Problem } from '../domain/order/problems.js';
import * as json from './openapi/schema.js';

/** The first problems for which an approval is refused. */
export const problemView = json.view<Problem>({
  field: [{ type: 'string', description: 'Its path in the order, such as lines.0.item_id.' }, ({ field }) => field],
  code: [json.oneOf(PROBLEM_CODES), ({ code }) => code],
  message: [json.text, ({ message }) => message],
});
