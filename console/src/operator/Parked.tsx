/** What is parked: the event that could not be applied, its error, and the button that tries it again. */
import { Group, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { bodyOf } from '../api/client';
import { Act } from '../app/Dialogs';
import { useNumber, When } from '../app/language';
import { Rows } from '../app/Rows';
import { api, type Parked } from './client';
import { useWords } from './words';

/** Of the directory, only a release with a fix brings it back. */
const isRetryable = ({ projection }: Parked): boolean => projection !== 'directory';

export function ParkedList({ parked }: { readonly parked: readonly Parked[] }) {
  const { projections } = useWords();
  const number = useNumber();
  return (
    <Rows
      label={projections.parked}
      minWidth={600}
      heads={[
        { label: projections.parked },
        { label: projections.since },
        { label: projections.event },
        { label: projections.error, isText: true },
        { label: projections.retry },
      ]}
      rows={parked.map((each) => ({
        id: `${each.tenant} ${each.projection}`,
        cells: [
          <span key="tenant">
            <Link to="/operator/tenants/$tenant" params={{ tenant: each.tenant }}>
              {each.tenant}
            </Link>{' '}
            {each.projection}
          </span>,
          <When key="since" at={each.since} />,
          <span key="event">
            <Link to="/operator/log" search={{ tenant: each.tenant, kind: each.event_type }}>
              {each.event_type}
            </Link>{' '}
            {projections.at(number(each.position))}
          </span>,
          each.error,
          isRetryable(each) && <Retry key="retry" parked={each} />,
        ],
      }))}
    />
  );
}

function Retry({ parked: { tenant, projection, retry_asked } }: { readonly parked: Parked }) {
  const { projections } = useWords();
  const client = useQueryClient();
  const body = { kind: 'retry', tenant, projection: projection as 'records' } as const;
  const retry = async () => {
    await bodyOf(api.POST('/api/v1/operator/jobs', { body }));
    await client.invalidateQueries({ queryKey: ['operator', 'jobs'] });
  };
  return (
    <Group gap="xs">
      <Act label={projections.retry} act={retry} />
      {retry_asked && <Text size="sm">{projections.asked}</Text>}
    </Group>
  );
}
