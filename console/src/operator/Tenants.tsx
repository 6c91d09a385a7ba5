/** The tenants of the installation by name, with what each has and how it fares. */
import { Badge } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { type Column, DataTable } from '../app/DataTable';
import { useNumber, useText } from '../app/language';
import { Listed, Page } from '../app/Page';
import { SearchField } from '../app/SearchField';
import type { Tenant } from './client';
import { NewTenant } from './NewTenant';
import { tenantsQuery } from './queries';
import { useSize, useWords } from './words';

export function Tenants() {
  const words = useWords();
  const navigate = useNavigate();
  const { text: search = '' } = getRouteApi('/operator/tenants').useSearch();
  const list = useInfiniteQuery(tenantsQuery(search));
  const { tenants } = words;
  const { tables, tenant: settings } = useText();
  const number = useNumber();
  const size = useSize();
  const columns: readonly Column<Tenant>[] = [
    {
      id: 'name',
      label: tenants.tenant,
      cell: ({ name }) => (
        <Link to="/operator/tenants/$tenant" params={{ tenant: name }}>
          {name}
        </Link>
      ),
    },
    { id: 'state', label: tenants.state, cell: (tenant) => <TenantState tenant={tenant} /> },
    { id: 'size', label: tenants.size, isNumber: true, cell: ({ log_bytes }) => size(log_bytes) },
    { id: 'records', label: tables.records, isNumber: true, cell: ({ records }) => number(records) || '–' },
    { id: 'quota', label: tenants.quota, cell: ({ quotas }) => fullestOf(quotas) },
    { id: 'model', label: settings.model, isHidden: true, cell: ({ order_model }) => order_model },
  ];
  return (
    <Page title={words.menu.tenants} actions={<NewTenant />}>
      <SearchField
        label={words.tenants.search}
        value={search}
        onSearch={(text) =>
          void navigate({ to: '/operator/tenants', search: text === '' ? {} : { text }, replace: true })
        }
      />
      <Listed list={list} none={search === '' ? words.tenants.noneAtAll : words.tenants.none}>
        {(rows) => (
          <DataTable
            name="operator-tenants"
            label={words.menu.tenants}
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

/** `log_bytes 93 %`: the quota of which most is used. */
function fullestOf(quotas: Tenant['quotas']): string {
  const [fullest] = quotas
    .flatMap(({ quota, used, limit }) => (used === null || limit === 0 ? [] : [{ quota, share: used / limit }]))
    .sort((a, b) => b.share - a.share);
  return fullest === undefined || fullest.share < 0.01 ? '' : `${fullest.quota} ${Math.round(fullest.share * 100)} %`;
}

export function TenantState({ tenant }: { readonly tenant: Pick<Tenant, 'parked' | 'filling' | 'behind_seconds'> }) {
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
  return (
    <Badge color={color} miw="max-content">
      {text}
    </Badge>
  );
}
