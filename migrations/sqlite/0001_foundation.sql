-- What is kept. Instants are Unix milliseconds; bodies are JSON text; anything over 4 KB stands in `blobs` and is named by its digest.
-- The same text runs on PostgreSQL but for AUTOINCREMENT and BLOB (docs/development.md).

-- One webhook arrival, stored before it is answered. Nothing here is believed: it only wakes the reader.
CREATE TABLE deliveries (
    uuid        TEXT PRIMARY KEY,
    repository  TEXT NOT NULL,
    event_type  TEXT NOT NULL,
    body        BLOB NOT NULL,
    received_at BIGINT NOT NULL,
    handled_at  BIGINT
);
CREATE INDEX deliveries_open ON deliveries (received_at) WHERE handled_at IS NULL;

-- Every input that was ever taken up. The key makes it happen once.
CREATE TABLE inputs (
    key  TEXT PRIMARY KEY,
    task BIGINT,
    at   BIGINT NOT NULL
);

-- The projection people ask for; the truth is `task_events`.
CREATE TABLE tasks (
    id         BIGINT PRIMARY KEY,
    repository TEXT NOT NULL,
    issue      BIGINT NOT NULL,
    pull       BIGINT,
    branch     TEXT NOT NULL,
    kind       TEXT NOT NULL,
    title      TEXT NOT NULL,
    asker      TEXT NOT NULL,
    state      TEXT NOT NULL,
    live       BOOLEAN NOT NULL,
    seq        BIGINT NOT NULL,
    attempt    BIGINT NOT NULL,
    owner      TEXT NOT NULL,
    epoch      BIGINT NOT NULL,
    micro_usd  BIGINT NOT NULL,
    tokens     BIGINT NOT NULL,
    actions    BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX tasks_live ON tasks (live, id);
CREATE INDEX tasks_issue ON tasks (repository, issue);

CREATE TABLE task_events (
    task    BIGINT NOT NULL,
    seq     BIGINT NOT NULL,
    at      BIGINT NOT NULL,
    kind    TEXT NOT NULL,
    version BIGINT NOT NULL,
    body    TEXT,
    blob    TEXT,
    PRIMARY KEY (task, seq)
);

-- The outbox. pending -> started(epoch) -> done | failed | dropped.
CREATE TABLE effects (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    task       BIGINT NOT NULL,
    key        TEXT NOT NULL,
    kind       TEXT NOT NULL,
    lane       TEXT NOT NULL,
    body       TEXT NOT NULL,
    state      TEXT NOT NULL,
    epoch      BIGINT,
    tries      BIGINT NOT NULL DEFAULT 0,
    not_before BIGINT NOT NULL DEFAULT 0,
    trouble    TEXT,
    created_at BIGINT NOT NULL,
    closed_at  BIGINT,
    UNIQUE (task, key)
);
CREATE INDEX effects_open ON effects (task, lane, id) WHERE state IN ('pending', 'started');

CREATE TABLE blobs (
    sha256 TEXT PRIMARY KEY,
    body   BLOB NOT NULL
);

-- One line for each action: what went in, what came out, what it cost.
CREATE TABLE actions (
    task        BIGINT NOT NULL,
    number      BIGINT NOT NULL,
    turn        BIGINT NOT NULL,
    kind        TEXT NOT NULL,
    input       TEXT NOT NULL,
    output      TEXT,
    status      TEXT,
    exit_code   BIGINT,
    duration_ms BIGINT,
    tokens      BIGINT NOT NULL,
    micro_usd   BIGINT NOT NULL,
    started_at  BIGINT NOT NULL,
    finished_at BIGINT,
    PRIMARY KEY (task, number)
);

CREATE TABLE checkpoints (
    task       BIGINT NOT NULL,
    n          BIGINT NOT NULL,
    commit_id  TEXT,
    review     BIGINT NOT NULL,
    number     BIGINT NOT NULL,
    last       BOOLEAN NOT NULL,
    posted_at  BIGINT NOT NULL,
    PRIMARY KEY (task, n)
);

CREATE TABLE decisions (
    task       BIGINT NOT NULL,
    n          BIGINT NOT NULL,
    source     TEXT NOT NULL,
    number     BIGINT NOT NULL,
    poster     TEXT NOT NULL,
    right_seen TEXT NOT NULL,
    verb       TEXT NOT NULL,
    commit_id  TEXT,
    base       TEXT,
    text_hash  TEXT NOT NULL,
    at         BIGINT NOT NULL,
    PRIMARY KEY (task, source)
);

-- Ids of what the bot posted, by effect key: found again without reading anybody's text.
CREATE TABLE posts (
    task     BIGINT NOT NULL,
    key      TEXT NOT NULL,
    forge_id BIGINT NOT NULL,
    PRIMARY KEY (task, key)
);

-- How far each repository has been read, by the forge's clock.
CREATE TABLE watermarks (
    repository TEXT PRIMARY KEY,
    at         BIGINT NOT NULL
);

-- What the router let through or refused, for each task.
CREATE TABLE egress (
    task BIGINT NOT NULL,
    seq  BIGINT NOT NULL,
    at   BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (task, seq)
);

-- One row for each process life of the bot.
CREATE TABLE epochs (
    epoch      INTEGER PRIMARY KEY AUTOINCREMENT,
    started_at BIGINT NOT NULL
);
