/** Approving and rejecting one order, and going on to the next. */
import { Alert, Button, Checkbox, Group, List, Modal, Stack, Textarea } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, api, bodyOf, type Order } from '../api/client';
import { FormDialog } from '../app/Dialogs';
import { useKeys } from '../app/keys';
import { useText } from '../app/language';
import { Problem } from '../app/Page';
import { approve as approveNow } from './approveLater';

type Props = { readonly order: Order; readonly onDone: () => Promise<void> };

type ApproveProps = Props & {
  readonly isPending: boolean;
  /** Of an order without problems. */
  readonly onApprove: () => void;
};

/** What has problems is approved with a reason, and is sent at once. */
export function Approve({ order, onDone, isPending, onApprove }: ApproveProps) {
  const text = useText();
  const [isOverriding, setOverriding] = useState(false);
  const [reason, setReason] = useState('');
  const approve = useMutation({
    mutationFn: () => approveNow(order.id, isOverriding ? { override: true, reason } : {}),
    onSuccess: async () => {
      notifications.show({ color: 'green', message: text.orders.approved });
      await onDone();
    },
  });
  const hasProblems = order.problems.length > 0 && order.actions.includes('approve');
  const [isOpen, setOpen] = useState(false);
  const start = () => (hasProblems ? setOpen(true) : onApprove());
  useKeys({ a: start });
  // Problems may have come up since the order was read.
  const refused = approve.error instanceof ApiError && approve.error.status === 422 ? approve.error : undefined;
  return (
    <>
      <Button loading={isPending || approve.isPending} onClick={start}>
        {text.orders.approveAndNext}
      </Button>
      <Modal
        opened={isOpen || approve.error !== null}
        onClose={() => {
          setOpen(false);
          approve.reset();
        }}
        title={text.orders.approve}
      >
        <Stack>
          {approve.error !== null && <Problem error={approve.error} />}
          {hasProblems && refused === undefined && (
            <Alert color="orange" title={text.orders.problems}>
              <List size="sm">
                {order.problems.map(({ field, message }) => (
                  <List.Item key={field}>{message}</List.Item>
                ))}
              </List>
            </Alert>
          )}
          {(hasProblems || refused !== undefined) && (
            <>
              <Checkbox
                label={text.orders.override}
                checked={isOverriding}
                onChange={({ currentTarget }) => setOverriding(currentTarget.checked)}
              />
              <Textarea
                label={text.orders.overrideWhy}
                required={isOverriding}
                disabled={!isOverriding}
                value={reason}
                onChange={({ currentTarget }) => setReason(currentTarget.value)}
              />
              <Group justify="flex-end">
                <Button
                  disabled={!isOverriding || reason === ''}
                  loading={approve.isPending}
                  onClick={() => approve.mutate()}
                >
                  {text.orders.approve}
                </Button>
              </Group>
            </>
          )}
        </Stack>
      </Modal>
    </>
  );
}

/** @param reasons one a line @throws ApiError */
export function reject(id: string, reasons: string) {
  const lines = reasons.split('\n').filter((line) => line.trim() !== '');
  const params = { path: { order_id: id } };
  return bodyOf(api.POST('/api/v1/platform/orders/{order_id}/reject', { params, body: { reasons: lines } }));
}

export function Reject({ order, onDone }: Props) {
  const text = useText();
  const [isOpen, setOpen] = useState(false);
  const [reasons, setReasons] = useState('');
  const act = async () => {
    await reject(order.id, reasons);
    setOpen(false);
    notifications.show({ message: text.orders.rejected });
    await onDone();
  };
  useKeys({ r: () => setOpen(true) });
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        {text.orders.reject}
      </Button>
      {isOpen && (
        <FormDialog
          title={text.orders.reject}
          label={text.orders.reject}
          act={act}
          onClose={() => setOpen(false)}
          isReady={reasons.trim() !== ''}
          color="red"
        >
          {() => (
            <Textarea
              data-autofocus
              autosize
              minRows={3}
              label={text.orders.rejectWhy}
              value={reasons}
              onChange={({ currentTarget }) => setReasons(currentTarget.value)}
            />
          )}
        </FormDialog>
      )}
    </>
  );
}
