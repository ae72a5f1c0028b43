-- What each model call cost, or was charged for where its answer was lost. `open`: the worst case of a call whose answer is awaited.
CREATE TABLE charges (
    task        BIGINT NOT NULL,
    -- Number of the event that charged it.
    seq         BIGINT NOT NULL,
    turn        BIGINT NOT NULL,
    at          BIGINT NOT NULL,
    repository  TEXT NOT NULL,
    model       TEXT NOT NULL,
    input       BIGINT NOT NULL,
    output      BIGINT NOT NULL,
    cache_read  BIGINT NOT NULL,
    cache_write BIGINT NOT NULL,
    micro_usd   BIGINT NOT NULL,
    open        BOOLEAN NOT NULL,
    PRIMARY KEY (task, seq)
);
CREATE INDEX charges_at ON charges (at);
