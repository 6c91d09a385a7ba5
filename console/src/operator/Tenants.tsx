/** The tenants of the installation by name, a new one, and one of them: how it fares, what it uses, and work on its rows. */
import { Badge, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { dataOf } from '../api/client';
import { type Column, DataTable } from '../app/DataTable';
import { InputsDialog, Opens, useSecretOnce } from '../app/Dialogs';
import { useNumber, useSize, useText } from '../app/language';
import { Listed, Loaded, Page } from '../app/Page';
import { Facts } from '../app/Rows';
import { SearchField } from '../app/SearchField';
import { Quotas } from '../settings/Tenant';
import { Jobs, ParkedList } from './Jobs';
import { api, type Tenant, tenantQuery, useTenants } from './queries';
import { useWords } from './words';

export function Tenants() {
  const { menu, tenants } = useWords();
  const navigate = useNavigate();
  const { text: search = '' } = getRouteApi('/operator/tenants').useSearch();
  const { tables } = useText();
  const [number, size] = [useNumber(), useSize()];
  const below = { isNumber: true, priority: 3 } as const;
  const columns: readonly Column<Tenant>[] = [
    {
      id: 'name',
      label: tenants.tenant,
      priority: 1,
      cell: ({ name }) => (
        <Link to="/operator/tenants/$tenant" params={{ tenant: name }}>
          {name}
        </Link>
      ),
    },
    { id: 'state', label: tenants.state, priority: 1, cell: (tenant) => <TenantState tenant={tenant} /> },
    { id: 'size', label: tenants.size, ...below, cell: ({ quotas }) => size(quotas.log_bytes.used ?? 0) },
    { id: 'records', label: tables.records, ...below, cell: ({ quotas }) => number(quotas.records.used) || '–' },
  ];
  return (
    <Page title={menu.tenants} actions={<NewTenant />}>
      <SearchField
        label={tenants.search}
        value={search}
        onSearch={(text) =>
          void navigate({ to: '/operator/tenants', search: text === '' ? {} : { text }, replace: true })
        }
      />
      <Listed list={useTenants(search)} none={search === '' ? tenants.noneAtAll : tenants.none}>
        {(rows) => (
          <DataTable
            label={menu.tenants}
            columns={columns}
            rows={rows}
            rowId={({ name }) => name}
            onOpen={({ name }) => void navigate({ to: '/operator/tenants/$tenant', params: { tenant: name } })}
          />
        )}
      </Listed>
    </Page>
  );
}

function TenantState({ tenant }: { readonly tenant: Pick<Tenant, 'parked' | 'filling' | 'behind_seconds'> }) {
  const { tenants } = useWords();
  const number = useNumber();
  const { parked, filling, behind_seconds: behind } = tenant;
  const [color, text] =
    parked.length > 0
      ? ['red', tenants.parked]
      : filling
        ? ['yellow', tenants.filling]
        : behind > 0
          ? ['yellow', tenants.behind(number(behind))]
          : ['green', tenants.running];
  return <Badge color={color}>{text}</Badge>;
}

/** The credentials of its first admin and of its first API client are shown once. */
function NewTenant() {
  const { clients, common, signIn, tenant, users } = useText();
  const { opening } = useWords();
  const [dialog, show] = useSecretOnce(opening.title);
  const send = async ({ name, ...more }: { name: string; admin_email: string; order_model: string }) => {
    const body = { name, ...more, admin_email: more.admin_email || undefined } as never;
    const { admin, client } = await dataOf(api.POST('/api/v1/operator/tenants', { body }));
    show([
      [signIn.email, admin.email],
      [users.firstPassword, admin.password],
      [clients.id, client.client_id],
      [clients.secret, client.client_secret],
    ]);
  };
  return (
    <>
      <Opens label={opening.title} size="sm" variant="filled">
        {(close) => (
          <InputsDialog
            title={opening.title}
            label={common.add}
            inputs={[
              { name: 'name', label: opening.name, required: true },
              { name: 'admin_email', label: opening.admin_email },
              { name: 'order_model', label: tenant.model, choices: ['dyn_stock_order', 'dyn_transport_order'] },
            ]}
            values={{ name: '', admin_email: '', order_model: 'dyn_stock_order' }}
            send={send}
            onClose={close}
          />
        )}
      </Opens>
      {dialog}
    </>
  );
}

export function TenantPage() {
  const { tenants } = useWords();
  const text = useText();
  const number = useNumber();
  const { tenant } = getRouteApi('/operator/tenants/$tenant').useParams();
  const log = (
    <Link to="/operator/log" search={{ stream: `tenant-${tenant}` }}>
      {tenants.log}
    </Link>
  );
  return (
    <Page title={tenant} actions={log}>
      <Loaded query={useQuery(tenantQuery(tenant))}>
        {(found) => (
          <Stack>
            <TenantState tenant={found} />
            <ParkedList parked={found.parked} />
            <Facts
              label={tenant}
              facts={[
                [text.common.name, found.display_name],
                [text.tenant.model, found.order_model],
                [text.users.title, number(found.users)],
                [text.clients.title, number(found.clients)],
                [text.webhooks.title, number(found.webhooks)],
              ]}
            />
            <Quotas quotas={found.quotas} />
            <Jobs tenant={tenant} />
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}
