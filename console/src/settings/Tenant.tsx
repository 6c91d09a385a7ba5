/** Settings of the tenant, and how much of its quotas it uses. */
import { Group, NumberInput, Paper, Progress, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client';
import { tenantQuery, useRoles } from '../api/queries';
import { Act } from '../app/Dialogs';
import { useNumber, useSize, useText } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { useLabels } from '../tables/Differences';

type Tenant = Schemas['Tenant'];

export function TenantSettings() {
  const text = useText().tenant;
  const labelOf = useLabels();
  return (
    <Page title={text.title}>
      <Loaded query={useQuery(tenantQuery)}>
        {(tenant) => (
          <>
            <Text>
              {text.model}: {labelOf(tenant.order_model)}
            </Text>
            <SimpleGrid cols={{ base: 1, md: 2 }} maw="72rem">
              <SettingForm
                title={text.guard}
                why={tenant.clean_up_guard === null ? text.guardOff : text.guardWhy}
                fields={[
                  ['max_percent', text.maxPercent, 1, 100],
                  ['min_records', text.minRecords, 0],
                ]}
                values={tenant.clean_up_guard}
                recommended={{ max_percent: 50, min_records: 100 }}
                save={(values) => ({ clean_up_guard: values })}
                removal={text.endGuard}
              />
              <SettingForm
                title={text.rate}
                why={text.rateWhy}
                fields={[
                  ['per_second', text.perSecond, 1],
                  ['burst', text.burst, 1],
                ]}
                values={tenant.rate_limit}
                save={(values) => ({ rate_limit: values })}
                removal={text.default}
              />
            </SimpleGrid>
            <Quotas quotas={tenant.quotas} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

type FormProps = {
  readonly title: string;
  readonly why: string;
  /** Each with its name in the API, its label, and the least and the most it may be. */
  readonly fields: readonly (readonly [name: string, label: string, min: number, max?: number])[];
  readonly values: { readonly [name: string]: number } | null;
  readonly recommended?: { readonly [name: string]: number };
  /** @param values null removes the setting */
  readonly save: (values: { readonly [name: string]: number } | null) => object;
  readonly removal: string;
};

function SettingForm({ title, why, fields, values, recommended = {}, save, removal }: FormProps) {
  const text = useText();
  const { isAdmin } = useRoles();
  const [typed, setTyped] = useState<{ readonly [name: string]: string | number }>(values ?? recommended);
  const put = (next: FormProps['values']) => async () => {
    await bodyOf(api.PUT('/api/v1/platform/tenant', { body: save(next) as never }));
    setTyped(next ?? recommended);
    notifications.show({ message: text.orders.saved });
  };
  const given = Object.fromEntries(fields.map(([name]) => [name, Number(typed[name] ?? '')]));
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Stack>
        <Title order={2}>{title}</Title>
        <Text size="sm">{why}</Text>
        {fields.map(([name, label, min, max]) => (
          <NumberInput
            key={name}
            label={label}
            min={min}
            {...(max === undefined ? {} : { max })}
            value={typed[name] ?? ''}
            onChange={(value) => setTyped({ ...typed, [name]: value })}
          />
        ))}
        {isAdmin && (
          <Group justify="flex-end">
            {values !== null && <Act label={removal} act={put(null)} />}
            <Act label={text.common.save} act={put(given)} variant="filled" />
          </Group>
        )}
      </Stack>
    </Paper>
  );
}

export function Quotas({ quotas }: Pick<Tenant, 'quotas'>) {
  const { common, orders, tenant: text } = useText();
  const [number, size] = [useNumber(), useSize()];
  const all = Object.entries(quotas) as [keyof Tenant['quotas'], Schemas['QuotaUse']][];
  const shown = (name: string, count: number) => (name === 'log_bytes' ? size : number)(count);
  return (
    <Paper withBorder p="md" maw="72rem" component="section" aria-label={text.quotas}>
      <Title order={2} mb="sm">
        {text.quotas}
      </Title>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        {all.map(([name, { limit, used }]) => {
          const [share, of] = limit === null ? [0, text.noLimit] : [(100 * (used ?? 0)) / limit, shown(name, limit)];
          return (
            <div key={name}>
              <Text size="sm">
                {text.quota[name]}: {used === null ? common.unknown : orders.place(shown(name, used), of)}
              </Text>
              <Progress value={share} color={share >= 90 ? 'red' : 'indigo'} aria-label={text.quota[name]} />
            </div>
          );
        })}
      </SimpleGrid>
    </Paper>
  );
}
