/** Deciding on an order and going on to the next, or on many at once. */
import { Button, List, ScrollArea, Text, Textarea } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError, api, bodyOf, dataOf, type Order, type OrderRow } from '../api/client';
import { FormDialog } from '../app/Dialogs';
import { useKeys } from '../app/keys';
import { useText } from '../app/language';
import { Rows } from '../app/Rows';
import { approve, useApproveLater } from './approveLater';
import { rowIn, useProblemText } from './Problems';

/** @param reasons one a line @throws ApiError */
function reject(id: string, reasons: string) {
  const lines = reasons.split('\n').filter((line) => line.trim() !== '');
  const params = { path: { order_id: id } };
  return bodyOf(api.POST('/api/v1/platform/orders/{order_id}/reject', { params, body: { reasons: lines } }));
}

type DecisionProps = {
  readonly order: Order;
  readonly action: 'approve' | 'reject';
  readonly onDone: () => Promise<void>;
  readonly isPending?: boolean;
  /** In place of a decision with a reason: the approval of an order without problems. */
  readonly onSimple?: (() => void) | undefined;
};

/** What has problems is approved with a reason. */
export function Decision({ order, action, onDone, isPending = false, onSimple }: DecisionProps) {
  const { orders, status } = useText();
  const say = useProblemText();
  const approveLater = useApproveLater();
  const [isOpen, setOpen] = useState(false);
  const [reason, setReason] = useState('');
  const isRejection = action === 'reject';
  const start = onSimple ?? (() => setOpen(true));
  const act = async () => {
    if (isRejection) {
      await reject(order.id, reason);
      notifications.show({ message: status.rejected });
    } else approveLater(order, reason);
    setOpen(false);
    await onDone();
  };
  useKeys({ [isRejection ? 'r' : 'a']: start });
  return (
    <>
      <Button {...(isRejection ? { variant: 'default' } : {})} loading={isPending} onClick={start}>
        {isRejection ? orders.reject : orders.approveAndNext}
      </Button>
      {isOpen && (
        <FormDialog
          title={isRejection ? orders.reject : orders.override}
          label={isRejection ? orders.reject : orders.approve}
          act={act}
          onClose={() => setOpen(false)}
          isReady={reason.trim() !== ''}
          {...(isRejection ? { color: 'red' } : {})}
        >
          {() => (
            <>
              <List size="sm">
                {!isRejection &&
                  order.problems.map((one) => <List.Item key={one.field}>{rowIn(one.field) + say(one)}</List.Item>)}
              </List>
              <Textarea
                data-autofocus
                autosize
                minRows={3}
                label={isRejection ? orders.rejectWhy : orders.overrideWhy}
                value={reason}
                onChange={({ currentTarget }) => setReason(currentTarget.value)}
              />
            </>
          )}
        </FormDialog>
      )}
    </>
  );
}

const ACTIONS = ['reject', 'validate', 'approve'] as const;
type Action = (typeof ACTIONS)[number];

/** Requests at once: the ERP's webhook gets them in this order, more or less. */
const AT_ONCE = 4;

type BulkProps = {
  readonly orders: readonly OrderRow[];
  /** Given those with which it was not done. */
  readonly onDone: (left: readonly OrderRow[]) => void;
};

/** Which orders they are is shown first, and then what came of each. */
export function Bulk({ orders, onDone }: BulkProps) {
  const { common, orders: text, status } = useText();
  const say = useProblemText();
  const client = useQueryClient();
  const [action, setAction] = useState<Action | undefined>();
  const [reasons, setReasons] = useState('');
  /** Why each was refused; empty if it was done. */
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, string>>(new Map());
  /** Empty if it was done; else its problems, or the state in which it is. @throws ApiError that is not about this order */
  const refusalOf = async (order: OrderRow, asked: Action): Promise<string> => {
    try {
      await act(asked, order, reasons);
      return '';
    } catch (error) {
      if (!(error instanceof ApiError) || ![404, 409, 422].includes(error.status)) throw error;
      if (error.status === 404) return error.message;
      const params = { path: { order_id: order.id } };
      const { problems, processing_status: state } = await dataOf(
        api.GET('/api/v1/platform/orders/{order_id}', { params }),
      );
      if (problems.length > 0) return problems.map(say).join(' ');
      return state === null ? error.message : status[state];
    }
  };
  const work = useMutation({
    mutationFn: async (asked: Action) => {
      const waiting = [...orders];
      const next = async (): Promise<void> => {
        for (let order = waiting.shift(); order !== undefined; order = waiting.shift()) {
          const [{ id }, outcome] = [order, await refusalOf(order, asked)];
          setOutcomes((present) => new Map(present).set(id, outcome));
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, next));
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['orders'] }),
  });
  const labels = { approve: text.approve, validate: text.markValidated, reject: text.reject };
  const isBegun = !work.isIdle;
  const refused = [...outcomes.values()].filter((outcome) => outcome !== '').length;
  const close = () => {
    if (work.isPending) return;
    if (isBegun) onDone(orders.filter(({ id }) => outcomes.get(id) !== ''));
    setAction(undefined);
    setReasons('');
    setOutcomes(new Map());
    work.reset();
  };
  return (
    <>
      {orders.length > 0 &&
        ACTIONS.map((each) => (
          <Button key={each} variant={each === 'approve' ? 'filled' : 'default'} onClick={() => setAction(each)}>
            {each === 'approve' ? text.approveSelected(orders.length) : labels[each]}
          </Button>
        ))}
      {action !== undefined && (
        <FormDialog
          title={`${labels[action]}: ${orders.length}`}
          label={labels[action]}
          act={() => work.mutateAsync(action)}
          onClose={close}
          isReady={action !== 'reject' || reasons.trim() !== ''}
          isDone={isBegun && !work.isPending}
          color={action === 'reject' ? 'red' : 'indigo'}
          size="lg"
        >
          {() => (
            <>
              {action === 'reject' && !isBegun && (
                <Textarea
                  data-autofocus
                  autosize
                  minRows={2}
                  label={text.rejectWhy}
                  value={reasons}
                  onChange={({ currentTarget }) => setReasons(currentTarget.value)}
                />
              )}
              {isBegun && (
                <Text role="status">
                  {text.doneCount(outcomes.size - refused)}
                  {refused > 0 && ` · ${text.refusedCount(refused)}`}
                </Text>
              )}
              <ScrollArea.Autosize mah="50vh">
                <Rows
                  label={text.one}
                  heads={[text.reference, text.customer, { label: common.status, isText: true }]}
                  rows={orders.map(({ id, customer_reference, customer }) => ({
                    id,
                    cells: [
                      <Link key="1" to="/orders/$orderId" params={{ orderId: id }} target="_blank">
                        <bdi>{customer_reference ?? id.slice(0, 8)}</bdi>
                      </Link>,
                      <bdi key="2">{customer}</bdi>,
                      outcomes.get(id) === '' ? '✓' : outcomes.get(id),
                    ],
                  }))}
                />
              </ScrollArea.Autosize>
            </>
          )}
        </FormDialog>
      )}
    </>
  );
}

/** @throws ApiError */
async function act(action: Action, { id, processing_status: state }: OrderRow, reasons: string): Promise<void> {
  if (action === 'reject') return void (await reject(id, reasons));
  const isReady = action === 'approve' && (state === 'validated' || state === 'failed');
  const body = { processing_status: 'validated' } as object;
  if (!isReady)
    await bodyOf(api.PUT('/api/v1/platform/orders/{order_id}', { params: { path: { order_id: id } }, body }));
  if (action === 'approve') await approve(id);
}
