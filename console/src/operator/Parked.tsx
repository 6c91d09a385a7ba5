/** What is parked: the event that could not be applied, its error, and the button that tries it again. */
import { Alert, Group } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { bodyOf } from '../api/client';
import { Act } from '../app/Dialogs';
import { useNumber, When } from '../app/language';
import { api, type Parked } from './client';
import { jobsQuery } from './queries';
import { useWords } from './words';

export function ParkedList({ parked }: { readonly parked: readonly Parked[] }) {
  const { parked: words, jobs } = useWords();
  const number = useNumber();
  const client = useQueryClient();
  const retry = (tenant: string) => async () => {
    await bodyOf(api.POST('/api/v1/operator/jobs', { body: { kind: 'retry', tenant } }));
    await client.invalidateQueries({ queryKey: jobsQuery.queryKey });
  };
  return parked.map(({ tenant, what, event_type: type, position, error, since }) => (
    <Alert key={tenant} color="red" variant="light" title={`${tenant} ${words.is}`}>
      <div className="text">{words.event(type, number(position))}</div>
      <div className="text">{error}</div>
      <Group mt="xs">
        {/* Of the directory, only a release with a fix brings it back. */}
        {what === 'rows' && <Act label={jobs.retry} act={retry(tenant)} />}
        <Link to="/operator/tenants/$tenant" params={{ tenant }} style={{ color: 'inherit' }}>
          {tenant}
        </Link>
        <span>
          {words.since} <When at={since} />
        </span>
      </Group>
    </Alert>
  ));
}
