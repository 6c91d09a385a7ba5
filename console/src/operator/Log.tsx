/** The event log or a stream of it, the latest first; one event with all that it says, and from there the next and the one before. */
import { Anchor, Button, Code, Group, Modal, Select } from '@mantine/core';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { pathsApiV1OperatorLogGetParametersQueryTypeValues as EVENT_TYPES } from '../../generated/operator';
import { useNumber, useText, When } from '../app/language';
import { Listed, Page } from '../app/Page';
import { Rows } from '../app/Rows';
import { SearchField } from '../app/SearchField';
import type { LogSearch } from '../routes';
import { useLog, useTenants } from './queries';
import { useWords } from './words';

/** Characters that are shown: an event may have a megabyte. */
const MOST_SHOWN = 100_000;

export function Log() {
  const { menu, log } = useWords();
  const { activity, webhooks } = useText();
  const number = useNumber();
  const navigate = useNavigate();
  const search: LogSearch = getRouteApi('/operator/log').useSearch();
  const { stream, type, at } = search;
  const list = useLog(search);
  const streams = useStreams(stream ?? '');
  const [opened, setOpened] = useState(-1);
  const eventsOf = (read: typeof list.data) => read?.pages.flatMap(({ data }) => data) ?? [];
  const events = eventsOf(list.data);
  const event = events[opened];
  const isLast = opened + 1 === events.length;
  const show = (changed: LogSearch) =>
    void navigate({ to: '/operator/log', search: { ...search, ...changed }, replace: true });
  const showOlder = async () => {
    const read = isLast ? (await list.fetchNextPage()).data : list.data;
    if (opened + 1 < eventsOf(read).length) setOpened(opened + 1);
  };
  const place = stream === undefined ? log.position : log.revision;
  return (
    <Page title={menu.log}>
      <Group>
        <SearchField
          label={log.stream}
          value={stream ?? ''}
          list="streams"
          onSearch={(text) => show({ stream: text || undefined, at: undefined })}
        />
        <SearchField
          label={log.from(place)}
          value={String(at ?? '')}
          onSearch={(text) => show({ at: /\d/.test(text) ? Number(text.replace(/\D/g, '')) : undefined })}
        />
        <Select
          aria-label={webhooks.event}
          placeholder={webhooks.event}
          searchable
          clearable
          data={[...EVENT_TYPES]}
          value={type ?? null}
          onChange={(value) => show({ type: value ?? undefined })}
        />
        <datalist id="streams">
          {streams.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </Group>
      <Listed list={list} none={list.hasNextPage ? log.noneYet : log.none}>
        {() => (
          <Rows
            label={menu.log}
            heads={[{ label: place, isNumber: true }, activity.when, log.stream, webhooks.event]}
            rows={events.map((each, n) => ({
              id: String(each.position),
              cells: [
                number(stream === undefined ? each.position : each.revision),
                <When key="when" at={each.occurred_at} />,
                each.stream,
                <Anchor key="type" component="button" size="sm" aria-haspopup="dialog" onClick={() => setOpened(n)}>
                  {each.type}
                </Anchor>,
              ],
            }))}
          />
        )}
      </Listed>
      {event !== undefined && (
        <Modal opened onClose={() => setOpened(-1)} title={event.type} size="xl">
          <Group mb="sm">
            <Button size="xs" variant="default" disabled={opened === 0} onClick={() => setOpened(opened - 1)}>
              {log.newer}
            </Button>
            <Button size="xs" variant="default" disabled={isLast && !list.hasNextPage} onClick={showOlder}>
              {log.older}
            </Button>
            <Link to="/operator/log" search={{ stream: event.stream }} onClick={() => setOpened(-1)}>
              {event.stream}
            </Link>
          </Group>
          <Code block className="json" tabIndex={0} aria-label={event.type}>
            {JSON.stringify(event, null, 2).slice(0, MOST_SHOWN)}
          </Code>
        </Modal>
      )}
    </Page>
  );
}

/** Of tenants whose name the typed one has; streams of an order or a delivery have its id in their names. */
function useStreams(typed: string): readonly string[] {
  const tenants = useTenants(/-([^.]*)/.exec(typed)?.[1] ?? '').data?.pages[0]?.data ?? [];
  const ofTenants = tenants.flatMap(({ name, tables }) => [
    ...['tenant', 'users', 'clients', 'webhooks', 'access'].map((category) => `${category}-${name}`),
    ...tables.map((table) => `table-${name}.${table}`),
  ]);
  return ['log-identity', 'log-keys', 'log-erasures', ...ofTenants];
}
