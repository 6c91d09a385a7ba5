/** A table of more items than the largest page has, and the same questions answered by hand in memory. */
import type { AssetRecord, Query, RecordList, TenantClient } from './tenant.js';

/** 44 pages of 25. Not many more than the largest page: FerretDB reads them all for each query. */
export const ITEMS = 1_100;
const WORDS = ['Tea', 'coffee', 'ÉCLAIR', 'Sugar 100%', 'oat_drink', 'back\\slash', 'Salt, fine', '漢字', "O'Neil"];
const BRANDS = ['Kade', 'kade', 'Theehuis', null, 'ZUIVEL'];

/** Fills `dyn_item`. @returns all records in the order of their creation */
export async function fillItems(tenant: TenantClient): Promise<readonly AssetRecord[]> {
  const items = Array.from({ length: ITEMS }, (_, n) => ({
    external_id: `E${n}`,
    name: `${WORDS[n % WORDS.length]} ${n % 100}`,
    brand_name: BRANDS[n % BRANDS.length],
    sku: `S${(n * 7919) % 10_007}`,
  }));
  for (let at = 0; at < ITEMS; at += 1000) await tenant.batch('dyn_item', items.slice(at, at + 1000));
  const pages = await Promise.all([1, 2].map((page) => tenant.list('dyn_item', { page: `${page}`, perPage: '1000' })));
  return pages.flatMap(({ data }) => data);
}

export const ids = (found: readonly AssetRecord[]): readonly string[] => found.map(({ id }) => id);

export const contains = (record: AssetRecord, field: string, text: string): boolean =>
  String(record[field] ?? '')
    .toLowerCase()
    .includes(text.toLowerCase());

/** Every record of a list of items, page by page along its `next` links. */
export async function follow(tenant: TenantClient, query: Query): Promise<readonly AssetRecord[]> {
  const found: AssetRecord[] = [];
  let page: RecordList = await tenant.list('dyn_item', query);
  found.push(...page.data);
  while (page.links.next !== null) {
    const { search } = new URL(page.links.next);
    page = await tenant.list('dyn_item', search.slice(1));
    found.push(...page.data);
  }
  return found;
}
