/** One record of any table, field by field, with what it refers to, now and as each of its changes left it. */
import { Alert, Anchor, Mark, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type AnyRecord, ApiError, type AssetType, api, bodyOf } from '../api/client';
import { tableInfoQuery } from '../api/queries';
import { SYSTEM_FIELDS, titleOf, valueText } from '../app/DataTable';
import { Opens } from '../app/Dialogs';
import { useText, When } from '../app/language';
import { Loaded, Page } from '../app/Page';
import { useRoles } from '../app/useRoles';
import { RecordForm } from './RecordForm';
import { type Change, RecordHistory } from './RecordHistory';

export function RecordPage() {
  const { table, recordId } = getRouteApi('/tables/$table/records/$recordId').useParams();
  const info = useQuery(tableInfoQuery(table));
  const record = useQuery({
    queryKey: ['records', table, 'one', recordId],
    queryFn: async () => {
      const params = { path: { table, asset_id: recordId } };
      try {
        const { data } = await bodyOf(api.GET('/api/v1/platform/tables/{table}/assets/{asset_id}', { params }));
        return data as AnyRecord;
      } catch (error) {
        // A deleted record still has its history.
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    },
  });
  return (
    <Loaded query={info}>
      {(type) => (
        <Loaded query={record}>{(now) => <InTime key={recordId} type={type} recordId={recordId} now={now} />}</Loaded>
      )}
    </Loaded>
  );
}

type InTimeProps = { readonly type: AssetType; readonly recordId: string; readonly now: AnyRecord | null };

function InTime({ type, recordId, now }: InTimeProps) {
  const text = useText();
  const { isAdmin } = useRoles();
  return (
    <Page
      title={now === null ? recordId : titleOf(now)}
      actions={
        <>
          <Anchor component={Link} to={`/tables/${type.name}`}>
            {type.label}
          </Anchor>
          {isAdmin && type.kind === 'reference' && now !== null && (
            <Opens label={text.common.edit} variant="filled">
              {(close) => <RecordForm type={type} record={now} onClose={close} />}
            </Opens>
          )}
        </>
      }
    >
      <RecordHistory table={type.name} recordId={recordId} now={now}>
        {(record, change) =>
          record === null ? (
            <Alert color="orange">{text.tables.deletedThen}</Alert>
          ) : (
            <Fields type={type} record={record} change={change} isNow={record === now} />
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
}

type FieldsProps = {
  readonly type: AssetType;
  readonly record: { readonly [field: string]: unknown };
  readonly change: Change | undefined;
  readonly isNow: boolean;
};

/** What the change has changed is marked, with the value before. */
function Fields({ type, record, change, isNow }: FieldsProps) {
  const text = useText().tables;
  const references = new Map(
    type.relationships.filter(({ kind }) => kind === 'belongs_to').map((each) => [each.field, each]),
  );
  return (
    <Table aria-label={type.label} layout="fixed">
      <Table.Tbody>
        {type.fields
          .filter(({ name }) => !SYSTEM_FIELDS.includes(name))
          .map(({ name, label }) => {
            const value = valueText(record[name]);
            const reference = references.get(name);
            const changed = change?.fields[name];
            return (
              <Table.Tr key={name}>
                <Table.Th w="14rem">{label}</Table.Th>
                <Table.Td className="text">
                  {isNow && reference !== undefined && value !== '' ? (
                    <Anchor
                      component={Link}
                      to={`/tables/${reference.table}`}
                      search={{ filters: { [`${reference.key} eq`]: value } } as never}
                    >
                      <bdi>{value}</bdi>
                    </Anchor>
                  ) : changed === undefined ? (
                    <bdi>{value}</bdi>
                  ) : (
                    <Mark>
                      <bdi>{value || '–'}</bdi>
                    </Mark>
                  )}
                  {changed !== undefined && change?.change === 'update' && (
                    <Text size="sm" span ml="xs">
                      {text.was} <bdi>{valueText(changed.from) || '–'}</bdi>
                    </Text>
                  )}
                </Table.Td>
              </Table.Tr>
            );
          })}
      </Table.Tbody>
    </Table>
  );
}
