/** Is all well, and what needs the operator? The machine, and checks when the operator asks for them. */
import { Alert, Anchor, Badge, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, type LinkProps } from '@tanstack/react-router';
import { bodyOf } from '../api/client';
import { useNumber, When } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { Facts } from '../app/Rows';
import { api, type Schemas } from './client';
import { JobList } from './Jobs';
import { jobsQuery, overviewQuery } from './queries';
import { useSize, useWords } from './words';

type Need = Schemas['Overview']['needs'][number];

/** Where a need is looked at, if it is not on this page. */
const PAGES: { readonly [kind in Need['kind']]?: LinkProps['to'] } = {
  parked: '/operator/projections',
  behind: '/operator/projections',
  quota: '/operator/tenants',
  receivers: '/operator/tenants',
};

const SERIOUS: readonly Need['kind'][] = ['engine', 'parked', 'disk'];

export function Overview() {
  const words = useWords();
  const number = useNumber();
  const jobs = useQuery(jobsQuery).data?.filter(({ ended_at }) => ended_at === null) ?? [];
  return (
    <Page title={words.menu.overview}>
      <Loaded query={useQuery(overviewQuery)}>
        {({ needs, checks, tenants, open_deliveries, ...machine }) => (
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
            <Machine machine={machine} />
            <Checks />
            {jobs.length > 0 && <JobList jobs={jobs} />}
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}

function NeedAlert({ need: { kind, count, names } }: { readonly need: Need }) {
  const { overview } = useWords();
  const page = PAGES[kind];
  const shown = names.filter((name) => name !== '');
  return (
    <Alert color={SERIOUS.includes(kind) ? 'red' : 'yellow'} variant="light">
      {page === undefined ? (
        overview.needs[kind]
      ) : (
        <Anchor component={Link} to={page as string} c="var(--mantine-color-text)" underline="always">
          {overview.needs[kind]}
        </Anchor>
      )}
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

type MachineFigures = Pick<
  Schemas['Overview'],
  'release' | 'free_bytes' | 'disk_bytes' | 'log_bytes' | 'last_backup_at'
>;

function Machine({ machine }: { readonly machine: MachineFigures }) {
  const words = useWords().installation;
  const size = useSize();
  const { free_bytes: free, disk_bytes: disk, log_bytes: log, last_backup_at: backup } = machine;
  return (
    <Facts
      label={words.release}
      facts={[
        [words.release, machine.release],
        [words.disk, words.ofSize(size(free), size(disk))],
        [words.log, log === null ? words.onServer : size(log)],
        [words.backup, backup === null ? words.never : <When key="at" at={backup} long />],
      ]}
    />
  );
}

/** They look at files, so they are made when they are asked for. */
function Checks() {
  const words = useWords().installation;
  const checks = useQuery({
    queryKey: ['operator', 'checks'],
    queryFn: async () => (await bodyOf(api.GET('/api/v1/operator/checks'))).data,
    enabled: false,
  });
  return (
    <Stack component="section" gap="xs" align="flex-start">
      <Title order={2} size="h4">
        {words.checks}
      </Title>
      <Text size="sm">{words.checksWhy}</Text>
      <Button size="xs" variant="default" loading={checks.isFetching} onClick={() => void checks.refetch()}>
        {words.check}
      </Button>
      {(checks.data !== undefined || checks.error !== null) && (
        <Loaded query={checks}>
          {(found) =>
            found.map(({ check, detail, findings }) =>
              findings.length === 0 ? (
                <Text key={check} size="sm">
                  <Badge color="green" variant="dot" tt="none">
                    {words.ok}
                  </Badge>{' '}
                  {check}: {detail}
                </Text>
              ) : (
                findings.map(({ problem, remedy }) => (
                  <Alert key={problem} color="red" variant="light" title={check}>
                    {problem} {remedy}
                  </Alert>
                ))
              ),
            )
          }
        </Loaded>
      )}
    </Stack>
  );
}
