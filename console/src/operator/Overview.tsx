/** Is all well? First what needs a person, each with what to do; then figures of the last hour or day, all checks, and work on rows. */
import { Alert, Group, SegmentedControl, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Chart } from '../app/Chart';
import { useNumber, useSize, When } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { Facts } from '../app/Rows';
import { Jobs, ParkedList } from './Jobs';
import { historyQuery, overviewQuery, type Schemas } from './queries';
import { useWords } from './words';

export function Overview() {
  const { menu, overview } = useWords();
  const number = useNumber();
  return (
    <Page title={menu.overview}>
      <Loaded query={useQuery(overviewQuery)}>
        {(found) => (
          <>
            <Needs found={found} />
            <Figures positions={found.positions} />
            <Facts
              label={overview.checks}
              facts={[
                [menu.tenants, number(found.tenants)],
                [overview.release, found.release],
                ...found.checks.flatMap(({ check, ok, detail }) =>
                  ok ? [[check.replaceAll('_', ' '), detail || overview.ok] as const] : [],
                ),
              ]}
            />
          </>
        )}
      </Loaded>
      <Jobs />
    </Page>
  );
}

function Needs({ found: { checks, parked, tenants_behind: late } }: { readonly found: Schemas['Overview'] }) {
  const { overview, tenants } = useWords();
  const number = useNumber();
  const wrong = [
    ...checks.filter(({ ok }) => !ok),
    ...late.map(({ tenant, seconds }) => ({ check: tenant, detail: tenants.behind(number(seconds)), remedy: '' })),
  ];
  if (wrong.length + parked.length === 0) return <Alert color="green" variant="light" title={overview.well} />;
  return (
    <Stack gap="xs">
      <ParkedList parked={parked} />
      {wrong.map(({ check, detail, remedy }) => (
        <Alert key={check + detail} color="red" variant="light" title={check.replaceAll('_', ' ')}>
          {detail} {remedy}
        </Alert>
      ))}
    </Stack>
  );
}

type Figure = Exclude<keyof Schemas['Figures'], 'at'>;

function Figures({ positions }: Pick<Schemas['Overview'], 'positions'>) {
  const { figures } = useWords();
  const [minutes, setMinutes] = useState<'60' | '1440'>('60');
  const number = useNumber();
  const size = useSize();
  const rate = (value: number) => number(Math.round(10 * value) / 10);
  const places = positions === 'bytes' ? size : rate;
  const charts: readonly (readonly [label: string, show: (value: number) => string, ...Figure[]])[] = [
    [figures.requests, rate, 'requests_per_second', 'errors_per_second'],
    [figures.time, (ms) => `${number(ms)} ms`, 'p99_ms'],
    [figures.stored, places, 'stored_per_second'],
    [figures.lag, places, 'lag'],
    [figures.waiting, number, 'deliveries_waiting'],
    [figures.disk, size, 'disk_free_bytes'],
    [figures.backup, (seconds) => `${number(Math.floor(seconds / 3_600))} h`, 'backup_age_seconds'],
  ];
  return (
    <Loaded query={useQuery(historyQuery(minutes))}>
      {(points) => (
        <Stack gap="xs">
          <Group justify="space-between">
            <Text size="sm">
              {figures.since} <When at={points[0]?.at} />
            </Text>
            <SegmentedControl
              size="xs"
              aria-label={figures.title}
              value={minutes}
              onChange={setMinutes}
              data={[
                { value: '60', label: figures.hour },
                { value: '1440', label: figures.day },
              ]}
            />
          </Group>
          <SimpleGrid cols={{ base: 1, xs: 2, md: 3, xl: 4 }} spacing="xs">
            {charts.map(([label, show, ...names]) => (
              <Chart
                key={label}
                label={label}
                times={points.map(({ at }) => at)}
                show={show}
                lines={names.map((name) => ({
                  label: name === 'errors_per_second' ? figures.errors : label,
                  color: name === 'errors_per_second' ? 'red' : 'indigo',
                  values: points.map((point) => point[name]),
                }))}
              />
            ))}
          </SimpleGrid>
        </Stack>
      )}
    </Loaded>
  );
}
