-- Commands that people had run on a branch (`/test-pr`), each answered once; no task's.
CREATE TABLE test_runs (
    id         BIGINT PRIMARY KEY,
    repository TEXT NOT NULL,
    -- Number of the issue or pull request where it was asked for, and is answered.
    thread     BIGINT NOT NULL,
    login      TEXT NOT NULL,
    at         BIGINT NOT NULL,
    -- What is run: JSON.
    asked      TEXT NOT NULL,
    -- How often it was begun.
    tries      BIGINT NOT NULL,
    -- What came of it, JSON, and what it printed; nothing before it has ended.
    result     TEXT,
    log        TEXT,
    answered   BOOLEAN NOT NULL
);
CREATE INDEX test_runs_at ON test_runs (repository, at);
