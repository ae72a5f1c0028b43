-- What is found by each round of reading and by retention without walking whole tables; and what stays of what was deleted.
DROP INDEX tasks_live;
CREATE INDEX tasks_live ON tasks (repository, id) WHERE live;
CREATE INDEX tasks_branch ON tasks (repository, branch, id);
CREATE INDEX deliveries_handled ON deliveries (handled_at) WHERE handled_at IS NOT NULL;
CREATE INDEX inputs_task ON inputs (task) WHERE task IS NOT NULL;
CREATE INDEX inputs_at ON inputs (at);
CREATE INDEX task_events_blob ON task_events (blob) WHERE blob IS NOT NULL;

-- An ended task goes in two steps: what only its work needed (outbox, keys of its inputs, the router's lines), later all of it.
ALTER TABLE tasks ADD COLUMN trimmed BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX tasks_untrimmed ON tasks (updated_at) WHERE NOT live AND NOT trimmed;
CREATE INDEX tasks_ended ON tasks (updated_at) WHERE NOT live;

-- Numbers count up. Of each kind (`task`, and the kinds of texts on the forge: `opened`, `comment`, `review`) the highest that was
-- deleted: no task gets such a number again, and a text up to it was taken up.
CREATE TABLE floors (
    kind TEXT PRIMARY KEY,
    id   BIGINT NOT NULL
);

-- How many tasks of an issue were deleted: their branches may still stand on the forge, and none is named twice.
CREATE TABLE retired (
    repository TEXT NOT NULL,
    issue      BIGINT NOT NULL,
    tasks      BIGINT NOT NULL,
    PRIMARY KEY (repository, issue)
);

-- A model call that was charged before it went out, and is known to have cost nothing: its next try is charged no second time.
ALTER TABLE effects ADD COLUMN held BOOLEAN NOT NULL DEFAULT FALSE;
