/** What is wrong with an order, beside its fields and above them, until the field is changed; and what two have changed. */
import { Alert, Anchor, Group, List, SegmentedControl, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { type AnyRecord, ApiError, type Order, type OrderProblem, reasonInWords } from '../api/client';
import { useText } from '../app/language';
import { Names, Value, valueText } from '../app/Rows';
import { useLabels } from '../tables/Differences';
import { type Both, type Draft, drafted, type Fields, isSame, partsIn } from './draft';
import { nameOf } from './FieldInput';
import type { PartNames } from './OrderHistory';

/** About the field at this path, such as `lines.0.item_id`. */
type Message = { readonly field: string; readonly message: string };

/** A problem in the person's language, with the label of its field. */
export function useProblemText(): (problem: OrderProblem) => string {
  const { orders } = useText();
  const labelOf = useLabels();
  return ({ field, code }) => orders[code](labelOf(field.split('.').at(-1) ?? ''));
}

/** What still holds of the order's problems and of a refused save: each until its field has another value. */
export function useMessages(order: Order, draft: Draft, refusal: Error | null, sent: Draft) {
  const now = drafted(order, draft);
  const say = useProblemText();
  const still = (then: Fields, messages: readonly Message[]) =>
    messages.flatMap(({ message, field }): readonly Message[] => {
      const path = pathNow(then, now, field);
      return path === undefined ? [] : [{ field: path, message }];
    });
  const own = order.problems.map((problem) => ({ ...problem, message: say(problem) }));
  const problems = still(order, own);
  const refused = Object.entries(refusal instanceof ApiError ? refusal.fields : {});
  const refusals = refused.map(([field, messages]) => ({ field, message: messages.join(' ') }));
  const all = [...problems, ...still(drafted(order, sent), refusals)];
  // The same map as long as they say the same, so that rows are not rendered again.
  const said = JSON.stringify(all.map(({ field, message }) => [field, message]));
  const errors = useMemo(() => new Map<string, string>(JSON.parse(said)), [said]);
  return { now, problems, errors };
}

const goTo = (field: string): void =>
  document.querySelector<HTMLElement>(`[data-field="${CSS.escape(field)}"] :is(input, textarea, button)`)?.focus();

/** `2: ` of `lines.1.item_id`. */
export const rowIn = (field: string): string => {
  const [, row] = /\.(\d+)\./.exec(field) ?? [];
  return row === undefined ? '' : `${Number(row) + 1}: `;
};

type NotesProps = { readonly reasons: readonly string[]; readonly problems: readonly Message[] };

/** What is to be known before anything is done: reasons of the ERP, and problems. */
export function Notes({ reasons, problems }: NotesProps) {
  const text = useText();
  return (
    <>
      {reasons.length > 0 && (
        <Alert color="red" title={text.orders.reasons}>
          <div className="text">{reasons.map(reasonInWords).join('\n')}</div>
        </Alert>
      )}
      {problems.length > 0 && (
        <Alert color="orange" title={text.orders.problems}>
          <List size="sm">
            {problems.map(({ field, message }) => (
              <List.Item key={field}>
                <Anchor component="button" size="sm" ta="start" onClick={() => goTo(field)}>
                  {rowIn(field)}
                  {message}
                </Anchor>
              </List.Item>
            ))}
          </List>
        </Alert>
      )}
    </>
  );
}

type ConflictProps = {
  readonly both: readonly Both[];
  /** The order as the page has it. */
  readonly now: Fields;
  readonly names: PartNames;
  readonly table: string;
  readonly title?: string;
  readonly onChoose: (each: Both, value: unknown) => void;
};

/** Somebody else has saved it meanwhile: whose value is each field to have that both have changed? */
export function Conflict({ both, now, names, table, title, onChoose }: ConflictProps) {
  const { orders } = useText();
  const labelOf = useLabels();
  const picked = useQueryClient().getQueriesData<AnyRecord>({ queryKey: ['picked'] });
  const shown = (of: Fields, value: unknown) => {
    const known = [...Object.values(of), ...picked.map(([, record]) => record)] as readonly (AnyRecord | undefined)[];
    const isNamed = (each: AnyRecord | undefined) => each?.id === value || each?.external_id === value;
    const record = typeof value === 'string' && value !== '' ? known.find(isNamed) : undefined;
    return <Value>{valueText(record === undefined ? value : nameOf(record)).slice(0, 60)}</Value>;
  };
  return (
    <Alert color="orange" role="alert" title={title ?? orders.conflict}>
      <Stack gap="xs">
        <Text size="sm">{both.length === 0 ? orders.conflictMerged : orders.conflictChoose}</Text>
        {both.map((each) => {
          const { relationship = '', key = '', field, mine, theirs } = each;
          const part = partsIn(now[relationship]).find((other) => other.key === key);
          const labels = [names.get(key) ?? [], labelOf(field, relationship === '' ? table : undefined)].flat();
          const label = labels.join(' · ');
          return (
            <Group key={label} gap="xs">
              <Text size="sm">
                <Names>{labels}</Names>
              </Text>
              <SegmentedControl
                size="xs"
                aria-label={label}
                value={isSame((part?.fields ?? now)[field], theirs[field]) ? 'theirs' : 'mine'}
                onChange={(whose) => onChoose(each, (whose === 'theirs' ? theirs : mine)[field])}
                data={[
                  { value: 'mine', label: [`${orders.mine} `, shown(mine, mine[field])] },
                  { value: 'theirs', label: [`${orders.theirs} `, shown(theirs, theirs[field])] },
                ]}
              />
            </Group>
          );
        })}
      </Stack>
    </Alert>
  );
}

/**
 * Where a field is now that a message was about: rows may have been added and removed above it.
 * @returns undefined if it has another value since, so that the message no longer holds
 */
function pathNow(then: Fields, now: Fields, path: string): string | undefined {
  let [was, is]: [unknown, unknown] = [then, now];
  const steps = path.split('.').map((step) => {
    if (!Array.isArray(was)) {
      [was, is] = [Object(was)[step], Object(is)[step]];
      return step;
    }
    const [part, list] = [partsIn(was)[Number(step)], partsIn(is)];
    const at = list.findIndex(({ key }) => key === part?.key);
    [was, is] = [part?.fields, list[at]?.fields];
    return String(at);
  });
  const isStill = Array.isArray(was) ? was.length === partsIn(is).length : isSame(was, is);
  return isStill && !steps.includes('-1') ? steps.join('.') : undefined;
}
