/** Is all well? Engines and rows, files, keys, disk, webhooks and backups; tenants that are parked; and work on rows. */
import { Alert, Badge, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNumber } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { Facts } from '../app/Rows';
import { JobList } from './Jobs';
import { ParkedList } from './Parked';
import { jobsQuery, overviewQuery, projectionsQuery } from './queries';
import { useWords } from './words';

export function Overview() {
  const { menu, overview, projections } = useWords();
  const number = useNumber();
  const jobs = useQuery(jobsQuery).data?.filter(({ ended_at }) => ended_at === null) ?? [];
  const parked = useQuery(projectionsQuery).data?.parked ?? [];
  return (
    <Page title={menu.overview}>
      <Loaded query={useQuery(overviewQuery)}>
        {({ checks, tenants, release }) => (
          <Stack>
            {parked.length === 0 && checks.every(({ ok }) => ok) && (
              <Alert color="green" variant="light">
                {overview.well}
              </Alert>
            )}
            {checks.map(
              ({ check, ok, detail, remedy }) =>
                !ok && (
                  <Alert key={check + detail} color="red" variant="light" title={check}>
                    {detail} {remedy}
                  </Alert>
                ),
            )}
            {parked.length > 0 && (
              <Stack component="section" gap="xs">
                <Title order={2} size="h4">
                  {projections.parked}
                </Title>
                <ParkedList parked={parked} />
              </Stack>
            )}
            <Group>
              <Figure label={overview.tenants} value={number(tenants)} />
              <Figure label={overview.release} value={release} />
            </Group>
            <Facts
              label={overview.checks}
              facts={checks.map(({ check, ok, detail }) => [
                check,
                <span key={detail}>
                  <Badge color={ok ? 'green' : 'red'} variant="dot" tt="none">
                    {ok ? overview.ok : overview.trouble}
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

function Figure({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <Paper withBorder p="sm" miw="10rem">
      <Text size="sm">{label}</Text>
      <Text size="xl">{value}</Text>
    </Paper>
  );
}
