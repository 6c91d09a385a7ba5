/** A table as it was is built when it is first asked for. */
import { Alert, Progress } from '@mantine/core';
import { useText } from '../app/language';

/** The status of an answer while the table is built, and how soon the console asks again. */
export const BUILDING = 202;
export const ASKED_AGAIN_MS = 1_000;

export function BuildingTable() {
  const text = useText();
  return (
    <Alert role="status" title={text.tables.building}>
      <Progress value={100} animated aria-label={text.common.loading} />
    </Alert>
  );
}
