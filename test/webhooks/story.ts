/**
 * The story of an order of either model and of a reference table, with an event in the log for each kind of webhook.
 */

import type { TableWrite } from '#app/commands/application.js';
import { writeOrder } from '#app/commands/orders/orderStream.js';
import { approveOrder } from '#app/commands/orders/orders.js';
import { createRecord, updateRecord } from '#app/commands/records.js';
import { upsertBatch } from '#app/commands/referenceTables/batches.js';
import { cleanUpTable } from '#app/commands/referenceTables/cleanUps.js';
import type { Webhook } from '#app/domain/identity/directory.js';
import type { User } from '#app/domain/identity/events.js';
import { endExport } from '#app/domain/order/decide.js';
import { toldAs } from '#app/domain/order/events.js';
import { orderStream, tableStream } from '#app/domain/streams.js';
import type { WebhookEventKind } from '#app/domain/webhook/catalogue.js';
import type { DeliverySubject } from '#app/domain/webhook/events.js';
import type { RecordedEvent } from '#app/ports/eventStore.js';
import type { Inside } from '../projections/harness.js';

type Fields = { readonly [field: string]: unknown };

export const webhook: Webhook = {
  id: '01a1feb1-0000-7000-8000-00000000000e',
  name: 'ERP',
  url: 'https://erp.example.com/orders',
  events: ['order.approved'],
  customData: { warehouse: 'north', nested: [1, null, 'ü'] },
  sealedSecret: '',
  createdAt: '2026-11-21T00:00:00.000000Z',
  startedAt: '2026-11-21T00:00:00.000000Z',
  wantedAfter: {},
};

const person = (id: number, firstName: string): User => ({
  id,
  firstName,
  lastName: 'Smit',
  locale: 'nl_NL',
  email: `${firstName.toLowerCase()}@acme.example`,
  roles: ['validator'],
  passwordHash: '',
});
export const eva = person(7, 'Eva');

/** One tenant, used through its commands. */
export class Story {
  readonly #inside: Inside;
  readonly #tenant: string;

  constructor(inside: Inside, tenant: string) {
    this.#inside = inside;
    this.#tenant = tenant;
  }

  get #caller() {
    return this.#inside.caller(this.#tenant);
  }

  #on(table: string): TableWrite {
    return {
      commands: this.#inside.commands,
      caller: this.#caller,
      assetType: this.#inside.assetType(this.#tenant, table),
    };
  }

  /** As over the API: a later request may name the record. */
  async create(table: string, fields: Fields): Promise<string> {
    const { id } = await createRecord(this.#on(table), fields);
    await this.#inside.caughtUp();
    return id;
  }

  async update(table: string, id: string, fields: Fields): Promise<void> {
    await updateRecord(this.#on(table), id, fields);
  }

  async batch(table: string, batchId: string | undefined, items: readonly Fields[]): Promise<void> {
    const sent = items.map((item) => (batchId === undefined ? item : { ...item, _batch_id: batchId }));
    await upsertBatch(this.#on(table), { items: sent });
    await this.#inside.caughtUp();
  }

  async cleanUp(table: string, batchId: string): Promise<void> {
    await cleanUpTable(this.#on(table), { batch_id: batchId });
  }

  async approve(orderId: string, user: User = eva): Promise<void> {
    await this.#inside.caughtUp();
    await approveOrder(this.#inside.commands, this.#caller, orderId, user, 'It follows.');
  }

  async failExport(orderId: string): Promise<void> {
    const approval = (await this.orderEvents(orderId)).findLast(({ type }) => type === 'OrderApproved');
    const reasons = ['All 5 attempts to deliver to webhook ERP failed.', 'Attempt 5: The receiver answered 503.'];
    const ended = { webhookId: webhook.id, deliveryId: 'd' };
    await writeOrder(
      this.#inside.commands,
      this.#caller,
      orderId,
      (order) => () => endExport(order, approval?.id ?? '', ended, reasons),
    );
  }

  orderEvents(orderId: string): Promise<readonly RecordedEvent[]> {
    return this.#inside.eventStore.readStream(orderStream(this.#tenant, orderId));
  }

  /** A delivery about the last event that is told as of the type. */
  async ofOrder(kind: WebhookEventKind, orderId: string, type: string): Promise<DeliverySubject> {
    const event = (await this.orderEvents(orderId)).findLast((each) => toldAs(each) === type);
    if (event === undefined) throw new Error(`The order has no ${type}.`);
    return { webhookId: webhook.id, kind, orderId, sourceEventId: event.id, sourceRevision: event.revision };
  }

  /** A delivery about the last event of the type. */
  async ofTable(kind: WebhookEventKind, table: string, type: string): Promise<DeliverySubject> {
    const events = await this.#inside.eventStore.readStream(tableStream(this.#tenant, table));
    const event = events.findLast((each) => each.type === type);
    if (event === undefined) throw new Error(`${table} has no ${type}.`);
    const { id: sourceEventId, revision: sourceRevision } = event;
    return { webhookId: webhook.id, kind, orderId: '', table, sourceEventId, sourceRevision };
  }

  /** Two synchronisations of the parties, and a clean-up after the second. */
  async synchroniseParties(): Promise<void> {
    const kade = { street_name: 'Kade', city_name: 'Utrecht', country: 'NL' };
    await this.batch('dyn_party', 'sync-1', [
      { external_id: 'C-1', account_id: 'A-1', name: 'Bakkerij ☕', ...kade },
      { external_id: 'C-2', name: 'Mill' },
      { external_id: 'C-3', name: 'Gone' },
    ]);
    await this.batch('dyn_party', 'sync-2', [
      { external_id: 'C-1', account_id: 'A-1', name: 'Bakkerij ☕', ...kade },
      { external_id: 'C-2', name: 'Korenmolen' },
      { external_id: 'C-4', name: 'New' },
      { external_id: 'C-5', name: 'Newer' },
    ]);
    await this.cleanUp('dyn_party', 'sync-2');
  }

  /** An order that was filled, validated and approved, and whose export failed. */
  async stockOrder(): Promise<string> {
    const unit_code_id = await this.create('dyn_unit_code', { code: 'PCE', value: 'Piece' });
    const item_id = await this.create('dyn_item', {
      external_id: 'ITEM-1',
      name: 'Tea',
      base_unit_code_id: unit_code_id,
      category_id: 'CAT-1',
      category_name: 'Hot drinks',
    });
    const bare_item_id = await this.create('dyn_item', { external_id: 'ITEM-2', name: 'Honey' });
    const order_id = await this.create('dyn_stock_order', {
      customer_reference: 'PO 1',
      delivery_date: '2026-12-01',
      accuracy: 0.975,
      buyer_customer_party_id: 'C-1',
      accounting_customer_party_id: 'unknown',
    });
    await this.create('dyn_order_line', { order_id, item_id, unit_code_id, quantity: 2.5 });
    await this.create('dyn_order_line', { order_id, item_id: bare_item_id, quantity: 1 });
    await this.#sent('dyn_stock_order', order_id);
    return order_id;
  }

  async transportOrder(): Promise<string> {
    const place = { city_name: 'Rotterdam', country: 'NL' };
    await this.batch('dyn_location', undefined, [{ external_id: 'L-1', name: 'Depot', ...place, latitude: 51.9 }]);
    const packing_type_id = await this.create('dyn_packing_type', { code: 'EUR', value: 'Euro pallet', max_stack: 2 });
    const allowance_charge_reason_id = await this.create('dyn_allowance_charge_reason', { code: 'FC', value: 'Fuel' });
    const transport_order_id = await this.create('dyn_transport_order', {
      customer_reference: 'PO 2',
      transport_reference: 'TR 1',
      buyer_customer_party_id: 'C-2',
    });
    const consignment_id = await this.create('dyn_consignment', {
      transport_order_id,
      consignor_party_id: 'C-1',
      loading_location_id: 'L-1',
      loading_date: '2026-12-01',
    });
    await this.create('dyn_goods', { consignment_id, quantity: 3, packing_type_id, stackable: true });
    const charge = { charge_indicator: true, amount: 12.5, allowance_charge_reason_id };
    await this.create('dyn_allowance_charge', { transport_order_id, ...charge });
    await this.#sent('dyn_transport_order', transport_order_id);
    return transport_order_id;
  }

  async #sent(table: string, orderId: string): Promise<void> {
    await this.update(table, orderId, { notes: 'Ring twice.', processing_status: 'validated' });
    await this.approve(orderId);
    await this.failExport(orderId);
  }
}
