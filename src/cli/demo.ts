/** The tenant `demo` of a first start: a small wholesaler with items, customers and three orders. */
import type { Application, TableWrite } from '../commands/application.js';
import { newId } from '../commands/clock.js';
import type { Caller } from '../commands/context.js';
import { type OpenedTenant, openTenant } from '../commands/identity/tenants.js';
import { saveOrder } from '../commands/orders/orders.js';
import { createRecord } from '../commands/records.js';
import { upsertBatch } from '../commands/referenceTables/batches.js';
import { assetTypeOf, tenantOf } from '../commands/tables.js';

export const DEMO_TENANT = 'demo';

const UNIT_CODES = [
  { code: 'PCE', value: 'Piece' },
  { code: 'BX', value: 'Box' },
  { code: 'CS', value: 'Case' },
  { code: 'KGM', value: 'Kilogram' },
  { code: 'PX', value: 'Pallet' },
];

/** Name, brand, base unit. */
const ITEMS: readonly (readonly [string, string, string])[] = [
  ['Coffee beans, medium roast 1 kg', 'Kade', 'PCE'],
  ['Coffee beans, dark roast 1 kg', 'Kade', 'PCE'],
  ['Ground coffee 250 g', 'Kade', 'PCE'],
  ['Espresso capsules, 100', 'Kade', 'BX'],
  ['Black tea, 100 bags', 'Theehuis', 'BX'],
  ['Green tea, 100 bags', 'Theehuis', 'BX'],
  ['Rooibos, 100 bags', 'Theehuis', 'BX'],
  ['Hot chocolate powder 1 kg', 'Cacaofabriek', 'PCE'],
  ['Dark chocolate 70 %, 20 bars', 'Cacaofabriek', 'CS'],
  ['Milk chocolate, 20 bars', 'Cacaofabriek', 'CS'],
  ['Cane sugar sticks, 1000', 'Suikerunie', 'BX'],
  ['Sugar, white, 25 kg', 'Suikerunie', 'PCE'],
  ['Coffee creamer cups, 240', 'Zuivel', 'BX'],
  ['Oat drink barista, 6 × 1 l', 'Haver', 'CS'],
  ['Stroopwafels, 36 × 2', 'Bakkerij Goud', 'CS'],
  ['Speculoos, 300 single packs', 'Bakkerij Goud', 'BX'],
  ['Paper cups 180 ml, 1000', 'Bekers & Zo', 'BX'],
  ['Lids 180 ml, 1000', 'Bekers & Zo', 'BX'],
  ['Wooden stirrers, 1000', 'Bekers & Zo', 'BX'],
  ['Descaler 1 l', 'Helder', 'PCE'],
];

/** Name, city, country. */
const PARTIES: readonly (readonly [string, string, string])[] = [
  ['Grand Café De Brug', 'Utrecht', 'NL'],
  ['Hotel Zeezicht', 'Zandvoort', 'NL'],
  ['Kantine Noord', 'Groningen', 'NL'],
  ['Brasserie du Marché', 'Liège', 'BE'],
  ['Kaffeehaus Linden', 'Köln', 'DE'],
];

// biome-ignore format: one order a line
/**
 * Number of the customer, their reference, item number and quantity of each line, and whether the order is validated.
 */
const ORDERS: readonly {
  readonly party: number;
  readonly reference: string;
  readonly lines: readonly (readonly [item: number, quantity: number])[];
  readonly validated: boolean;
}[] = [
  { party: 1, reference: 'PO 2024-118', lines: [[1, 24], [4, 10], [17, 2]], validated: true },
  { party: 2, reference: 'Breakfast week 12', lines: [[5, 6], [8, 4], [13, 8], [15, 3]], validated: false },
  { party: 5, reference: 'B-77310', lines: [[2, 12], [19, 1]], validated: false },
];

const itemKey = (number: number): string => `ITEM-${String(number).padStart(3, '0')}`;
const partyKey = (number: number): string => `CUST-${String(number).padStart(3, '0')}`;

/** Creates the tenant, then its data. @throws ConflictError if another process created it first */
export async function openDemoTenant(commands: Application): Promise<OpenedTenant> {
  const caller: Caller = {
    tenant: DEMO_TENANT,
    actor: { kind: 'system', id: 'sample-data' },
    correlationId: newId(),
    causationId: newId(),
  };
  const opened = await openTenant(commands, caller, { orderModel: 'dyn_stock_order', displayName: 'Demo' });
  const at = (table: string) => demoTable(commands, caller, table);
  const unitCodes = UNIT_CODES.map((unit) => ({ ...unit, id: newId() }));
  const items = sampleItems(new Map(unitCodes.map(({ code, id }) => [code, id])));
  await upsertBatch(at('dyn_unit_code'), { items: unitCodes });
  await upsertBatch(at('dyn_item'), { items });
  await upsertBatch(at('dyn_party'), { items: sampleParties() });
  let position = 0;
  for (const order of ORDERS) position = await addOrder(commands, caller, order, items);
  await commands.progress.waitFor(DEMO_TENANT, position, 10_000);
  return opened;
}

const demoTable = (commands: Application, caller: Caller, table: string): TableWrite => {
  return { commands, caller, assetType: assetTypeOf(tenantOf(commands, DEMO_TENANT), table) };
};

type SampleItem = { readonly id: string; readonly base_unit_code_id: string | null };

function sampleItems(unitIds: ReadonlyMap<string, string>): readonly SampleItem[] {
  return ITEMS.map(([name, brand, unit], index) => ({
    id: newId(),
    external_id: itemKey(index + 1),
    name,
    brand_name: brand,
    base_unit_code_id: unitIds.get(unit) ?? null,
    active: true,
  }));
}

function sampleParties() {
  return PARTIES.map(([name, city, country], index) => ({
    id: newId(),
    external_id: partyKey(index + 1),
    account_id: partyKey(index + 1),
    name,
    city_name: city,
    country,
  }));
}

async function addOrder(
  commands: Application,
  caller: Caller,
  order: (typeof ORDERS)[number],
  items: readonly SampleItem[],
): Promise<number> {
  const today = commands.now().slice(0, 10);
  const created = await createRecord(demoTable(commands, caller, 'dyn_stock_order'), {
    customer_reference: order.reference,
    buyer_customer_party_id: partyKey(order.party),
    accounting_customer_party_id: partyKey(order.party),
    issue_date: today,
    delivery_date: today,
    currency_code: 'EUR',
    accuracy: 0.97,
    lines: order.lines.map(([itemNumber, quantity], index) => {
      const { id: itemId = null, base_unit_code_id: unitCodeId = null } = items[itemNumber - 1] ?? {};
      return { line_number: index + 1, item_id: itemId, unit_code_id: unitCodeId, quantity };
    }),
  });
  if (!order.validated) return created.position;
  return (await saveOrder(commands, caller, created.id, { processing_status: 'validated' })).position;
}
