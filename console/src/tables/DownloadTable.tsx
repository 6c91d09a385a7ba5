/** A table, or what its filters leave of it, as a CSV file: fetched page by page, so that any size works. */
import { Button, Modal } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, answerOf, api } from '../api/client';
import { cursorOf } from '../app/cursor';
import { useNumber, useText } from '../app/language';
import { Problem } from '../app/Page';
import { saveCsv } from '../app/saveCsv';

/** Records on a page: fewer where they are large. */
const PAGE_SIZES = [1000, 100, 25] as const;
const TOO_LARGE = 413;

type Props = { readonly table: string; readonly filters: { readonly [parameter: string]: string } };

export function DownloadTable({ table, filters }: Props) {
  const { common } = useText();
  const number = useNumber();
  const [rows, setRows] = useState(0);
  const download = useMutation({
    mutationFn: async () => {
      const pages: string[] = [];
      let cursor: string | undefined = '';
      let size = 0;
      let count = 0;
      while (cursor !== undefined) {
        try {
          const query = new URLSearchParams({ ...filters, perPage: String(PAGE_SIZES[size] ?? 25), cursor });
          const { body, next } = await csvPage(table, query);
          // Each page begins with the names of the fields.
          pages.push(pages.length === 0 ? body : body.slice(body.indexOf('\n') + 1));
          count += PAGE_SIZES[size] ?? 0;
          setRows(count);
          cursor = next;
        } catch (error) {
          const isTooLarge = error instanceof ApiError && error.status === TOO_LARGE && size + 1 < PAGE_SIZES.length;
          if (!isTooLarge) throw error;
          size += 1;
        }
      }
      saveCsv(`${table}.csv`, pages);
    },
  });
  return (
    <>
      <Button size="xs" variant="default" disabled={download.isPending} onClick={() => download.mutate()}>
        {download.isPending ? common.rows(number(rows)) : common.download}
      </Button>
      <Modal opened={download.error !== null} onClose={download.reset} title={common.download}>
        <Problem error={download.error} />
      </Modal>
    </>
  );
}

async function csvPage(table: string, query: URLSearchParams): Promise<{ body: string; next: string | undefined }> {
  const request = api.GET('/api/v1/platform/tables/{table}/assets.csv', {
    params: { path: { table }, query: Object.fromEntries(query) as object },
    querySerializer: () => query.toString(),
    parseAs: 'text',
  });
  const { body, link } = await answerOf(request);
  const [, next] = /<([^>]+)>; rel="next"/.exec(link ?? '') ?? [];
  return { body, next: cursorOf(next ?? null) };
}
