/** A table, or what its filters leave of it, as a CSV file: fetched page by page, so that any size works. */
import { Button, Modal } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, type AssetType, answerOf, api } from '../api/client';
import { cursorOf } from '../app/cursor';
import { useLanguage, useNumber } from '../app/language';
import { decimalMark } from '../app/numberText';
import { Problem } from '../app/Page';
import { saveCsv } from '../app/saveCsv';
import { withCommas } from './csv';

/** Records on a page: fewer where they are large. */
const PAGE_SIZES = [1000, 100, 25] as const;
const TOO_LARGE = 413;

type Props = { readonly type: AssetType; readonly filters: { readonly [parameter: string]: string } };

export function DownloadTable({ type: { name: table, fields }, filters }: Props) {
  const { language, text } = useLanguage();
  const { common } = text;
  const decimals = new Set(fields.filter(({ type }) => type === 'Decimal').map(({ name }) => name));
  const written = (csv: string) => (decimalMark(language) === ',' ? withCommas(csv, decimals) : csv);
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
          const { csv, next } = await csvPage(table, query);
          const body = written(csv);
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

async function csvPage(table: string, query: URLSearchParams): Promise<{ csv: string; next: string | undefined }> {
  const request = api.GET('/api/v1/platform/tables/{table}/assets.csv', {
    params: { path: { table }, query: Object.fromEntries(query) as object },
    querySerializer: () => query.toString(),
    parseAs: 'text',
  });
  const { body: csv, link } = await answerOf(request);
  const [, next] = /<([^>]+)>; rel="next"/.exec(link ?? '') ?? [];
  return { csv, next: cursorOf(next ?? null) };
}
