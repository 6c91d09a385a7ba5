/** The machine and its service: disk, backups, keys, settings, and checks when the operator asks for them. */
import { Alert, Badge, Button, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { bodyOf } from '../api/client';
import { When } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { Facts, Rows } from '../app/Rows';
import { SearchField } from '../app/SearchField';
import { api, type Schemas } from './client';
import { useSize, useWords } from './words';

export function Installation() {
  const words = useWords();
  const machine = useQuery({
    queryKey: ['operator', 'machine'],
    queryFn: async () => (await bodyOf(api.GET('/api/v1/operator/machine'))).data,
  });
  const settings = useQuery({
    queryKey: ['operator', 'settings'],
    queryFn: async () => (await bodyOf(api.GET('/api/v1/operator/settings'))).data,
  });
  return (
    <Page title={words.menu.installation}>
      <Loaded query={machine}>{(found) => <Machine machine={found} />}</Loaded>
      <Checks />
      <Loaded query={settings}>{(found) => <Settings settings={found} />}</Loaded>
    </Page>
  );
}

function Machine({ machine }: { readonly machine: Schemas['Machine'] }) {
  const words = useWords().installation;
  const size = useSize();
  const { free_bytes: free, disk_bytes: disk, log_bytes: log, last_backup_at: backup } = machine;
  return (
    <Stack>
      <Facts
        label={words.release}
        facts={[
          [words.release, machine.release],
          [words.disk, words.ofSize(size(free), size(disk))],
          [words.reserve, size(machine.reserve_bytes)],
          [words.log, log === null ? words.onServer : size(log)],
          [words.backup, backup === null ? words.never : <When key="at" at={backup} long />],
        ]}
      />
      <Rows
        label={words.keys}
        heads={[{ label: words.keys }, { label: words.since }, { label: words.use }]}
        rows={machine.signing_keys.map(({ kid, added_at, retired_at, revoked }) => ({
          id: kid,
          cells: [
            <span key="kid" className="mono">
              {kid}
            </span>,
            <When key="at" at={added_at} />,
            revoked ? words.revoked : retired_at === null ? words.signs : words.verifies,
          ],
        }))}
      />
    </Stack>
  );
}

/** They look at files, so they are made when they are asked for. */
function Checks() {
  const words = useWords().installation;
  const checks = useQuery({
    queryKey: ['operator', 'checks'],
    queryFn: async () => (await bodyOf(api.GET('/api/v1/operator/checks'))).data,
    enabled: false,
  });
  return (
    <Stack component="section" gap="xs" align="flex-start">
      <Title order={2} size="h4">
        {words.checks}
      </Title>
      <Text size="sm">{words.checksWhy}</Text>
      <Button size="xs" variant="default" loading={checks.isFetching} onClick={() => void checks.refetch()}>
        {words.check}
      </Button>
      {(checks.data !== undefined || checks.error !== null) && (
        <Loaded query={checks}>
          {(found) =>
            found.map(({ check, detail, findings }) =>
              findings.length === 0 ? (
                <Text key={check} size="sm">
                  <Badge color="green" variant="dot" tt="none">
                    {words.ok}
                  </Badge>{' '}
                  {check}: {detail}
                </Text>
              ) : (
                findings.map(({ problem, remedy }) => (
                  <Alert key={problem} color="red" variant="light" title={check}>
                    {problem} {remedy}
                  </Alert>
                ))
              ),
            )
          }
        </Loaded>
      )}
    </Stack>
  );
}

function Settings({ settings }: { readonly settings: readonly Schemas['Setting'][] }) {
  const words = useWords().installation;
  const [search, setSearch] = useState('');
  const wanted = search.toLowerCase();
  const shown = settings.filter(({ name, meaning }) => `${name} ${meaning}`.toLowerCase().includes(wanted));
  return (
    <Stack component="section" gap="xs">
      <Title order={2} size="h4">
        {words.settings}
      </Title>
      <SearchField label={words.searchSettings} value={search} onSearch={setSearch} />
      <Rows
        label={words.settings}
        heads={[{ label: words.setting }, { label: words.value, isText: true }]}
        rows={shown.map(({ name, value, source, meaning }) => ({
          id: name,
          cells: [
            <div key="name">
              <Text size="sm" className="mono">
                {name}
              </Text>
              <Text size="sm">{meaning}</Text>
            </div>,
            value === '' ? words.unset : source === 'default' ? `${value} (${words.isDefault})` : value,
          ],
        }))}
      />
    </Stack>
  );
}
