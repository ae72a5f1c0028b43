-- Repositories that every host works for, as `caisson repo add` put them here. One that was taken out leaves its key and generation: the
-- next entry of that key has a higher one.
CREATE TABLE repositories (
    key        TEXT PRIMARY KEY,
    -- A versioned JSON document; empty for one that was taken out.
    document   TEXT NOT NULL,
    -- The hook's secrets, sealed with a key that is not in the database; key, generation and document are authenticated with them.
    sealed     BYTEA NOT NULL,
    -- Rises by 1 with each writing.
    generation BIGINT NOT NULL,
    -- Unix milliseconds of the writing host's clock, and that host as it names itself.
    written_at BIGINT NOT NULL,
    written_by TEXT NOT NULL
);
