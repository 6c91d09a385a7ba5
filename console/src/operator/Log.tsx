/** The event log or a stream of it, the latest first, each event with all that it says. */
import { Code } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useNumber, When } from '../app/language';
import { Empty, Loaded, More, Page } from '../app/Page';
import { Rows } from '../app/Rows';
import { SearchField } from '../app/SearchField';
import type { LogSearch } from '../routes';
import type { Schemas } from './client';
import { logQuery } from './queries';
import { useWords } from './words';

export function Log() {
  const words = useWords();
  const number = useNumber();
  const navigate = useNavigate();
  const search: LogSearch = getRouteApi('/operator/log').useSearch();
  const list = useInfiniteQuery(logQuery(search));
  return (
    <Page title={words.menu.log}>
      <SearchField
        label={words.log.stream}
        value={search.stream ?? ''}
        onSearch={(stream) =>
          void navigate({ to: '/operator/log', search: stream === '' ? {} : { stream }, replace: true })
        }
      />
      <Loaded query={list}>
        {({ pages }) => {
          const events = pages.flatMap(({ data }) => data);
          return events.length === 0 ? (
            <Empty>{words.log.none}</Empty>
          ) : (
            <Rows
              label={words.menu.log}
              minWidth={700}
              heads={[
                { label: words.log.position, isNumber: true },
                { label: words.log.when },
                { label: words.log.stream },
                { label: words.log.what },
              ]}
              rows={events.map((event) => ({
                id: String(event.position),
                cells: [
                  number(event.position),
                  <When key="when" at={event.occurred_at} />,
                  <bdi key="stream">{event.stream}</bdi>,
                  <Said key="said" event={event} />,
                ],
              }))}
            />
          );
        }}
      </Loaded>
      <More list={list} />
    </Page>
  );
}

/** Characters that are shown: an event may have a megabyte. */
const MOST_SHOWN = 100_000;

function Said({ event: { type, revision, metadata, data } }: { readonly event: Schemas['LogEvent'] }) {
  return (
    <details>
      <summary>{type}</summary>
      <Code block className="json" tabIndex={0} aria-label={type}>
        {JSON.stringify({ revision, metadata, data }, null, 2).slice(0, MOST_SHOWN)}
      </Code>
    </details>
  );
}
