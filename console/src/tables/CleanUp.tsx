/** The end of an import with a clean-up: which records the file lacks, and the guard that asks once more. */
import { Alert, Button, Group, NumberInput, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, type AssetType, api, bodyOf, dataOf } from '../api/client';
import { useNumber, useText } from '../app/language';
import { Loaded, Problem } from '../app/Page';
import type { Sent } from './importFile';

type Props = {
  readonly table: AssetType;
  readonly sent: Sent;
  readonly onEnd: () => void;
};

/** The service refuses in these fields what its guard does not let pass. */
const GUARDED = ['confirm', 'batch_id'];

export function CleanUp({ table, sent: { sync, records }, onEnd }: Props) {
  const text = useText().imports;
  const number = useNumber();
  const client = useQueryClient();
  const [confirmed, setConfirmed] = useState<number | undefined>();
  const params = { path: { table: table.name, sync_id: sync } };
  const COMMIT = '/api/v1/platform/tables/{table}/syncs/{sync_id}/commit';
  const preview = useQuery({
    queryKey: ['clean-up', sync],
    queryFn: () => dataOf(api.POST(COMMIT, { params: { ...params, query: { dry_run: true } }, body: { records } })),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const commit = useMutation({
    mutationFn: () =>
      bodyOf(
        api.POST(COMMIT, { params, body: { records, ...(confirmed === undefined ? {} : { confirm: confirmed }) } }),
      ),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['records', table.name] });
      onEnd();
    },
  });
  const { error } = commit;
  const isGuarded = error instanceof ApiError && GUARDED.some((field) => field in error.fields);
  return (
    <Loaded query={preview}>
      {({ deleted, keys = [] }) => (
        <>
          <Text role="status" fw={600}>
            {text.lacking(number(deleted))}
          </Text>
          {keys.length > 0 && (
            <Text size="sm" className="text">
              {keys.join(', ')}
              {keys.length < deleted && ' …'}
            </Text>
          )}
          {error !== null && !isGuarded && <Problem error={error} />}
          {isGuarded && (
            <Alert color="orange" title={text.guard}>
              <Text size="sm">{text.guardWhy}</Text>
              <NumberInput
                mt="xs"
                maw="16rem"
                label={text.guardConfirm}
                value={confirmed ?? ''}
                onChange={(value) => setConfirmed(typeof value === 'number' ? value : undefined)}
              />
            </Alert>
          )}
          <Group>
            <Button
              color="red"
              disabled={isGuarded && confirmed !== deleted}
              loading={commit.isPending}
              onClick={() => commit.mutate()}
            >
              {text.deleteLacking(number(deleted))}
            </Button>
            <Button variant="default" onClick={onEnd}>
              {text.keepLacking}
            </Button>
          </Group>
        </>
      )}
    </Loaded>
  );
}
