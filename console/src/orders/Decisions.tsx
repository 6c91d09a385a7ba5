/** Approving and rejecting one order, and going on to the next. */
import { Button, List, Textarea } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { api, bodyOf, type Order } from '../api/client';
import { FormDialog } from '../app/Dialogs';
import { useKeys } from '../app/keys';
import { useText } from '../app/language';
import { useApproveLater } from './approveLater';
import { useProblemText } from './Problems';

/** @param reasons one a line @throws ApiError */
export function reject(id: string, reasons: string) {
  const lines = reasons.split('\n').filter((line) => line.trim() !== '');
  const params = { path: { order_id: id } };
  return bodyOf(api.POST('/api/v1/platform/orders/{order_id}/reject', { params, body: { reasons: lines } }));
}

type Props = {
  readonly order: Order;
  readonly action: 'approve' | 'reject';
  readonly onDone: () => Promise<void>;
  readonly isPending?: boolean;
  /** In place of a decision with a reason: the approval of an order without problems. */
  readonly onSimple?: (() => void) | undefined;
};

/** What has problems is approved with a reason. */
export function Decision({ order, action, onDone, isPending = false, onSimple }: Props) {
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
                  order.problems.map((problem) => <List.Item key={problem.field}>{say(problem)}</List.Item>)}
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
