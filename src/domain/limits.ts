/**
 * Limits on the work that one request may cause; docs/limits.md lists them all, with the answer beyond each.
 * Limits that an operator sets are in config.ts.
 */

/** Errors that one answer lists; it says how many more there are. */
export const MAX_ERRORS = 100;

/** Bytes of the records or entries on one page of a list: a larger page is refused, as it would fill the memory. */
export const MAX_PAGE_BYTES = 16 * 1024 * 1024;
/** Bytes of the entries on one page of an order's history: the page ends before it would have more, with at least one entry. */
export const MAX_HISTORY_PAGE_BYTES = 4 * 1024 * 1024;

/** Customers by whose names one search finds orders. */
export const MAX_SEARCHED_CUSTOMERS = 200;

/** Bytes of a stream's events that are read at once, with the event that reaches them. */
export const READ_SLICE_BYTES = 1_000_000;
/** Bytes of the records that one decision reads, such as those that a batch names. */
export const MAX_DECISION_BYTES = 32 * 1024 * 1024;
/** Characters of a name from outside that a message repeats; longer names would be repeated with every error. */
export const MAX_SHOWN_NAME = 64;

/** Objects and arrays within each other in a JSON body; no operation needs more than four. */
export const MAX_JSON_DEPTH = 32;
/** Values in a JSON body, including objects and arrays: they cost time to parse beside the bytes. 1,000 items of 204 fields fit. */
export const MAX_JSON_VALUES = 210_000;

/** Characters of a number in a JSON body. A double holds 17 digits. */
export const MAX_DIGITS = 1_000;

/** Bytes of a sign-in or a token request: its sender is not authenticated yet. */
export const CREDENTIALS_BODY_BYTES = 4_096;
/** Bytes of a body of the platform API other than a record, such as a new table of 200 fields. */
export const SETTINGS_BODY_BYTES = 262_144;
/** Bytes of a body with one record; no event holds more than half of it. */
export const RECORD_BODY_BYTES = 2_097_152;

/** Bodies over LARGE_WRITE_BYTES in work: each takes several times its size in memory. Further ones wait, unread. */
export const LARGE_BODIES_AT_ONCE = 16;
/** The same of one tenant. */
export const LARGE_BODIES_OF_TENANT = 8;

/** Costly reads and undos at once: documents of orders, pages of operations and histories. */
export const COSTLY_READS_AT_ONCE = 4;
/** The same of one tenant. */
export const COSTLY_READS_OF_TENANT = 2;
/** Bytes of a body from which a write is large. */
export const LARGE_WRITE_BYTES = 16_384;
/** Large writes that are in work, or not shown by reads yet. */
export const LARGE_WRITES_AT_ONCE = 8;
/** The same of one tenant. */
export const LARGE_WRITES_OF_TENANT = 4;
/** Requests of one tenant that wait for a turn of one kind: costly reads, large bodies, large writes, lists. */
export const MAX_WAITING_OF_TENANT = 100;

/** Percent of its quota of the log that a tenant may use beyond it, for reports of the status of orders alone. */
export const REPORTS_BEYOND_QUOTA_PERCENT = 10;

/** Items of one batch (spec §8). */
export const MAX_BATCH_ITEMS = 1_000;
/** Characters of these differences as JSON; beyond it fewer are shown, but at least one. */
export const MAX_DIFFERENCE_CHARACTERS = 1_048_576;
/** The same in an answer as CSV. */
export const MAX_ACTIVITY_CSV = 10_000;
/** Events that a page of entries or of operations looks at: a batch may be one for each of its records. */
export const MAX_ACTIVITY_ROWS = 20_000;
/** Entries of an array in a body that has no limit of its own: roles, scopes, kinds of event, error reasons. */
export const MAX_LIST_ENTRIES = 100;

/** Characters of a String field without a shorter limit of its own. */
export const MAX_STRING_LENGTH = 255;
/** Characters of a LongText field without a shorter limit of its own. */
export const MAX_LONG_TEXT_LENGTH = 65_535;
/** Characters of an e-mail address (RFC 3696, erratum 1690). */
export const MAX_EMAIL_LENGTH = 320;
/** Characters of a password: each is hashed. */
export const MAX_PASSWORD_LENGTH = 200;
/** Characters of a webhook's URL. */
export const MAX_URL_LENGTH = 2_048;
/** Characters of one reason of a rejection. */
export const MAX_REASON_LENGTH = 1_000;

/** Tables of a tenant, including the standard ones. */
export const MAX_TABLES = 200;
/** Fields of a table, including the standard ones. */
export const MAX_FIELDS = 200;
/** Webhooks of a tenant; an event is sent to each that subscribes to it. */
export const MAX_WEBHOOKS = 100;
/** API clients of a tenant. */
export const MAX_CLIENTS = 500;
/** Users of a tenant. */
export const MAX_USERS = 5_000;
/** Lines, consignments, goods and charges of an order: its approval and each of its exports contain them all. */
export const MAX_ORDER_PARTS = 1_000;

/** Deliveries in such a step: an event may lead to hundreds, and each holds the answers to its attempts. */
export const MAX_STEP_DELIVERIES = 20;
/** Events of an order and of its deliveries in one export: each has a file, and one for its proof. */
export const MAX_EXPORT_EVENTS = 10_000;
/** Bytes of an export over the API. */
export const MAX_EXPORT_BYTES = 33_554_432;

/** Bytes of a request's URL and header fields together. */
export const MAX_HEADER_BYTES = 16_384;
/** Hours for which an Idempotency-Key stands for the request that used it. */
export const IDEMPOTENCY_KEY_HOURS = 24;
/** Hours for which a sync session takes batches and can be committed. */
export const SYNC_HOURS = 24;
/** Keys of items in refused batches of a sync session that are remembered; with more of them it cannot be committed. */
export const MAX_REFUSED_KEYS = 50_000;
/** Parameters of a query. */
export const MAX_QUERY_PARAMETERS = 100;
/** Fields by which a list is filtered. */
export const MAX_FILTERS = 20;
/** Values of one filter. */
export const MAX_VALUES_OF_FILTER = 100;
/** Values of all filters of a list together: each is searched in every record. */
export const MAX_FILTER_VALUES = 200;
/** Fields by which a list is sorted. */
export const MAX_SORT_TERMS = 10;

/** Bytes of the tables in an OpenAPI document; beyond it, clients have to ask for some of the tables. */
export const MAX_OPENAPI_BYTES = 1_500_000;

/** Characters of an order with its parts and the records that they refer to; a record is counted for each reference. */
export const MAX_ORDER_DOCUMENT = 4 * 1024 * 1024;

/** Bytes of answers that clients of one tenant have not received yet: slow readers keep them in memory. */
export const MAX_TENANT_ANSWER_BYTES_IN_FLIGHT = 64 * 1024 * 1024;

/** The same for all tenants; beyond it, only tenants with nothing in flight are answered. */
export const MAX_ANSWER_BYTES_IN_FLIGHT = 256 * 1024 * 1024;

/** Milliseconds in which a client has to receive an answer. */
export const MAX_ANSWER_MS = 120_000;
/** Hashes of passwords that wait for their turn, of all tenants. */
export const MAX_PASSWORD_HASHES_WAITING = 128;
/** Hashes of passwords that wait for their turn, of one tenant. */
export const MAX_PASSWORD_HASHES_WAITING_OF_TENANT = 32;

/** Hours for which a key verifies tokens after another one signs them: longer than any token is valid. */
export const KEY_OVERLAP_HOURS = 25;

/** Minutes for which the link of "dynamic-assets console" opens a session, once. */
export const OPERATOR_LINK_MINUTES = 10;
/** Hours of an operator's session; there is no way to make it longer but another link. */
export const OPERATOR_SESSION_HOURS = 4;
/** Those that are remembered after their end. */
export const KEPT_OPERATOR_WORK = 20;

/** Wrong passwords for one user from one network, at once and in an hour. */
export const GUESSES_OF_PASSWORD = 10;
/** The same of secrets, for one API client. */
export const GUESSES_OF_SECRET = 20;
/** Wrong passwords or secrets from one network, at once and in an hour. */
export const GUESSES_OF_NETWORK = 100;
/** The same for one account, from networks without a successful sign-in. */
export const GUESSES_OF_ACCOUNT = 150;

/** Entries on a page of what is read at a cost: histories, the activity, replays, differences, summaries. Also orders that one request approves. */
export const MAX_ENTRIES = 100;
/** Entries on a page of what is looked up entry by entry: operations, sync sessions, what operators see. */
export const MAX_SHORT_PAGE = 25;
/** Records that one request names, compares, undoes in one piece, or looks at for problems. */
export const MAX_RECORDS = 1_000;
/** Parts of orders, such as lines, that are checked for one page of summaries or of a replay. */
export const MAX_CHECKED_PARTS = 10_000;
/** Bytes of a list field of a record, or of the custom_data of a webhook, as JSON: lists and bodies repeat them. */
export const MAX_VALUE_BYTES = 65_536;
/** Characters of the records in one piece of an undo, or of the events that a page of the log looks at. */
export const MAX_READ_CHARACTERS = 8_388_608;
