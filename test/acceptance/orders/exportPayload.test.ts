/** What integrators are sent when an order is approved (spec §2.3, §6.1). */
import { approve, parsed, validatedOrder, withWebhook } from '../export.js';
import { Receiver } from '../receiver.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const { acme, tenant } = useService({ tenants: { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' } });

const UUID = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const TIMESTAMP = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);

it('§2.3, §6.1: an approved order is sent as validated_order and custom_data, field by field as specified', async () => {
  const customData = { warehouse: 'north', nested: { a: [1, null, 'ü'] } };
  await withWebhook(acme(), receiver, { path: '/payload', custom_data: customData }, async () => {
    const { order, line, item, unitCode, buyer } = await validatedOrder(acme());
    await approve(acme(), order.id);
    const [call] = await receiver.received('/payload', 1);
    const payload = parsed(call?.body);
    expect(Object.keys(Object(payload)).sort()).toEqual(['custom_data', 'validated_order']);

    // The records as they are read; acceptance/tables/assets has the names that §2.3 gives their fields.
    const { category_name: name, ...ofItem } = item;
    expect(payload).toMatchObject({
      custom_data: customData,
      validated_order: {
        created_at: TIMESTAMP,
        updated_at: TIMESTAMP,
        id: order.id,
        sales_order_id: null,
        processing_status: 'submitted',
        issue_date: '2026-11-21',
        issue_time: null,
        delivery_date: '2026-12-01',
        notes: null,
        customer_reference: order.customer_reference,
        accuracy: 0.975,
        order_inquiry_id: UUID,
        buyer_customer_party_id: buyer.external_id,
        accounting_customer_party_id: buyer.external_id,
        error_reason: null,
        approved_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
        approved_by: 1,
        buyer_customer_party: buyer,
        accounting_customer_party: buyer,
        approver: {
          id: 1,
          first_name: expect.any(String),
          last_name: expect.any(String),
          locale: expect.any(String),
          email: acme().admin.email,
        },
        lines: [{ ...line, item: { ...ofItem, base_unit_code: unitCode, category: { name } }, unit_code: unitCode }],
      },
    });
    expect(String(call?.body)).not.toContain('_batch_id');
  });
});

it('§2.3: what an order does not name is null; an object that is promised is left out, and said to be', async () => {
  await withWebhook(acme(), receiver, '/sparse', async () => {
    await acme().create('dyn_party', { external_id: 'S1', name: 'Sparse' });
    const order = await acme().create('dyn_stock_order', {
      buyer_customer_party_id: 'S1',
      delivery_date: '2026-12-01',
    });
    await acme().create('dyn_order_line', { order_id: order.id, quantity: 1 });
    await acme().update('dyn_stock_order', order.id, { processing_status: 'validated' });
    await approve(acme(), order.id);
    const [call] = await receiver.received('/sparse', 1);
    const { validated_order, custom_data } = Object(parsed(call?.body));
    expect(custom_data).toEqual({});
    expect(validated_order).toMatchObject({
      notes: null,
      buyer_customer_party: { name: 'Sparse' },
      lines: [{ item_id: null }],
    });
    expect(validated_order).not.toHaveProperty('accounting_customer_party');
    expect(Object.keys(validated_order.lines[0])).not.toEqual(expect.arrayContaining(['item', 'unit_code']));
    expect(validated_order.left_out.map(({ field }: { field: string }) => field)).toEqual([
      'accounting_customer_party',
      'lines.0.item',
      'lines.0.unit_code',
    ]);
  });
});

it('§1, §6.1: a transport order is sent with its consignments, goods and charges', async () => {
  const hauler = tenant('hauler');
  await withWebhook(hauler, receiver, '/transport', async () => {
    await hauler.create('dyn_location', { external_id: 'L1', name: 'Depot' });
    await hauler.create('dyn_party', { external_id: 'C1', name: 'Shipper' });
    const order = await hauler.create('dyn_transport_order', {
      buyer_customer_party_id: 'C1',
      transport_reference: 'T1',
    });
    const ofOrder = { transport_order_id: order.id };
    const consignment = await hauler.create('dyn_consignment', { ...ofOrder, loading_location_id: 'L1' });
    const goods = await hauler.create('dyn_goods', { consignment_id: consignment.id, quantity: 3 });
    const charged = { ...ofOrder, charge_indicator: true, amount: 9.95 };
    const charge = await hauler.create('dyn_allowance_charge', charged);
    await hauler.update('dyn_transport_order', order.id, { processing_status: 'validated' });
    await approve(hauler, order.id);
    const [call] = await receiver.received('/transport', 1);
    expect(parsed(call?.body)).toMatchObject({
      validated_order: {
        id: order.id,
        transport_reference: 'T1',
        consignments: [
          { id: consignment.id, loading_location: { name: 'Depot' }, goods: [{ id: goods.id, quantity: 3 }] },
        ],
        allowance_charges: [{ id: charge.id, amount: 9.95 }],
      },
    });
  });
});
