/** The end of an import with a clean-up: which records the file lacks, and the guard that asks once more. */
import { NumberInput, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, type AssetType, api, bodyOf, dataOf } from '../api/client';
import { FormDialog } from '../app/Dialogs';
import { useNumber, useText } from '../app/language';
import { Loaded } from '../app/Page';
import type { Sent } from './importFile';

type Props = { readonly table: AssetType; readonly sent: Sent; readonly onEnd: () => void };

/** The service refuses in these fields what its guard does not let pass. */
const GUARDED = ['confirm', 'batch_id'];

export function CleanUp({ table, sent: { sync, records }, onEnd }: Props) {
  const text = useText().imports;
  const number = useNumber();
  const [isGuarded, setGuarded] = useState(false);
  const [confirm, setConfirm] = useState<number | undefined>();
  const params = { path: { table: table.name, sync_id: sync } };
  const COMMIT = '/api/v1/platform/tables/{table}/syncs/{sync_id}/commit';
  const preview = useQuery({
    queryKey: ['clean-up', sync],
    queryFn: () => dataOf(api.POST(COMMIT, { params: { ...params, query: { dry_run: true } }, body: { records } })),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const commit = async () => {
    try {
      await bodyOf(api.POST(COMMIT, { params, body: { records, ...(confirm === undefined ? {} : { confirm }) } }));
      onEnd();
    } catch (error) {
      if (!(error instanceof ApiError) || !GUARDED.some((field) => field in error.fields)) throw error;
      setGuarded(true);
      await preview.refetch();
    }
  };
  return (
    <Loaded query={preview}>
      {({ deleted, keys = [] }) => (
        <FormDialog
          title={text.lacking(number(deleted))}
          label={text.deleteLacking(number(deleted))}
          cancel={text.keepLacking}
          act={commit}
          onClose={onEnd}
          isReady={!isGuarded || confirm === deleted}
          color="red"
        >
          {() => (
            <>
              <Text size="sm" className="text">
                {keys.join(', ')}
                {keys.length < deleted && ' …'}
              </Text>
              {isGuarded && (
                <NumberInput
                  label={text.guardConfirm}
                  description={text.guardWhy}
                  value={confirm ?? ''}
                  onChange={(value) => setConfirm(typeof value === 'number' ? value : undefined)}
                />
              )}
            </>
          )}
        </FormDialog>
      )}
    </Loaded>
  );
}
