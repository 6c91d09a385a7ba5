/** Is all well, and what needs the operator? */
import { Alert, Anchor, Badge, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, type LinkProps } from '@tanstack/react-router';
import { useNumber, When } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { Facts } from '../app/Rows';
import type { Schemas } from './client';
import { JobList } from './Jobs';
import { jobsQuery, overviewQuery } from './queries';
import { useSize, useWords } from './words';

type Need = Schemas['Overview']['needs'][number];

/** Where each need is looked at. */
const PAGES: { readonly [kind in Need['kind']]: LinkProps['to'] } = {
  engine: '/operator/installation',
  parked: '/operator/projections',
  disk: '/operator/installation',
  behind: '/operator/projections',
  held: '/operator/queues',
  backup: '/operator/installation',
  quota: '/operator/tenants',
  receivers: '/operator/queues',
};

const SERIOUS: readonly Need['kind'][] = ['engine', 'parked', 'disk'];

export function Overview() {
  const words = useWords();
  const number = useNumber();
  const jobs = useQuery(jobsQuery).data?.filter(({ ended_at }) => ended_at === null) ?? [];
  return (
    <Page title={words.menu.overview}>
      <Loaded query={useQuery(overviewQuery)}>
        {({ needs, checks, tenants, open_deliveries }) => (
          <Stack>
            {needs.length === 0 ? (
              <Alert color="green" variant="light">
                {words.overview.well}
              </Alert>
            ) : (
              <Stack component="section" gap="xs">
                <Title order={2} size="h4">
                  {words.overview.needsYou}
                </Title>
                {needs.map((need) => (
                  <NeedAlert key={need.kind} need={need} />
                ))}
              </Stack>
            )}
            <Group>
              <Figure label={words.overview.tenants} value={number(tenants)} />
              <Figure label={words.overview.openDeliveries} value={number(open_deliveries) || '–'} />
            </Group>
            <Facts
              label={words.overview.engines}
              facts={checks.map(({ name, ok, detail }) => [
                name,
                <span key="ok">
                  <Badge color={ok ? 'green' : 'red'} variant="dot" tt="none">
                    {ok ? words.overview.answers : words.overview.away}
                  </Badge>{' '}
                  {detail}
                </span>,
              ])}
            />
            {jobs.length > 0 && <JobList jobs={jobs} />}
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}

function NeedAlert({ need: { kind, count, names } }: { readonly need: Need }) {
  const { overview } = useWords();
  const shown = names.filter((name) => name !== '');
  return (
    <Alert color={SERIOUS.includes(kind) ? 'red' : 'yellow'} variant="light">
      <Anchor component={Link} to={PAGES[kind] as string} c="var(--mantine-color-text)" underline="always">
        {overview.needs[kind]}
      </Anchor>
      {shown.length > 0 && (
        <Text size="sm" className="text">
          {shown.map((name, at) => (
            <span key={name}>
              {at > 0 && ', '}
              <Name kind={kind} name={name} />
            </span>
          ))}{' '}
          {count > names.length && overview.andMore(count - names.length)}
        </Text>
      )}
    </Alert>
  );
}

function Name({ kind, name }: { readonly kind: Need['kind']; readonly name: string }) {
  const size = useSize();
  if (kind === 'backup' || kind === 'held') return <When at={name} />;
  if (kind === 'disk') return <>{size(Number(name))}</>;
  if (kind === 'parked' || kind === 'behind' || kind === 'quota') {
    return (
      <Anchor
        component={Link}
        to={`/operator/tenants/${encodeURIComponent(name)}`}
        c="var(--mantine-color-text)"
        underline="always"
        size="sm"
      >
        {name}
      </Anchor>
    );
  }
  return <bdi>{name}</bdi>;
}

function Figure({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <Paper withBorder px="md" py="xs">
      <Text size="sm">{label}</Text>
      <Text fw={600} fz="xl">
        {value}
      </Text>
    </Paper>
  );
}
