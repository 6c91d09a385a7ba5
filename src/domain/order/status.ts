/** The states of an order (spec §3). */

/** What the API accepts as `processing_status`. */
export const ORDER_STATUSES = [
  'pending_validation',
  'saved',
  'validated',
  'rejected',
  'submitted',
  'submit_failed',
  'completed',
] as const;

/** Set by the service alone: the last delivery attempt of an export failed. */
export const FAILED = 'failed';

export type OrderStatus = (typeof ORDER_STATUSES)[number] | typeof FAILED;

/** What a validator who saves an order may set. */
export const SET_BY_SAVING = ['saved', 'validated'] as const;

/** What a validator has to look at. */
export const TO_VALIDATE: readonly OrderStatus[] = [
  'pending_validation',
  'saved',
  'validated',
  'submit_failed',
  FAILED,
];

/** What has left the validator's hands. */
export const ARCHIVED: readonly OrderStatus[] = ['rejected', 'submitted', 'completed'];

/** An approval needs one of these. */
export const APPROVABLE: readonly OrderStatus[] = ['validated', FAILED];
