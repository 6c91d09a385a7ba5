/** The states of an order (spec §3). */

/** The values that the API accepts as `processing_status`. */
export const ORDER_STATUSES = [
  'pending_validation',
  'saved',
  'validated',
  'rejected',
  'submitted',
  'submit_failed',
  'completed',
] as const;

/** Set only by the service: the last delivery attempt of an export failed. */
export const FAILED = 'failed';

export type OrderStatus = (typeof ORDER_STATUSES)[number] | typeof FAILED;

/** A validator who saves an order may set these. */
export const SET_BY_SAVING = ['saved', 'validated'] as const;

/** Orders that validators work on. */
const TO_VALIDATE: readonly OrderStatus[] = ['pending_validation', 'saved', 'validated', 'submit_failed', FAILED];

/** What people do with an order, and the states in which they may. */
export const ACTIONS = {
  save: [...TO_VALIDATE, 'rejected'],
  approve: ['validated', FAILED],
  reject: TO_VALIDATE,
} satisfies { readonly [action: string]: readonly OrderStatus[] };
type OrderAction = keyof typeof ACTIONS;

export const mayBe = (action: OrderAction, status: OrderStatus): boolean =>
  (ACTIONS[action] as readonly OrderStatus[]).includes(status);

export const actionsOn = (status: OrderStatus): readonly OrderAction[] =>
  (['save', 'approve', 'reject'] as const).filter((action) => mayBe(action, status));
