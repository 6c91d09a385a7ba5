import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { eventCatalogue, payloadVersion, WEBHOOK_EVENT_KINDS } from '#app/domain/webhook/catalogue.js';
import { catalogueMarkdown } from './catalogueMarkdown.js';

const stock = { orderModel: 'dyn_stock_order', assetTypes: standardTables('dyn_stock_order') };

describe('the event catalogue (spec §6, §6.5)', () => {
  test('has every kind that a webhook can subscribe to, once, with version and description', () => {
    const entries = eventCatalogue(stock);
    expect(entries.map(({ kind }) => kind)).toEqual(WEBHOOK_EVENT_KINDS);
    for (const { kind, version, description } of entries) {
      expect(version).toBe(payloadVersion(kind));
      expect(version).toMatch(/^[1-9]\d*$/);
      expect(description).toMatch(/^[A-Z].+\.$/);
    }
  });
});

describe('docs/webhook-events.md', () => {
  const file = resolve(__dirname, '../../docs/webhook-events.md');
  const [BEGIN, END] = ['<!-- catalogue -->\n', '\n<!-- /catalogue -->'];

  test('has the catalogue as it is (UPDATE_DOCS=1 npx jest test/webhooks/catalogue writes it)', () => {
    const text = readFileSync(file, 'utf8');
    const [before, rest = ''] = text.split(BEGIN);
    const expected = `${before}${BEGIN}${catalogueMarkdown(eventCatalogue(stock))}${END}${rest.split(END)[1]}`;
    if (process.env.UPDATE_DOCS === '1') writeFileSync(file, expected);
    else expect(text).toBe(expected);
  });
});
