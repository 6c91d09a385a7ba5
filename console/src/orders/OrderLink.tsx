/** An order by its reference, where only its id is known: as a link, and to be chosen. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type AnyRecord, api, bodyOf } from '../api/client';
import { tenantQuery } from '../api/queries';
import { useText } from '../app/language';
import { LookUp, nameOf } from './LookUp';

const STALE_MS = 60_000;

function useOrder(id: string | undefined) {
  const table = useQuery(tenantQuery).data?.order_model ?? '';
  const order = useQuery({
    queryKey: ['records', table, 'named', id],
    queryFn: async () => {
      const params = { path: { table, asset_id: id ?? '' } };
      return (await bodyOf(api.GET('/api/v1/platform/tables/{table}/assets/{asset_id}', { params }))).data as AnyRecord;
    },
    enabled: table !== '' && id !== undefined,
    staleTime: STALE_MS,
  });
  return { table, order: order.data ?? null, isPending: order.isPending };
}

/** @param name if it is known */
export function OrderLink({ id, name }: { readonly id: string; readonly name?: string | null }) {
  const text = useText().orders;
  const { order } = useOrder(name === undefined ? id : undefined);
  return (
    <Link to="/orders/$orderId" params={{ orderId: id }}>
      <bdi>{name ?? (order === null ? `${text.one} ${id.slice(0, 8)}` : nameOf(order))}</bdi>
    </Link>
  );
}

type FieldProps = {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (id: string | null) => void;
};

/** Finds an order by what people call it. */
export function OrderField({ label, value, onChange }: FieldProps) {
  const { table, order, isPending } = useOrder(value);
  // Nobody knows an order by its id.
  const shown = isPending ? null : (value ?? null);
  return <LookUp label={label} table={table} keyField="id" value={shown} record={order} onChange={onChange} />;
}
