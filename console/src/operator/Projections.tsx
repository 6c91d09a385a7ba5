/** How far the rows of tenants are, which tenants are parked, and work on all of them. */
import { Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useNumber } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { Facts, Rows } from '../app/Rows';
import type { Schemas } from './client';
import { JobForm, JobList } from './Jobs';
import { ParkedList } from './Parked';
import { jobsQuery, projectionsQuery } from './queries';
import { useWords } from './words';

export function Projections() {
  const words = useWords();
  return (
    <Page title={words.menu.projections}>
      <Loaded query={useQuery(projectionsQuery)}>
        {(found) => (
          <>
            <Progress projection={found} />
            <Stack component="section" gap="xs">
              <Title order={2} size="h4">
                {words.projections.parked}
              </Title>
              {found.parked.length === 0 ? (
                <Text>{words.projections.noneParked}</Text>
              ) : (
                <ParkedList parked={found.parked} />
              )}
            </Stack>
          </>
        )}
      </Loaded>
      <JobForm />
      <Loaded query={useQuery(jobsQuery)}>{(jobs) => <JobList jobs={jobs} />}</Loaded>
    </Page>
  );
}

function Progress({ projection }: { readonly projection: Schemas['Projection'] }) {
  const { projections, menu } = useWords();
  const number = useNumber();
  const { head, position, behind, filling, tenants_behind: late } = projection;
  return (
    <Stack gap="xs">
      <Facts
        label={menu.projections}
        facts={[
          [projections.position, number(position)],
          [projections.head, number(head)],
          [projections.behind, number(behind)],
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
              projections.seconds(number(seconds)),
            ],
          }))}
        />
      )}
    </Stack>
  );
}
