/**
 * Limits on the work that one request may cause. docs/limits.md says of each what it counts and the answer beyond it; those
 * that an operator sets are in config.ts.
 */

// What comes in: a body, a query, a name that a message repeats.
export const MAX_HEADER_BYTES = 16_384;
/** Of a sign-in or a token request: its sender is not authenticated yet. */
export const CREDENTIALS_BODY_BYTES = 4_096;
/** Of what is neither a record nor a batch, such as a new table of 200 fields. */
export const SETTINGS_BODY_BYTES = 262_144;
export const RECORD_BODY_BYTES = 2_097_152;
export const MAX_JSON_DEPTH = 32;
/** 1,000 items of 204 fields fit. Each costs time to parse beside its bytes. */
export const MAX_JSON_VALUES = 210_000;
/** Characters of a number: the largest double has 309 digits. */
export const MAX_DIGITS = 1_000;
/** Of all filters together: each is searched in every record. */
export const MAX_FILTER_VALUES = 200;
export const MAX_SORT_TERMS = 10;
export const MAX_BATCH_ITEMS = 1_000;
export const MAX_ERRORS = 100;
export const MAX_SHOWN_NAME = 64;

// Values in a body, in characters, entries or bytes of JSON.
export const MAX_STRING_LENGTH = 255;
export const MAX_LONG_TEXT_LENGTH = 65_535;
export const MAX_URL_LENGTH = 2_048;
export const MAX_REASON_LENGTH = 1_000;
/** Of an array without a limit of its own: roles, scopes, kinds of event, error reasons. */
export const MAX_LIST_ENTRIES = 100;
/** Of a list field of a record, or of the custom_data of a webhook: lists and bodies repeat them. */
export const MAX_VALUE_BYTES = 65_536;

// What a tenant can have, the standard tables and fields included.
export const MAX_TABLES = 200;
export const MAX_FIELDS = 200;
export const MAX_WEBHOOKS = 100;
export const MAX_CLIENTS = 500;
export const MAX_USERS = 5_000;
/** An order's approval and each of its exports contain them all. */
export const MAX_ORDER_PARTS = 1_000;
/** A record counts for each reference to it. */
export const MAX_ORDER_DOCUMENT = 4 * 1024 * 1024;
/** For reports of the status of orders alone. */
export const REPORTS_BEYOND_QUOTA_PERCENT = 10;

// Pages and other answers.
/** A larger page is refused, as it would fill the memory. */
export const MAX_PAGE_BYTES = 16 * 1024 * 1024;
/** A page of a history, or a piece of an undo, ends before it would have more, with at least one entry. */
export const MAX_HISTORY_PAGE_BYTES = 4 * 1024 * 1024;
/** Entries on a page of what is read at a cost: histories, activity, replays, differences. */
export const MAX_ENTRIES = 100;
/** Entries on a page of what is looked up one by one: operations, sync sessions, what operators see. */
export const MAX_SHORT_PAGE = 25;
/** Records that one request names, compares or undoes in one piece. */
export const MAX_RECORDS = 1_000;
/** Events that a page of the activity or of operations looks at, or its CSV has: a batch may be one for each record. */
export const MAX_ACTIVITY_ROWS = 10_000;
export const MAX_OPENAPI_BYTES = 1_500_000;
/** Bytes of a stream's events that are read at once, with the event that reaches them. */
export const READ_SLICE_BYTES = 1_000_000;
/** Of the records that one request changes or names, or of an order's export. */
export const MAX_READ_BYTES = 32 * 1024 * 1024;

// Work at once, of all tenants and of one; the rest waits for its turn.
/** Of one tenant, or of one network before the caller is known. */
export const MAX_REQUESTS_IN_FLIGHT = 512;
export const COSTLY_READS_AT_ONCE = 4;
export const COSTLY_READS_OF_TENANT = 2;
/** Bytes of a body from which a write is large. */
export const LARGE_WRITE_BYTES = 16_384;
export const LARGE_WRITES_AT_ONCE = 12;
export const LARGE_WRITES_OF_TENANT = 4;
export const MAX_PASSWORD_HASHES_WAITING_OF_TENANT = 32;
/** Of one kind: lists, costly reads, large writes. */
export const MAX_WAITING_OF_TENANT = 100;
/** Answers that clients have not received yet: slow readers keep them in memory. */
export const MAX_TENANT_ANSWER_BYTES_IN_FLIGHT = 64 * 1024 * 1024;
/** Beyond it, only tenants with nothing in flight are answered. */
export const MAX_ANSWER_BYTES_IN_FLIGHT = 256 * 1024 * 1024;
export const MAX_ANSWER_MS = 120_000;

// Times.
export const IDEMPOTENCY_KEY_HOURS = 24;
/** Longer than any token is valid. */
export const KEY_OVERLAP_HOURS = 25;
export const OPERATOR_LINK_MINUTES = 10;
export const OPERATOR_SESSION_HOURS = 4;

// Wrong passwords or secrets, at once and in an hour (docs/limits.md#guesses).
export const GUESSES_OF_PASSWORD = 10;
export const GUESSES_OF_SECRET = 20;
export const GUESSES_OF_NETWORK = 100;
export const GUESSES_OF_ACCOUNT = 150;
