-- Hosts that a person allowed for every task of a repository (`/allow host repo`), until `/deny`. Who said so stands in the task's log.
CREATE TABLE grants (
    repository TEXT NOT NULL,
    host       TEXT NOT NULL,
    by_id      BIGINT NOT NULL,
    by_login   TEXT NOT NULL,
    source     TEXT NOT NULL,
    at         BIGINT NOT NULL,
    PRIMARY KEY (repository, host)
);
