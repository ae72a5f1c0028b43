-- An approval given in advance decides several checkpoints: a decision is known by the checkpoint it was used for.
CREATE TABLE decisions_used (
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
    in_advance BOOLEAN NOT NULL,
    PRIMARY KEY (task, n)
);
INSERT INTO decisions_used (task, n, source, number, poster, right_seen, verb, commit_id, base, text_hash, at, in_advance)
    SELECT task, n, source, number, poster, right_seen, verb, commit_id, base, text_hash, at, FALSE FROM decisions;
DROP TABLE decisions;
ALTER TABLE decisions_used RENAME TO decisions;
