-- Pictures that a task's conversation shows: of its issue, and those that the agent read. The log names them by their digest.
CREATE TABLE pictures (
    task   BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    -- Length of the body.
    bytes  BIGINT NOT NULL,
    body   BLOB NOT NULL,
    PRIMARY KEY (task, sha256)
);
