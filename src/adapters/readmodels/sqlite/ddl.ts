/** The tables that all tenants share. */

/** The `copy` of served rows; those of a rebuild have its id, discarded ones `-id`. */
export const LIVE = 0;

/** Stands for "no batch id" in the batches of records. */
export const NO_BATCH = 0;

/** Columns of the shared table for the fields of a small one. */
export const SMALL_CELLS = 24;

const CELLS = Array.from({ length: SMALL_CELLS }, (_, index) => `v${index}`);

export const SHARED_TABLES = `
  CREATE TABLE checkpoints (projection TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;
  -- At most one row: the furthest event that was projected, by which the log is known again.
  CREATE TABLE log_anchor (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    log TEXT,
    position INTEGER NOT NULL,
    event_id TEXT
  );

  -- A row for each tenant whose part of a projection is parked.
  CREATE TABLE parked (
    tenant TEXT NOT NULL,
    projection TEXT NOT NULL,
    checkpoint INTEGER NOT NULL,
    position INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    error TEXT NOT NULL,
    since TEXT NOT NULL,
    retry_asked INTEGER NOT NULL,
    PRIMARY KEY (tenant, projection)
  ) WITHOUT ROWID;

  -- A row for each event that is applied beyond its projection's checkpoint, whole or (\`pieces\`) so many pieces of it.
  CREATE TABLE out_of_order (
    projection TEXT NOT NULL,
    position INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    pieces INTEGER,
    PRIMARY KEY (projection, position)
  ) WITHOUT ROWID;

  -- One row for each table of records; \`made\` is 1 from its first record on. The tables of a large one: r<id> has the columns
  -- to sort and filter by, d<id> the documents (apart, as they are long), b<id> the batches (apart, as each sync changes them),
  -- r<id>_t<n> the trigrams. A small one has its rows in small_records, small_docs and small_batches. \`cleaned_up\`
  -- is 1 once a clean-up has come: cleaned_up_records may have records of it.
  CREATE TABLE catalog (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    copy INTEGER NOT NULL,
    asset_type TEXT NOT NULL,
    layout TEXT NOT NULL,
    -- Count the changes of asset_type, and of the records.
    version INTEGER NOT NULL DEFAULT 1,
    changes INTEGER NOT NULL DEFAULT 0,
    made INTEGER NOT NULL DEFAULT 0,
    cleaned_up INTEGER NOT NULL DEFAULT 0,
    small INTEGER NOT NULL DEFAULT 0,
    row_count INTEGER NOT NULL DEFAULT 0,
    next_row INTEGER NOT NULL DEFAULT 1,
    revision INTEGER NOT NULL DEFAULT -1,
    last_event_at TEXT NOT NULL DEFAULT '',
    UNIQUE (tenant, name, copy)
  );
  -- The rows of small tables; \`owner\` is the table's id. v0 to v${SMALL_CELLS - 1} have the values of its columns, in their order.
  CREATE TABLE small_records (
    owner INTEGER NOT NULL,
    row INTEGER NOT NULL,
    id BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    u TEXT,
    ${CELLS.join(', ')},
    PRIMARY KEY (owner, row)
  ) WITHOUT ROWID;
  CREATE UNIQUE INDEX small_records_id ON small_records (owner, id);
  CREATE UNIQUE INDEX small_records_u ON small_records (owner, u) WHERE u IS NOT NULL;
  CREATE TABLE small_docs (
    owner INTEGER NOT NULL,
    row INTEGER NOT NULL,
    width INTEGER NOT NULL,
    doc TEXT NOT NULL,
    -- No table WITHOUT ROWID: it keeps about 1,000 bytes of a row in place, and documents may be longer.
    UNIQUE (owner, row)
  );
  CREATE TABLE small_batches (
    owner INTEGER NOT NULL,
    row INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    PRIMARY KEY (owner, row)
  ) WITHOUT ROWID;

  -- Records that clean-ups deleted: of each id the last one. \`revision\` and \`at\` are those of the clean-up.
  CREATE TABLE cleaned_up_records (
    row INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL,
    u TEXT NOT NULL,
    id BLOB NOT NULL,
    revision INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    width INTEGER NOT NULL,
    doc TEXT NOT NULL,
    at TEXT NOT NULL,
    UNIQUE (owner, id)
  );
  CREATE INDEX cleaned_up_records_u ON cleaned_up_records (owner, u);
  CREATE INDEX cleaned_up_records_revision ON cleaned_up_records (owner, revision, id);

  -- Which events concern a record of a reference table: it was created, changed or deleted by the one with this revision. Of a
  -- part, in whose stream they are: the order's id.
  CREATE TABLE record_events (
    owner INTEGER NOT NULL,
    id BLOB NOT NULL,
    event NOT NULL,
    PRIMARY KEY (owner, id, event)
  ) WITHOUT ROWID;

  -- The latest changed or deleted rows of large tables, by their table's \`changes\`. Row 0 stands for all rows.
  CREATE TABLE changed_rows (
    owner INTEGER NOT NULL,
    change INTEGER NOT NULL,
    row INTEGER NOT NULL,
    PRIMARY KEY (owner, change, row)
  ) WITHOUT ROWID;

  -- Batch ids as numbers, as a sync writes one for every record.
  CREATE TABLE batches (id INTEGER PRIMARY KEY, batch TEXT NOT NULL UNIQUE);

  CREATE TABLE histories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    copy INTEGER NOT NULL,
    UNIQUE (tenant, copy)
  );
  CREATE TABLE history_entries (
    history INTEGER NOT NULL,
    order_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    entry TEXT NOT NULL,
    -- No table WITHOUT ROWID: it keeps about 1,000 bytes of a row in place, and entries are longer.
    UNIQUE (history, order_id, revision)
  );

  -- One row for each tenant's delivery log, for each webhook of a log, and for each delivery to it.
  CREATE TABLE delivery_logs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    copy INTEGER NOT NULL,
    UNIQUE (tenant, copy)
  );
  CREATE TABLE delivery_webhooks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    log INTEGER NOT NULL,
    webhook TEXT NOT NULL,
    last_success_at TEXT,
    failing_since TEXT,
    UNIQUE (log, webhook)
  );
  CREATE TABLE deliveries (
    row INTEGER PRIMARY KEY,
    log INTEGER NOT NULL,
    id TEXT NOT NULL,
    webhook INTEGER NOT NULL,
    position INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    state TEXT NOT NULL,
    kind TEXT NOT NULL,
    order_id TEXT,
    sequence INTEGER NOT NULL,
    requested_at INTEGER NOT NULL,
    ended_at INTEGER,
    entry TEXT NOT NULL,
    UNIQUE (log, id)
  );
  -- The columns behind the position are tested without the row.
  CREATE INDEX deliveries_webhook ON deliveries (webhook, position, requested_at, kind);
  CREATE INDEX deliveries_state ON deliveries (webhook, state, position, requested_at, kind);
  CREATE INDEX deliveries_order ON deliveries (webhook, order_id, position) WHERE order_id IS NOT NULL;
  CREATE INDEX deliveries_replay ON deliveries (log, order_id, sequence, position) WHERE order_id IS NOT NULL;
  CREATE INDEX deliveries_ended ON deliveries (ended_at) WHERE ended_at IS NOT NULL;

  -- One row for each tenant's activity, and for each entry of it. Texts are numbers here (shared/activity.ts).
  CREATE TABLE activities (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    copy INTEGER NOT NULL,
    UNIQUE (tenant, copy)
  );
  CREATE TABLE activity_entries (
    row INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL,
    at INTEGER NOT NULL,
    position INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    correlation INTEGER NOT NULL,
    subject INTEGER,
    order_id INTEGER,
    kind INTEGER NOT NULL,
    actor INTEGER NOT NULL,
    table_name INTEGER,
    entry TEXT NOT NULL
  );
  CREATE UNIQUE INDEX activity_time ON activity_entries (owner, at, position, revision);
  CREATE INDEX activity_correlation ON activity_entries (owner, correlation, at, position, revision);
  CREATE INDEX activity_subject ON activity_entries (owner, subject, at, position, revision) WHERE subject IS NOT NULL;
  CREATE INDEX activity_order_id ON activity_entries (owner, order_id, at, position, revision) WHERE order_id IS NOT NULL;
  CREATE INDEX activity_kind ON activity_entries (owner, kind, at, position, revision);
  CREATE INDEX activity_actor ON activity_entries (owner, actor, at, position, revision);
  CREATE INDEX activity_table_name ON activity_entries (owner, table_name, at, position, revision)
    WHERE table_name IS NOT NULL;

  CREATE TABLE rebuilds (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    projection TEXT NOT NULL,
    position INTEGER NOT NULL,
    touched_at INTEGER NOT NULL
  );
`;
