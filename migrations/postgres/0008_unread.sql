-- Issues and pull requests whose last reading failed: read again by themselves, so that none of them holds up its repository.
CREATE TABLE unread (
    repository TEXT NOT NULL,
    number     BIGINT NOT NULL,
    at         BIGINT NOT NULL,
    PRIMARY KEY (repository, number)
);
-- Under which name a repository was seen last. It is known by its id; the key is the configuration's.
CREATE TABLE addresses (
    repository TEXT PRIMARY KEY,
    forge_id   BIGINT NOT NULL,
    owner      TEXT NOT NULL,
    name       TEXT NOT NULL
);
