/** One tenant: how it fares, what it uses, and work on its rows. */
import { Group, Progress, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useNumber, useText } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { Facts } from '../app/Rows';
import type { Schemas } from './client';
import { Jobs, ParkedList } from './Jobs';
import { tenantQuery } from './queries';
import { TenantState } from './Tenants';
import { useSize, useWords } from './words';

export function TenantPage() {
  const words = useWords();
  const { tenant } = getRouteApi('/operator/tenants/$tenant').useParams();
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
            <ParkedList parked={found.parked} />
            <Uses tenant={found} />
            <Jobs tenant={tenant} />
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}

function Uses({ tenant }: { readonly tenant: Schemas['OperatorTenant'] }) {
  const { tenants } = useWords();
  const text = useText();
  const number = useNumber();
  const size = useSize();
  const quotas = tenant.quotas.map(({ quota, used, limit }) => {
    const [share, of] = limit === 0 ? [0, text.tenant.noLimit] : [(100 * (used ?? 0)) / limit, number(limit)];
    return [
      tenants.quotaOf(quota),
      <div key={quota}>
        {used === null ? tenants.unknown : tenants.ofLimit(number(used), of)}
        <Progress aria-label={quota} value={share} color={share >= 90 ? 'red' : 'indigo'} />
      </div>,
    ] as const;
  });
  return (
    <Facts
      label={tenant.name}
      facts={[
        [text.tenant.model, tenant.order_model],
        [tenants.size, size(tenant.log_bytes)],
        [text.tables.records, number(tenant.records) || '–'],
        [text.users.title, number(tenant.users)],
        [text.clients.title, number(tenant.clients)],
        [text.webhooks.title, number(tenant.webhooks)],
        ...quotas,
      ]}
    />
  );
}
