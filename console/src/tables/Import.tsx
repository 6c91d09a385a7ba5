/** A file into a table: columns matched with fields, a check that writes nothing, the rows as a sync session, and its undo. */
import { Alert, Button, Checkbox, FileInput, Group, List, Progress, Select, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useBlocker } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { type AssetField, type AssetType, api, bodyOf } from '../api/client';
import { tableInfoQuery } from '../api/queries';
import { Cut, SYSTEM_FIELDS } from '../app/DataTable';
import { useNumber, useText } from '../app/language';
import { Loaded, Page, Problem } from '../app/Page';
import { Rows } from '../app/Rows';
import { CleanUp } from './CleanUp';
import { Differences } from './Differences';
import { beginningOf, type Checked, checkFile, MAX_REFUSED, type Sent, type Source, sendFile } from './importFile';
import { Undo } from './Undo';

/** Refused rows and differences that are shown; all are counted. */
const MAX_SHOWN = 100;

type Beginning = { readonly file: File; readonly lines: readonly (readonly string[])[] };

export function Import() {
  const { table } = getRouteApi('/tables/$table/import').useParams();
  const info = useQuery(tableInfoQuery(table));
  return <Loaded query={info}>{(type) => <ImportInto key={table} type={type} />}</Loaded>;
}

function ImportInto({ type }: { readonly type: AssetType }) {
  const text = useText().imports;
  const [beginning, setBeginning] = useState<Beginning | undefined>();
  const read = useMutation({
    mutationFn: async (file: File) => ({ file, lines: await beginningOf(file) }),
    onSuccess: setBeginning,
  });
  return (
    <Page title={`${type.label}: ${text.title}`}>
      <Text>{text.how}</Text>
      <FileInput
        label={text.file}
        placeholder={text.choose}
        accept=".csv,text/csv"
        maw="30rem"
        onChange={(file) => {
          setBeginning(undefined);
          if (file !== null) read.mutate(file);
        }}
      />
      {read.error !== null && <Problem error={read.error} />}
      {beginning !== undefined &&
        (beginning.lines.length < 2 ? (
          <Alert color="orange">{text.empty}</Alert>
        ) : (
          <Matched key={`${beginning.file.name} ${beginning.file.lastModified}`} type={type} beginning={beginning} />
        ))}
    </Page>
  );
}

const plain = (name: string) => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

/** Which column is which field; a name or a label says it. */
function Matched({ type, beginning: { file, lines } }: { readonly type: AssetType; readonly beginning: Beginning }) {
  const text = useText();
  const [names = [], ...rows] = lines;
  const writable = type.fields.filter(
    ({ name, read_only, list }) => !read_only && !list && !SYSTEM_FIELDS.includes(name),
  );
  const [fields, setFields] = useState<readonly (AssetField | undefined)[]>(() =>
    names.map((column) => writable.find(({ name, label }) => [plain(name), plain(label)].includes(plain(column)))),
  );
  const twice = fields.find((field, at) => field !== undefined && fields.indexOf(field) !== at);
  const unique = writable.find(({ name }) => name === type.unique_field);
  const isKeyed = unique !== undefined && fields.includes(unique);
  const source: Source = { file, table: type.name, fields, uniqueField: type.unique_field ?? '' };
  return (
    <>
      <Rows
        label={text.imports.columns}
        heads={[{ label: text.imports.column }, { label: text.imports.firstValues }, { label: text.imports.field }]}
        rows={names.map((column, at) => ({
          // Two columns may have one name.
          id: `${at} ${column}`,
          cells: [
            <Cut key="column">{column}</Cut>,
            <Cut key="values">{rows.map((cells) => cells[at] ?? '').join(' · ')}</Cut>,
            <Select
              key="field"
              aria-label={`${text.imports.field}: ${column}`}
              placeholder={text.imports.leftOut}
              clearable
              searchable
              data={writable.map(({ name, label }) => ({ value: name, label }))}
              value={fields[at]?.name ?? null}
              onChange={(name) =>
                setFields(fields.map((each, n) => (n === at ? writable.find((field) => field.name === name) : each)))
              }
            />,
          ],
        }))}
      />
      {!isKeyed && <Alert color="orange">{text.imports.noKey(unique?.label ?? source.uniqueField)}</Alert>}
      {twice !== undefined && <Alert color="orange">{text.imports.twice(twice.label)}</Alert>}
      <Steps
        key={fields.map((field) => field?.name).join()}
        type={type}
        source={source}
        isReady={isKeyed && twice === undefined}
      />
    </>
  );
}

type StepsProps = { readonly type: AssetType; readonly source: Source; readonly isReady: boolean };

/** The check, then the import, then the clean-up if it is wanted. Each can be stopped. */
function Steps({ type, source, isReady }: StepsProps) {
  const text = useText().imports;
  const client = useQueryClient();
  const [done, setDone] = useState(0);
  const [withCleanUp, setCleanUp] = useState(false);
  const [sync, setSync] = useState<string | undefined>();
  const [isEnded, setEnded] = useState(false);
  const stop = useRef(new AbortController());
  const work = () => {
    stop.current = new AbortController();
    setDone(0);
    return { onProgress: setDone, signal: stop.current.signal };
  };
  const check = useMutation({ mutationFn: () => checkFile(source, work()) });
  const refused = new Set(check.data?.refused.map(({ line }) => line));
  const send = useMutation({
    mutationFn: async (): Promise<Sent> => {
      const sent = await sendFile(source, refused, setSync, work());
      if (!withCleanUp) await endSync(source.table, sent);
      return sent;
    },
    onSuccess: () => setEnded(!withCleanUp),
    onSettled: () => client.invalidateQueries({ queryKey: ['records', source.table] }),
  });
  useEffect(() => () => stop.current.abort(), []);
  const isBusy = check.isPending || send.isPending || (send.isSuccess && !isEnded);
  useBlocker({ shouldBlockFn: () => isBusy && !window.confirm(text.leave), enableBeforeUnload: isBusy });
  const error = check.error ?? send.error;
  return (
    <Stack>
      {check.data === undefined && (
        <Group>
          <Button disabled={!isReady} loading={check.isPending} onClick={() => check.mutate()}>
            {text.check}
          </Button>
        </Group>
      )}
      {(check.isPending || send.isPending) && (
        <Group wrap="nowrap">
          <Progress
            value={done * 100}
            animated
            flex={1}
            aria-label={check.isPending ? text.checking : text.importing}
          />
          <Button size="xs" variant="default" onClick={() => stop.current.abort()}>
            {text.stop}
          </Button>
        </Group>
      )}
      {error !== null && <Problem error={error} />}
      {check.data !== undefined && (
        <>
          <Result type={type} checked={check.data} />
          {!send.isSuccess && sync === undefined && (
            <Choice
              type={type}
              checked={check.data}
              withCleanUp={withCleanUp}
              onCleanUp={setCleanUp}
              isBusy={send.isPending}
              onImport={() => send.mutate()}
            />
          )}
        </>
      )}
      {send.isSuccess && !isEnded && (
        <CleanUp
          table={type}
          sent={send.data}
          onEnd={() => setEnded(true)}
          end={() => endSync(source.table, send.data)}
        />
      )}
      {sync !== undefined && (isEnded || send.isError) && (
        <Alert color={isEnded ? 'green' : 'orange'} role="status" title={isEnded ? text.done : text.notDone}>
          <Text size="sm">{isEnded ? text.doneHow : text.notDoneHow}</Text>
          <Group mt="xs">
            <Undo of={{ table: source.table, kind: 'sync', id: sync }} />
          </Group>
        </Alert>
      )}
    </Stack>
  );
}

/** Ends the session and deletes nothing; the service checks that no batch was lost. */
async function endSync(table: string, { sync, records }: Sent): Promise<void> {
  const params = { path: { table, sync_id: sync } };
  const body = { records, clean_up: false };
  await bodyOf(api.POST('/api/v1/platform/tables/{table}/syncs/{sync_id}/commit', { params, body }));
}

function Result({ type, checked }: { readonly type: AssetType; readonly checked: Checked }) {
  const text = useText().imports;
  const number = useNumber();
  const { created, updated, unchanged, refused, differences } = checked;
  return (
    <>
      <Text role="status" fw={600}>
        {text.counts(number(created), number(updated), number(unchanged), number(refused.length))}
      </Text>
      {refused.length > 0 && (
        <Alert color="red" title={text.refused(number(refused.length))}>
          <List size="sm">
            {refused.slice(0, MAX_SHOWN).map(({ line, messages, sameKeyAs }) => (
              <List.Item key={line} className="text">
                {text.line(number(line))} {messages.join(' ')}
                {sameKeyAs !== undefined && text.sameKey(number(sameKeyAs))}
              </List.Item>
            ))}
          </List>
        </Alert>
      )}
      <Differences type={type} differences={differences} />
    </>
  );
}

type ChoiceProps = {
  readonly type: AssetType;
  readonly checked: Checked;
  readonly withCleanUp: boolean;
  readonly onCleanUp: (is: boolean) => void;
  readonly isBusy: boolean;
  readonly onImport: () => void;
};

/** Whether records that the file lacks go as well: only if the file is whole. */
function Choice({ type, checked, withCleanUp, onCleanUp, isBusy, onImport }: ChoiceProps) {
  const text = useText().imports;
  const number = useNumber();
  const { created, updated, unchanged, refused } = checked;
  const total = useQuery({
    queryKey: ['records', type.name, 'total'],
    queryFn: async () =>
      (await bodyOf(api.GET('/api/v1/platform/tables/{table}/assets', { params: { path: { table: type.name } } }))).meta
        .total,
  });
  const newest = useQuery({
    queryKey: ['syncs', type.name, 'newest'],
    queryFn: async () =>
      (
        await bodyOf(api.GET('/api/v1/platform/tables/{table}/syncs', { params: { path: { table: type.name } } }))
      ).data.at(0) ?? null,
  });
  const lacking = Math.max(0, (total.data ?? 0) - updated - unchanged);
  const rows = created + updated + unchanged;
  return (
    <>
      {newest.data?.status === 'started' && (
        <Alert color="orange">{text.otherSync(newest.data.actor.name ?? newest.data.actor.id)}</Alert>
      )}
      {refused.length > 0 ? (
        <Text>{refused.length >= MAX_REFUSED ? text.tooManyRefused : text.withoutRefused}</Text>
      ) : (
        <Checkbox
          label={text.cleanUp(number(lacking))}
          description={text.cleanUpWhy}
          checked={withCleanUp}
          onChange={({ currentTarget }) => onCleanUp(currentTarget.checked)}
        />
      )}
      <Group>
        <Button disabled={rows === 0 || refused.length >= MAX_REFUSED} loading={isBusy} onClick={onImport}>
          {text.import(number(rows))}
        </Button>
      </Group>
    </>
  );
}
