-- What was decided about a text where no task is at work: who asked for what, and what was decided. And which task began by which text; what a task decides is in its log.
CREATE TABLE audit (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    repository TEXT NOT NULL,
    -- Key of the text, as in `inputs`.
    key        TEXT NOT NULL,
    at         BIGINT NOT NULL,
    -- Number of the issue or pull request, and where the text stands there (`comment:17`).
    number     BIGINT NOT NULL,
    source     TEXT NOT NULL,
    -- Who wrote it: the forge's id, and the login.
    account    BIGINT NOT NULL,
    login      TEXT NOT NULL,
    -- The command, without its slash.
    command    TEXT NOT NULL,
    outcome    TEXT NOT NULL,
    -- The reason, the host, the command that is run, or the task.
    detail     TEXT NOT NULL,
    UNIQUE (repository, key, outcome, detail)
);
CREATE INDEX audit_at ON audit (at);
