/** The first page, by the roles of the person: figures that lead to what waits, and what came last. */
import { Paper, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Entries } from '../activity/ActivityEntry';
import { api, dataOf } from '../api/client';
import * as read from '../api/queries';
import { DeliveryDate, StatusBadge } from '../orders/Facts';
import { overdue, placeOf, readQueue, TO_VALIDATE } from '../orders/queue';
import { Health } from '../webhooks/SuccessByHour';
import { useText, When } from './language';
import { Empty, Loaded, Page, Section } from './Page';
import { Cut, Rows } from './Rows';

/** Rows of each list. */
const SHOWN = 8;
/** Webhooks with a figure of their own, those that are off first. */
const SHOWN_WEBHOOKS = 3;
const NEWEST = { sort: '-created_at' } as const;
const placeIn = (row: number) => placeOf(TO_VALIDATE, NEWEST, row);

export function Home() {
  const { isReader, isValidator } = read.useRoles();
  const { menu, orders: text, common, status } = useText();
  const counts = useQuery(read.orderCountsQuery).data;
  const latest = useQuery({
    queryKey: ['orders', 'latest'],
    queryFn: async () => (await readQueue(TO_VALIDATE, NEWEST)).data.slice(0, SHOWN),
  });
  // Orders of transport have none.
  const hasDate = latest.data?.[0]?.delivery_date !== undefined;
  const late = useQuery({
    queryKey: ['orders', 'overdue', overdue()],
    queryFn: async () => (await readQueue(TO_VALIDATE, overdue())).meta.total,
    enabled: hasDate,
  }).data;
  return (
    <Page title={menu.home}>
      <div className="figures">
        <Figure label={menu.toValidate} value={counts?.toValidate} to="/orders" />
        {hasDate && <Figure label={text.overdue} value={late} to="/orders" search={overdue()} isBad={late !== 0} />}
        <Figure label={status.submit_failed} value={counts?.refused} to="/refused" isBad={Boolean(counts?.refused)} />
        {isReader && <FiguresOfReaders />}
      </div>
      <div className="beside">
        {!isValidator && <LastActivity />}
        <Section title={text.latest}>
          <Loaded query={latest}>
            {(orders) => (
              <Rows
                label={text.latest}
                none={<Empty action={<Link to="/archive">{menu.archive}</Link>}>{text.none}</Empty>}
                heads={[text.customer, text.delivery, common.status]}
                rows={orders.map((order, row) => ({
                  id: order.id,
                  cells: [
                    <Link key="1" to="/orders/$orderId" params={{ orderId: order.id }} search={placeIn(row)}>
                      <Cut>{[order.customer ?? '', order.customer_reference ?? order.id]}</Cut>
                    </Link>,
                    order.delivery_date && <DeliveryDate key="2" date={order.delivery_date} of={order} />,
                    <StatusBadge key="3" status={order.processing_status} />,
                  ],
                }))}
              />
            )}
          </Loaded>
        </Section>
        {isReader && isValidator && <LastActivity />}
      </div>
    </Page>
  );
}

type FigureProps = { readonly label: string; readonly to: string; readonly search?: object; readonly isBad?: boolean };

/** @param value undefined while it is read */
function Figure({ label, value, isBad = false, to, search = {} }: FigureProps & { readonly value: ReactNode }) {
  return (
    <Paper component={Link} to={to} search={search as never} withBorder p="md" className="figure">
      <Text size="sm">{label}</Text>
      <Text component="div" fz={24} fw={600} {...(isBad ? { className: 'late' } : {})}>
        {value ?? '–'}
      </Text>
    </Paper>
  );
}

function FiguresOfReaders() {
  const { tables, webhooks: text } = useText();
  const webhooks = [...(useQuery(read.webhooksQuery).data ?? [])].sort((a, b) => Number(a.enabled) - Number(b.enabled));
  const others = webhooks.length - SHOWN_WEBHOOKS;
  const writtenAt = new Map(useQuery(read.tableSummariesQuery).data?.map((each) => [each.name, each.last_written_at]));
  const references = useQuery(read.assetTypesQuery).data?.filter(({ kind }) => kind === 'reference') ?? [];
  const at = ({ name }: { readonly name: string }) => writtenAt.get(name) ?? '';
  const [written] = references.sort((a, b) => at(b).localeCompare(at(a)));
  return (
    <>
      {webhooks.slice(0, SHOWN_WEBHOOKS).map(({ id, name, url, enabled }) => (
        <Figure
          key={id}
          label={name || url}
          value={enabled ? <Health webhookId={id} /> : text.disabled}
          to={`/webhooks/${id}`}
          isBad={!enabled}
        />
      ))}
      {others > 0 && <Figure label={text.others} value={others} to="/webhooks" />}
      <Figure
        label={`${tables.lastWritten}: ${written?.label}`}
        value={<When at={written && at(written)} />}
        to="/tables"
      />
    </>
  );
}

function LastActivity() {
  const { title } = useText().activity;
  const navigate = useNavigate();
  const list = useQuery({
    queryKey: ['activity', 'latest'],
    queryFn: () => dataOf(api.GET('/api/v1/platform/activity', { params: { query: { limit: SHOWN } } })),
  });
  return (
    <Section title={title}>
      <Loaded query={list}>
        {(entries) => <Entries entries={entries} onFilter={(search) => void navigate({ to: '/activity', search })} />}
      </Loaded>
    </Section>
  );
}
