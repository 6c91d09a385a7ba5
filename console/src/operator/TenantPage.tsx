/** One tenant: how it fares, what it uses, and work on its rows. */
import { Group, Progress, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useNumber } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { Facts } from '../app/Rows';
import type { Schemas } from './client';
import { JobForm, JobList } from './Jobs';
import { ParkedList } from './Parked';
import { jobsQuery, tenantQuery } from './queries';
import { TenantState } from './Tenants';
import { useSize, useWords } from './words';

type Whole = Schemas['OperatorTenant'];

export function TenantPage() {
  const words = useWords();
  const { tenant } = getRouteApi('/operator/tenants/$tenant').useParams();
  const jobs = useQuery(jobsQuery).data?.filter((job) => job.tenant === tenant) ?? [];
  const log = (
    <Link to="/operator/log" search={{ stream: `tenant-${tenant}` }}>
      {words.tenants.log}
    </Link>
  );
  return (
    <Page title={tenant} actions={log}>
      <Loaded query={useQuery(tenantQuery(tenant))}>
        {(found) => (
          <Stack>
            <Group>
              <TenantState tenant={found} />
              <Text>
                <bdi>{found.display_name}</bdi>
              </Text>
            </Group>
            {found.parked.length > 0 && <ParkedList parked={found.parked} />}
            <Figures tenant={found} />
            <Quotas quotas={found.quotas} />
            <JobForm tenant={tenant} />
            <JobList jobs={jobs} />
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}

function Figures({ tenant }: { readonly tenant: Whole }) {
  const { tenants } = useWords();
  const number = useNumber();
  const size = useSize();
  const rows: readonly (readonly [string, string])[] = [
    [tenants.model, tenant.order_model],
    [tenants.size, size(tenant.log_bytes)],
    [tenants.records, number(tenant.records) || '–'],
    [tenants.users, number(tenant.users)],
    [tenants.clients, number(tenant.clients)],
    [tenants.webhooks, number(tenant.webhooks)],
  ];
  return <Facts label={tenant.name} facts={rows} />;
}

function Quotas({ quotas }: { readonly quotas: Whole['quotas'] }) {
  const { tenants } = useWords();
  const number = useNumber();
  const textOf = (used: number | null, limit: number): string => {
    if (used === null) return tenants.unknown;
    return tenants.ofLimit(number(used), limit === 0 ? tenants.noLimit : number(limit));
  };
  return (
    <Stack component="section" gap="xs" maw="40rem">
      <Title order={2} size="h4">
        {tenants.quotas}
      </Title>
      {quotas.map(({ quota, used, limit }) => (
        <div key={quota}>
          <Group justify="space-between">
            <Text size="sm">{quota}</Text>
            <Text size="sm">{textOf(used, limit)}</Text>
          </Group>
          <Progress
            aria-label={quota}
            value={limit === 0 ? 0 : Math.min(100, ((used ?? 0) / limit) * 100)}
            color={(used ?? 0) >= 0.9 * limit && limit > 0 ? 'red' : 'indigo'}
          />
        </div>
      ))}
    </Stack>
  );
}
