/** What is parked: the event that could not be applied, its error, and the button that tries it again. */
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { bodyOf } from '../api/client';
import { Act } from '../app/Dialogs';
import { useNumber, When } from '../app/language';
import { Rows } from '../app/Rows';
import { api, type Parked } from './client';
import { useWords } from './words';

/** Of the directory, only a release with a fix brings it back. */
const isRetryable = ({ what }: Parked): boolean => what === 'rows';

export function ParkedList({ parked }: { readonly parked: readonly Parked[] }) {
  const { projections, tenants } = useWords();
  const number = useNumber();
  return (
    <Rows
      label={projections.parked}
      minWidth={600}
      heads={[
        { label: tenants.tenant },
        { label: projections.since },
        { label: projections.event },
        { label: projections.error, isText: true },
        { label: projections.retry },
      ]}
      rows={parked.map((each) => ({
        id: `${each.tenant} ${each.what}`,
        cells: [
          <span key="tenant">
            <Link to="/operator/tenants/$tenant" params={{ tenant: each.tenant }}>
              {each.tenant}
            </Link>{' '}
            {each.what === 'directory' && each.what}
          </span>,
          <When key="since" at={each.since} />,
          <span key="event">
            {each.event_type} {projections.at(number(each.position))}
          </span>,
          each.error,
          isRetryable(each) && <Retry key="retry" parked={each} />,
        ],
      }))}
    />
  );
}

function Retry({ parked: { tenant } }: { readonly parked: Parked }) {
  const { projections } = useWords();
  const client = useQueryClient();
  const retry = async () => {
    await bodyOf(api.POST('/api/v1/operator/jobs', { body: { kind: 'retry', tenant } }));
    await client.invalidateQueries({ queryKey: ['operator', 'jobs'] });
  };
  return <Act label={projections.retry} act={retry} />;
}
