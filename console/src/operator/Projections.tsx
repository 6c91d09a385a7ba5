/** How far the rows of tenants are, which tenants are parked, and work on all of them. */
import { Stack, Text, Title } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useNumber } from '../app/language';
import { Loaded, More, Page } from '../app/Page';
import { Facts, Rows } from '../app/Rows';
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
      <Loaded query={useQuery(projectionsQuery)}>{(projection) => <Progress projection={projection} />}</Loaded>
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

function Progress({ projection }: { readonly projection: Schemas['Projection'] }) {
  const { projections, menu, queues } = useWords();
  const number = useNumber();
  const { head, position, behind, rate, filling, tenants_behind: late } = projection;
  return (
    <Stack gap="xs">
      <Facts
        label={menu.projections}
        facts={[
          [projections.position, number(position)],
          [projections.head, number(head)],
          [projections.behind, number(behind)],
          [projections.rate, rate === null ? '–' : number(Math.round(rate))],
          [projections.filling, number(filling)],
        ]}
      />
      {late.length > 0 && (
        <Rows
          label={projections.late}
          heads={[{ label: projections.late }, { label: projections.oldest, isNumber: true }]}
          rows={late.map(({ tenant, seconds }) => ({
            id: tenant,
            cells: [
              <Link key="tenant" to="/operator/tenants/$tenant" params={{ tenant }}>
                {tenant}
              </Link>,
              queues.seconds(number(seconds)),
            ],
          }))}
        />
      )}
    </Stack>
  );
}
