/** Is all well? First what needs a person, each with what to do; then figures of the last hour or day, all checks, and work on rows. */
import { Alert, SegmentedControl, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Chart } from '../app/Chart';
import { useNumber, useSize } from '../app/language';
import { Loaded, Page, Section } from '../app/Page';
import { Facts } from '../app/Rows';
import { Jobs, ParkedList } from './Jobs';
import { historyQuery, overviewQuery, type Schemas } from './queries';
import { said, useWords } from './words';

export function Overview() {
  const { menu, figures } = useWords();
  const overview = useQuery(overviewQuery);
  const [minutes, setMinutes] = useState<Minutes>('60');
  const ranges: { value: Minutes; label: string }[] = [
    { value: '60', label: figures.hour },
    { value: '1440', label: figures.day },
  ];
  const range = (
    <SegmentedControl size="xs" aria-label={figures.title} value={minutes} onChange={setMinutes} data={ranges} />
  );
  return (
    <Page title={menu.overview} actions={range}>
      <Loaded query={overview}>
        {(found) => (
          <>
            <Needs found={found} />
            <Figures found={found} minutes={minutes} />
          </>
        )}
      </Loaded>
      <div className="beside">
        {overview.data && <Checks found={overview.data} />}
        <Jobs />
      </div>
    </Page>
  );
}

const nameOf = (check: string): string =>
  said(check)
    .replace(/^./, (first) => first.toUpperCase())
    .replaceAll('_', ' ');

type Found = { readonly found: Schemas['Overview'] };

/** Those that found nothing wrong: the others are on top. */
function Checks({ found: { checks, release, tenants } }: Found) {
  const { menu, overview } = useWords();
  const number = useNumber();
  const passed = checks.filter(({ ok }) => ok);
  return (
    <Section title={overview.checks}>
      <Facts
        label={overview.checks}
        facts={[
          [menu.tenants, number(tenants)],
          [overview.release, release],
          ...passed.map(({ check, detail }) => [nameOf(check), said(detail) || overview.ok] as const),
        ]}
      />
    </Section>
  );
}

function Needs({ found: { checks, parked, tenants_behind: late } }: Found) {
  const { overview, tenants } = useWords();
  const number = useNumber();
  const wrong = [
    ...checks.filter(({ ok }) => !ok).map((each) => ({ ...each, check: nameOf(each.check) })),
    ...late.map(({ tenant, seconds }) => ({ check: tenant, detail: tenants.behind(number(seconds)), remedy: '' })),
  ];
  if (wrong.length + parked.length === 0) return <Alert color="green" variant="light" title={overview.well} />;
  return (
    <Stack gap="xs">
      <ParkedList parked={parked} />
      {wrong.map(({ check, detail, remedy }) => (
        <Alert key={check + detail} color="red" variant="light" title={check}>
          {said(`${detail} ${remedy}`)}
        </Alert>
      ))}
    </Stack>
  );
}

type Figure = Exclude<keyof Schemas['Figures'], 'at'>;
type Minutes = Parameters<typeof historyQuery>[0];

function Figures({ found: { positions }, minutes }: Found & { readonly minutes: Minutes }) {
  const { figures } = useWords();
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
        <div className="charts">
          {charts.map(([label, show, ...names]) => (
            <Chart
              key={label}
              label={label}
              times={points.map(({ at }) => at)}
              show={show}
              lines={names.map((name, at) => ({
                ...(at === 0 ? { label, color: 'indigo' } : { label: figures.errors, color: 'red' }),
                values: points.map((point) => point[name]),
              }))}
            />
          ))}
        </div>
      )}
    </Loaded>
  );
}
