/** The projections: how far each is, what is parked, and work on all tenants. */
import { Stack, Text, Title } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNumber } from '../app/language';
import { Loaded, More, Page } from '../app/Page';
import { Rows } from '../app/Rows';
import type { Schemas } from './client';
import { JobForm, JobList } from './Jobs';
import { ParkedList } from './Parked';
import { jobsQuery, parkedQuery, projectionsQuery } from './queries';
import { useWords } from './words';

export function Projections() {
  const words = useWords();
  const parked = useInfiniteQuery(parkedQuery);
  return (
    <Page title={words.menu.projections}>
      <Loaded query={useQuery(projectionsQuery)}>{(projections) => <Positions projections={projections} />}</Loaded>
      <Stack component="section" gap="xs">
        <Title order={2} size="h4">
          {words.projections.parked}
        </Title>
        <Loaded query={parked}>
          {({ pages }) => {
            const found = pages.flatMap(({ data }) => data);
            return found.length === 0 ? <Text>{words.projections.noneParked}</Text> : <ParkedList parked={found} />;
          }}
        </Loaded>
        <More list={parked} />
      </Stack>
      <JobForm />
      <Loaded query={useQuery(jobsQuery)}>{(jobs) => <JobList jobs={jobs} />}</Loaded>
    </Page>
  );
}

type Projection = Schemas['Projection'];

function Positions({ projections }: { readonly projections: readonly Projection[] }) {
  const words = useWords();
  const number = useNumber();
  const hasLanes = projections.some(({ lanes }) => lanes.length > 1);
  const { projection, lane: laneLabel, position: positionLabel, ...labels } = words.projections;
  return (
    <Rows
      label={words.menu.projections}
      heads={[
        { label: projection },
        ...(hasLanes ? [{ label: laneLabel, isNumber: true }] : []),
        ...[positionLabel, labels.behind, labels.rate, labels.oldest].map((label) => ({ label, isNumber: true })),
      ]}
      rows={projections.flatMap(({ name, lanes, seconds }) =>
        lanes.map(({ lane, position, behind, rate }) => ({
          id: `${name} ${lane}`,
          cells: [
            name,
            ...(hasLanes ? [number(lane + 1)] : []),
            number(position),
            number(behind),
            rate === null ? '–' : number(Math.round(rate)),
            seconds === null ? '–' : words.queues.seconds(number(Math.round(seconds))),
          ],
        })),
      )}
    />
  );
}
