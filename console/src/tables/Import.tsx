/** A file into a table: columns matched with fields, a check that writes nothing, the rows as a sync session, and its undo. */
import { Alert, Button, Checkbox, FileInput, Group, Progress, Select, Stack, Text } from '@mantine/core';
import { useIsMutating, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useBlocker } from '@tanstack/react-router';
import { unparse } from 'papaparse';
import { useEffect, useRef, useState } from 'react';
import type { AssetField, AssetType } from '../api/client';
import { tableInfoQuery, tableSummariesQuery } from '../api/queries';
import { useLanguage, useNumber, useText } from '../app/language';
import { decimalMark, NoNumber, numberText } from '../app/numberText';
import { Loaded, Page, Problem } from '../app/Page';
import { Cut, Rows, valueText } from '../app/Rows';
import { writableFields } from '../orders/draft';
import { CleanUp } from './CleanUp';
import { cellValue } from './cells';
import { type Dialect, guessDialect } from './csv';
import { DialectForm } from './DialectForm';
import { Differences, TableLink, useLabels } from './Differences';
import { beginningOf, type Checked, checkFile, groupsOf, MAX_REFUSED, type Source, sendFile } from './importFile';
import { Undo } from './Operations';
import { saveCsv } from './TableRecords';

/** Groups of refusals that are shown, and rows of each; the file to download has all. */
const MAX_GROUPS = 100;
const MAX_ROWS = 10;

/** While a file is checked or written, nothing of how it is read can change. */
const WORK = ['import'];

type Chosen = { readonly file: File; readonly dialect: Dialect };

export function Import() {
  const { table } = getRouteApi('/tables/$table/import').useParams();
  const info = useQuery(tableInfoQuery(table));
  return <Loaded query={info}>{(type) => <ImportInto key={table} type={type} />}</Loaded>;
}

function ImportInto({ type }: { readonly type: AssetType }) {
  const { language, text: all } = useLanguage();
  const text = all.imports;
  const [chosen, setChosen] = useState<Chosen | undefined>();
  const isBusy = useIsMutating({ mutationKey: WORK }) > 0;
  const guess = useMutation({
    mutationFn: async (file: File) => ({ file, dialect: await guessDialect(file, decimalMark(language)) }),
    onSuccess: setChosen,
  });
  return (
    <Page title={`${type.label}: ${text.title}`} actions={<TableLink table={type.name} />}>
      <Text>{text.how}</Text>
      <FileInput
        label={text.file}
        placeholder={text.choose}
        accept=".csv,.txt,text/csv,text/plain"
        maw="30rem"
        disabled={isBusy}
        onChange={(file) => {
          setChosen(undefined);
          if (file !== null) guess.mutate(file);
        }}
      />
      {guess.error !== null && <Problem error={guess.error} />}
      {chosen !== undefined && (
        <>
          <DialectForm
            dialect={chosen.dialect}
            isBusy={isBusy}
            onChange={(dialect) => setChosen({ ...chosen, dialect })}
          />
          <Read type={type} chosen={chosen} />
        </>
      )}
    </Page>
  );
}

/** The beginning of the file, read again when one says that it is written in another way. */
function Read({ type, chosen }: { readonly type: AssetType; readonly chosen: Chosen }) {
  const text = useText().imports;
  const { file, dialect } = chosen;
  const { encoding, delimiter, header } = dialect;
  const beginning = useQuery({
    queryKey: ['beginning', file.name, file.lastModified, file.size, encoding, delimiter, header],
    queryFn: () => beginningOf(file, dialect),
    gcTime: 0,
  });
  return (
    <Loaded query={beginning}>
      {(rows) =>
        rows.length < 2 ? (
          <Alert color="orange">{text.empty}</Alert>
        ) : (
          <Matched key={JSON.stringify(rows[0])} type={type} chosen={chosen} beginning={rows} />
        )
      }
    </Loaded>
  );
}

const plain = (name: string) => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

type MatchedProps = {
  readonly type: AssetType;
  readonly chosen: Chosen;
  readonly beginning: readonly (readonly string[])[];
};

/** Which column is which field; a name or a label says it. */
function Matched({ type, chosen: { file, dialect }, beginning }: MatchedProps) {
  const { language, text } = useLanguage();
  const [names = [], ...rows] = beginning;
  const writable = writableFields(type, 'id');
  const [fields, setFields] = useState<readonly (AssetField | undefined)[]>(() =>
    names.map((column) => writable.find(({ name, label }) => [plain(name), plain(label)].includes(plain(column)))),
  );
  /** A cell as it is understood, which shows what was guessed wrong. */
  const readText = (cell: string, field: AssetField | undefined): string => {
    const value = field === undefined ? cell : cellValue(cell, field.type, dialect);
    if (value instanceof NoNumber) return `${cell} (?)`;
    if (typeof value === 'boolean') return value ? text.common.yes : text.common.no;
    return field?.type === 'Decimal' ? numberText(value, decimalMark(language)) : valueText(value);
  };
  const isBusy = useIsMutating({ mutationKey: WORK }) > 0;
  const twice = fields.find((field, at) => field !== undefined && fields.indexOf(field) !== at);
  const unique = writable.find(({ name }) => name === type.unique_field);
  const isKeyed = unique !== undefined && fields.includes(unique);
  const source: Source = {
    file,
    dialect,
    table: type.name,
    fields,
    uniqueField: type.unique_field ?? '',
    words: text.imports.flaws,
  };
  return (
    <>
      <Rows
        label={text.imports.columns}
        heads={[text.imports.column, text.imports.firstValues, text.imports.field]}
        rows={names.map((column, at) => ({
          // Two columns may have one name.
          id: `${at} ${column}`,
          cells: [
            <Cut key="column">{column}</Cut>,
            <Cut key="values">{rows.map((cells) => readText(cells[at] ?? '', fields[at]))}</Cut>,
            <Select
              key="field"
              aria-label={`${text.imports.field}: ${column}`}
              placeholder={text.imports.leftOut}
              clearable
              searchable
              disabled={isBusy}
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
        key={JSON.stringify([dialect, fields.map((field) => field?.name)])}
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
  const { imports: text, tables } = useText();
  const client = useQueryClient();
  const [done, setDone] = useState(0);
  const [sync, setSync] = useState<string | undefined>();
  const [isEnded, setEnded] = useState(false);
  const stop = useRef(new AbortController());
  const work = () => {
    stop.current = new AbortController();
    setDone(0);
    return { onProgress: setDone, signal: stop.current.signal };
  };
  const check = useMutation({ mutationKey: WORK, mutationFn: () => checkFile(source, work()) });
  const refused = new Set(check.data?.refused.map(({ line }) => line));
  const send = useMutation({
    mutationKey: WORK,
    mutationFn: (_withCleanUp: boolean) => sendFile(source, refused, setSync, work()),
    onSuccess: (_, withCleanUp) => setEnded(!withCleanUp),
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
          <Result type={type} source={source} checked={check.data} />
          {!send.isSuccess && sync === undefined && (
            <Choice type={type} checked={check.data} isBusy={send.isPending} onImport={send.mutate} />
          )}
        </>
      )}
      {send.isSuccess && !isEnded && <CleanUp table={type} sent={send.data} onEnd={() => setEnded(true)} />}
      {sync !== undefined && (isEnded || send.isError) && (
        <Alert color={isEnded ? 'green' : 'orange'} role="status" title={isEnded ? text.done : text.notDone}>
          <Text size="sm">{isEnded ? text.doneHow : text.notDoneHow}</Text>
          <Group mt="xs">
            <Undo of={{ table: source.table, sync, name: source.file.name }} />
            <Link to="/tables/$table/operations" params={{ table: source.table }} search={{ batch: sync }}>
              {tables.operations}
            </Link>
          </Group>
        </Alert>
      )}
    </Stack>
  );
}

type ResultProps = { readonly type: AssetType; readonly source: Source; readonly checked: Checked };

const rowsIn = (refused: Checked['refused']): number => new Set(refused.map(({ line }) => line)).size;

function Result({ type, source, checked }: ResultProps) {
  const text = useText().imports;
  const number = useNumber();
  const { created, updated, unchanged, refused, differences } = checked;
  const count = number(rowsIn(refused));
  const labelOf = useLabels();
  const download = () => {
    const rows = refused.map(({ line, key, field = '', message }) => [line, key, field, message]);
    const names = [text.row, source.uniqueField, text.field, text.why];
    const { delimiter } = source.dialect;
    saveCsv(`${type.name}-refused.csv`, [unparse([names, ...rows], { delimiter, escapeFormulae: true })]);
  };
  return (
    <>
      <Text role="status" fw={600}>
        {text.counts(number(created), number(updated), number(unchanged), count)}
      </Text>
      {refused.length > 0 && (
        <Alert color="red" title={text.refused(count)}>
          <Rows
            label={text.refused(count)}
            heads={[
              { label: text.why, isText: true },
              text.field,
              { label: text.howMany, isNumber: true },
              text.firstRows,
            ]}
            rows={groupsOf(refused)
              .slice(0, MAX_GROUPS)
              .map(({ message, field, lines }) => ({
                id: `${field} ${message}`,
                cells: [
                  message,
                  field === undefined ? '' : labelOf(field, type.name),
                  number(lines.length),
                  `${lines.slice(0, MAX_ROWS).join(', ')}${lines.length > MAX_ROWS ? ' …' : ''}`,
                ],
              }))}
          />
          <Button size="xs" variant="default" onClick={download}>
            {text.downloadRefused}
          </Button>
        </Alert>
      )}
      {differences.length > 0 && (
        <details open>
          <summary>{text.firstDifferences(differences.length)}</summary>
          <Differences table={type.name} differences={differences} />
        </details>
      )}
    </>
  );
}

type ChoiceProps = {
  readonly type: AssetType;
  readonly checked: Checked;
  readonly isBusy: boolean;
  readonly onImport: (withCleanUp: boolean) => void;
};

/** Whether records that the file lacks go as well: only if the file is whole. */
function Choice({ type, checked, isBusy, onImport }: ChoiceProps) {
  const [withCleanUp, setCleanUp] = useState(false);
  const text = useText().imports;
  const number = useNumber();
  const { created, updated, unchanged, refused } = checked;
  const total = useQuery(tableSummariesQuery).data?.find(({ name }) => name === type.name)?.records ?? 0;
  const lacking = Math.max(0, total - updated - unchanged);
  const rows = created + updated + unchanged;
  return (
    <>
      {refused.length > 0 ? (
        <Text>{refused.length >= MAX_REFUSED ? text.tooManyRefused : text.withoutRefused}</Text>
      ) : (
        <Checkbox
          label={text.cleanUp(number(lacking))}
          description={text.cleanUpWhy}
          checked={withCleanUp}
          onChange={({ currentTarget }) => setCleanUp(currentTarget.checked)}
        />
      )}
      <Group>
        <Button
          disabled={rows === 0 || refused.length >= MAX_REFUSED}
          loading={isBusy}
          onClick={() => onImport(withCleanUp)}
        >
          {text.import(number(rows))}
        </Button>
      </Group>
    </>
  );
}
