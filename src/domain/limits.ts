/**
 * Limits on the work that one request may cause. docs/limits.md says of each what it counts and the answer beyond it; those
 * that an operator sets are in config.ts.
 */

// What comes in: a body, a query.
export const MAX_HEADER_BYTES = 16_384;
/** Of a sign-in or a token request: its sender is not authenticated yet. */
export const CREDENTIALS_BODY_BYTES = 4_096;
/** Of what is neither a record nor a batch, such as a new table of 200 fields. */
export const SETTINGS_BODY_BYTES = 262_144;
export const RECORD_BODY_BYTES = 2_097_152;
export const MAX_JSON_DEPTH = 32;
/** A batch of 103 fields a record fits. Each costs time to parse beside its bytes. */
export const MAX_JSON_VALUES = 105_000;
/** Of one object: a record has MAX_FIELDS and its parts. 100,000 different ones hold the event loop for 100 ms. */
export const MAX_JSON_NAMES = 1_000;
/** Characters of a number: the largest double has 309 digits. */
export const MAX_DIGITS = 1_000;
/** Of all filters together: each is searched in every record. */
export const MAX_FILTER_VALUES = 200;
export const MAX_SORT_TERMS = 10;

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
/** Of one user: all are kept in memory. */
export const MAX_SESSIONS = 50;
/** An order's approval and each of its exports contain them all. */
export const MAX_ORDER_PARTS = 1_000;
/** For reports of the status of orders alone. */
export const REPORTS_BEYOND_QUOTA_PERCENT = 10;

// Pages and other answers.
/** A larger page is refused, as it would fill the memory. */
export const MAX_PAGE_BYTES = 16 * 1024 * 1024;
/**
 * Bytes of an order's document; a record counts once for each reference to it. A page of a history and a piece of an undo have
 * no more either, except for a single entry.
 */
export const MAX_DOCUMENT_BYTES = 4 * 1024 * 1024;
/** Errors in an answer; entries on a page of what is read at a cost: histories, activity, replays, differences. */
export const MAX_ENTRIES = 100;
/** Entries on a page of what is looked up one by one: operations, sync sessions, what operators see. */
export const MAX_SHORT_PAGE = 25;
/** Records that one request writes, names, compares or undoes in one piece. */
export const MAX_RECORDS = 1_000;
/** Events that a page of the activity or of operations looks at, or its CSV has: a batch may be one for each record. */
export const MAX_ACTIVITY_ROWS = 10_000;
/** Of the orders of a page, or of 25 of those in which problems are sought, to count their lines and problems. */
export const MAX_COUNTED_PARTS = 2_000;
/** Orders in which problems are sought. */
export const MAX_COUNTED_ORDERS = 500;
export const MAX_OPENAPI_BYTES = 1_500_000;
/** Of the records that one request changes or names, or of an order's export. */
export const MAX_READ_BYTES = 32 * 1024 * 1024;

// Work at once, of all tenants and of one; the rest waits for its turn.
/** Of one tenant, or of one network before the caller is known. */
export const MAX_REQUESTS_IN_FLIGHT = 512;
export const MAX_PASSWORD_HASHES_WAITING_OF_TENANT = 32;
/** Of one kind: lists, costly reads, large writes. */
export const MAX_WAITING_OF_TENANT = 100;
/** Answers that clients have not received yet: slow readers keep them in memory. */
export const MAX_TENANT_ANSWER_BYTES_IN_FLIGHT = 64 * 1024 * 1024;

// Times.
export const IDEMPOTENCY_KEY_HOURS = 24;
export const OPERATOR_LINK_MINUTES = 10;
export const OPERATOR_SESSION_HOURS = 4;

// Wrong passwords or secrets, at once and in an hour (docs/limits.md#guesses).
export const GUESSES_OF_PASSWORD = 10;
export const GUESSES_OF_SECRET = 20;
export const GUESSES_OF_NETWORK = 100;
export const GUESSES_OF_ACCOUNT = 150;
