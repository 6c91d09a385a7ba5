/** What the tables must hold, worked out from the log alone, by the plainest code: shares nothing with the projections. */
import { readConfig } from '#app/config.js';
import { openEventStore } from '#app/service/engines.js';

type Row = { id: string; batchId: string | null; fields: Record<string, unknown> };
type Table = Map<string, Row>;
type Data = {
  id: string;
  fields: Record<string, unknown>;
  set: Record<string, unknown>;
  batchId?: string | null;
  created?: { id: string; fields: Record<string, unknown> }[];
  changed: { id: string; set: Record<string, unknown> }[];
  seen: string;
  deleted: string;
  status: string & { to: string };
  errorReason: string[] | null;
  changes: Record<string, { to: unknown }>;
  table: string;
};

/** Tables of one tenant by name, read from a data directory that a service may be using. */
export async function foldOfLog(dataDir: string, tenant: string): Promise<Map<string, Table>> {
  const store = await openEventStore(readConfig({ DATA_DIR: dataDir }));
  const tables = new Map<string, Table>();
  const reading = new AbortController();
  const prefixes = [`table-${tenant}.`, `order-${tenant}.`];
  for await (const slice of store.subscribe({ after: 0, streamPrefixes: prefixes, signal: reading.signal })) {
    for (const { stream, type, data } of slice.events) {
      const rest = stream.slice(stream.indexOf('.') + 1);
      if (stream.startsWith('table-')) applyToTable(tableOf(tables, rest), type, data as Data);
      else applyToOrder(tables, rest, type, data as Data);
    }
    if (slice.caughtUp) break;
  }
  reading.abort();
  await store.close();
  return tables;
}

function tableOf(tables: Map<string, Table>, name: string): Table {
  const table = tables.get(name) ?? new Map<string, Row>();
  tables.set(name, table);
  return table;
}

function applyToTable(table: Table, type: string, data: Data): void {
  if (type === 'RecordCreated') {
    table.set(data.id, { id: data.id, batchId: null, fields: data.fields });
  } else if (type === 'RecordChanged') {
    Object.assign(table.get(data.id)?.fields ?? {}, data.set);
  } else if (type === 'TableCleanedUp') {
    for (const row of [...table.values()]) if (row.batchId !== data.batchId) table.delete(row.id);
  } else if (type === 'BatchUpserted' || type === 'BatchUndone') {
    for (const id of unpacked(type === 'BatchUndone' ? data.deleted : '')) table.delete(id);
    for (const { id, fields } of data.created ?? []) table.set(id, { id, batchId: data.batchId ?? null, fields });
    for (const { id, set } of [...data.changed, ...unpacked(data.seen).map((id) => ({ id, set: {} }))]) {
      const row = table.get(id);
      if (row === undefined) throw new Error(`${id} was changed before it was made.`);
      Object.assign(row.fields, set);
      if (data.batchId !== undefined) row.batchId = data.batchId;
    }
  } else {
    throw new Error(`The fold does not know ${type}.`);
  }
}

function unpacked(packed: string): string[] {
  const ids = Buffer.from(packed, 'base64').toString('hex').match(/.{32}/g) ?? [];
  return ids.map((hex) => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'));
}

function applyToOrder(tables: Map<string, Table>, orderId: string, type: string, data: Data): void {
  const orders = tableOf(tables, 'dyn_stock_order');
  if (type === 'OrderCreated') {
    orders.set(orderId, { id: orderId, batchId: null, fields: { ...data.fields, processing_status: data.status } });
    return;
  }
  const order = orders.get(orderId);
  if (order === undefined) throw new Error(`${orderId} was changed before it was made.`);
  order.fields.processing_status = data.status.to;
  if (type === 'OrderStatusChanged') order.fields.error_reason = data.errorReason;
  else if (type === 'OrderChanged')
    for (const [field, { to }] of Object.entries(data.changes)) order.fields[field] = to;
  else if (type === 'OrderPartAdded')
    tableOf(tables, data.table).set(data.id, { id: data.id, batchId: null, fields: data.fields });
  else throw new Error(`The fold does not know ${type}.`);
}
