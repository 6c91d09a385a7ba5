/** One record of any table, field by field, with what it refers to, now and as each of its changes left it. */
import { Alert, Group, Mark, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { AssetType } from '../api/client';
import { tableInfoQuery } from '../api/queries';
import { Opens } from '../app/Dialogs';
import { useText, When } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { Facts, SYSTEM_FIELDS, titleOf, Value, valueText } from '../app/Rows';
import { useRoles } from '../app/useRoles';
import { DeleteRecord, RecordForm, readRecord } from './RecordForm';
import { type Change, RecordHistory, recordAt, useHistory } from './RecordHistory';
import { Undo } from './Undo';
import { useReferences } from './useReferences';

export function RecordPage() {
  const { table, recordId } = getRouteApi('/tables/$table/records/$recordId').useParams();
  const text = useText();
  const { isAdmin } = useRoles();
  const info = useQuery(tableInfoQuery(table));
  const record = useQuery({
    queryKey: ['records', table, 'one', recordId],
    queryFn: () => readRecord(table, recordId),
  });
  const [newest] = useHistory(table, recordId).data?.pages ?? [];
  return (
    <Loaded query={info}>
      {(type) => (
        <Loaded query={record}>
          {(read) => {
            const now = read?.record ?? null;
            return (
              <Page
                title={titleOf({ id: recordId, ...(now ?? recordAt(null, newest?.data ?? [], 1)) })}
                actions={
                  <>
                    <Link to="/tables/$table" params={{ table }}>
                      {type.label}
                    </Link>
                    {isAdmin && type.kind === 'reference' && read !== null && (
                      <>
                        <DeleteRecord type={type} read={read} />
                        <Opens label={text.common.edit} variant="filled">
                          {(close) => <RecordForm type={type} read={read} onClose={close} />}
                        </Opens>
                      </>
                    )}
                  </>
                }
              >
                <RecordHistory key={recordId} type={type} recordId={recordId} now={now}>
                  {(record, change) =>
                    record === null ? (
                      <Alert color="orange">
                        <Group>
                          {text.tables.deletedThen}
                          {isAdmin && now === null && change?.kind === 'record.deleted' && (
                            <Undo
                              of={{ table: type.name, id: change.operation_id ?? '', name: text.tables.kind.deleted }}
                            />
                          )}
                        </Group>
                      </Alert>
                    ) : (
                      <Fields type={type} record={record} change={change} />
                    )
                  }
                </RecordHistory>
                {now !== null && (
                  <Text size="sm">
                    {text.common.created} <When at={String(now.created_at)} long /> · {text.common.changed}{' '}
                    <When at={String(now.updated_at)} long /> · <span className="mono">{now.id}</span>
                  </Text>
                )}
              </Page>
            );
          }}
        </Loaded>
      )}
    </Loaded>
  );
}

type FieldsProps = {
  readonly type: AssetType;
  readonly record: { readonly [field: string]: unknown };
  readonly change: Change | undefined;
};

/** What the change has changed is marked, with the value before. */
function Fields({ type, record, change }: FieldsProps) {
  const text = useText().tables;
  const linkOf = useReferences(type, [record]);
  const shown = (name: string) => {
    const value = valueText(record[name]);
    const words = linkOf(name, value) ?? <Value>{record[name]}</Value>;
    const changed = change?.change === 'update' ? change.fields[name] : undefined;
    return (
      <>
        {changed === undefined ? words : <Mark>{words}</Mark>}
        {changed !== undefined && (
          <Text size="sm" span ml="xs">
            {text.was} <Value>{changed.from}</Value>
          </Text>
        )}
      </>
    );
  };
  const own = type.fields.filter(({ name }) => !SYSTEM_FIELDS.includes(name));
  const retired = type.retired.filter(({ name }) => valueText(record[name]) !== '');
  const facts = [
    ...own.map(({ name, label }) => [label, shown(name)] as const),
    ...retired.map(({ name, label }) => [`${label} (${text.retired})`, shown(name)] as const),
  ];
  return <Facts label={type.label} facts={facts} />;
}
