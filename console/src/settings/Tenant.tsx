/** Settings of the tenant, and how much of its quotas it uses. */
import { Button, Group, NumberInput, Paper, Progress, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client';
import { tenantQuery } from '../api/queries';
import { useNumber, useText } from '../app/language';
import { Loaded, Page, Problem } from '../app/Page';
import { useRoles } from '../app/useRoles';

type Tenant = Schemas['Tenant'];

export function TenantSettings() {
  const text = useText().tenant;
  return (
    <Page title={text.title}>
      <Loaded query={useQuery(tenantQuery)}>
        {(tenant) => (
          <>
            <Text>
              {text.model}: <span className="mono">{tenant.order_model}</span>
            </Text>
            <SimpleGrid cols={{ base: 1, md: 2 }}>
              <Guard tenant={tenant} />
              <Rate tenant={tenant} />
            </SimpleGrid>
            <Quotas tenant={tenant} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

type FormProps = {
  readonly title: string;
  readonly why?: string;
  readonly save: () => Promise<unknown>;
  readonly children: ReactNode;
  readonly more?: ReactNode;
};

function SettingForm({ title, why, save, children, more }: FormProps) {
  const text = useText();
  const client = useQueryClient();
  const { isAdmin } = useRoles();
  const action = useMutation({
    mutationFn: save,
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: tenantQuery.queryKey });
      notifications.show({ message: text.orders.saved });
    },
  });
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Stack>
        <Title order={2} size="h4">
          {title}
        </Title>
        {why !== undefined && <Text size="sm">{why}</Text>}
        {action.error !== null && <Problem error={action.error} />}
        {children}
        {isAdmin && (
          <Group justify="flex-end">
            {more}
            <Button loading={action.isPending} onClick={() => action.mutate()}>
              {text.common.save}
            </Button>
          </Group>
        )}
      </Stack>
    </Paper>
  );
}

const changed = (settings: object) => bodyOf(api.PUT('/api/v1/platform/tenant', { body: settings as never }));

function Guard({ tenant }: { readonly tenant: Tenant }) {
  const text = useText().tenant;
  const client = useQueryClient();
  const [percent, setPercent] = useState<string | number>(tenant.clean_up_guard?.max_percent ?? 50);
  const [records, setRecords] = useState<string | number>(tenant.clean_up_guard?.min_records ?? 100);
  const save = () => changed({ clean_up_guard: { max_percent: Number(percent), min_records: Number(records) } });
  const end = useMutation({
    mutationFn: () => changed({ clean_up_guard: null }),
    onSuccess: () => client.invalidateQueries({ queryKey: tenantQuery.queryKey }),
  });
  return (
    <SettingForm
      title={text.guard}
      why={tenant.clean_up_guard === null ? text.guardOff : text.guardWhy}
      save={save}
      more={
        tenant.clean_up_guard !== null && (
          <Button variant="default" loading={end.isPending} onClick={() => end.mutate()}>
            {text.endGuard}
          </Button>
        )
      }
    >
      <NumberInput label={text.maxPercent} min={1} max={100} value={percent} onChange={setPercent} />
      <NumberInput label={text.minRecords} min={0} value={records} onChange={setRecords} />
    </SettingForm>
  );
}

function Rate({ tenant }: { readonly tenant: Tenant }) {
  const text = useText().tenant;
  const client = useQueryClient();
  const [perSecond, setPerSecond] = useState<string | number>(tenant.rate_limit?.per_second ?? '');
  const [burst, setBurst] = useState<string | number>(tenant.rate_limit?.burst ?? '');
  const save = () => changed({ rate_limit: { per_second: Number(perSecond), burst: Number(burst) } });
  const remove = useMutation({
    mutationFn: () => changed({ rate_limit: null }),
    onSuccess: () => {
      setPerSecond('');
      setBurst('');
      return client.invalidateQueries({ queryKey: tenantQuery.queryKey });
    },
  });
  return (
    <SettingForm
      title={text.rate}
      save={save}
      more={
        tenant.rate_limit !== null && (
          <Button variant="default" loading={remove.isPending} onClick={() => remove.mutate()}>
            {text.default}
          </Button>
        )
      }
    >
      <NumberInput label={text.perSecond} min={1} value={perSecond} onChange={setPerSecond} />
      <NumberInput label={text.burst} min={1} value={burst} onChange={setBurst} />
    </SettingForm>
  );
}

function Quotas({ tenant }: { readonly tenant: Tenant }) {
  const text = useText().tenant;
  const number = useNumber();
  const quotas = Object.entries(tenant.quotas) as [keyof Tenant['quotas'], Schemas['QuotaUse']][];
  return (
    <Paper withBorder p="md" component="section" aria-label={text.quotas}>
      <Title order={2} size="h4" mb="sm">
        {text.quotas}
      </Title>
      <SimpleGrid cols={{ base: 1, sm: 2, md: 3 }}>
        {quotas.map(([name, { limit, used }]) => (
          <div key={name}>
            <Text size="sm">
              {text.quota[name]}: {number(used)} / {limit === null ? text.noLimit : number(limit)}
            </Text>
            {limit !== null && <Progress value={(100 * (used ?? 0)) / limit} aria-label={text.quota[name]} />}
          </div>
        ))}
      </SimpleGrid>
    </Paper>
  );
}
