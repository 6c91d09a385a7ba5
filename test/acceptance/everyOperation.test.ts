import { readFileSync, writeFileSync } from 'node:fs';
import { exampleOf } from './answerExamples.js';
import { everyOperation } from './operationsStory.js';
import { Receiver } from './receiver.js';
import { useService } from './useService.js';

const EXAMPLES = 'src/api/openapi/answers.json';
const { service } = useService({ tenants: { acme: 'dyn_stock_order' } });
const receiver = Receiver.ofTests();

describe('on the engines of its own', () => {
  const answers = everyOperation(async () => ({ service: service(), receiver }));

  it('and the answers are the examples of the document, which WRITE_EXAMPLES=yes writes', () => {
    const { getOpenApi: _, ...given } = Object.fromEntries([...answers].map(([id, body]) => [id, exampleOf(body)]));
    if (process.env.WRITE_EXAMPLES === 'yes') writeFileSync(EXAMPLES, `${JSON.stringify(given, null, 2)}\n`);
    expect(given).toEqual(JSON.parse(readFileSync(EXAMPLES, 'utf8')));
  });
});
