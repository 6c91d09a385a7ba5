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
export const TO_VALIDATE: readonly OrderStatus[] = [
  'pending_validation',
  'saved',
  'validated',
  'submit_failed',
  FAILED,
];

/** Orders that validators are done with. */
export const ARCHIVED: readonly OrderStatus[] = ['rejected', 'submitted', 'completed'];

/** An approval needs one of these. */
export const APPROVABLE: readonly OrderStatus[] = ['validated', FAILED];
