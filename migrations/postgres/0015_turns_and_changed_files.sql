-- When a person's work in a repository was given a slot last: who had none for longest is next.
CREATE TABLE turns (
    repository TEXT NOT NULL,
    person     TEXT NOT NULL,
    at         BIGINT NOT NULL,
    PRIMARY KEY (repository, person)
);

-- What the checkpoints of a live task changed, by the SHA-256 of its path: a path may be too long for an index.
CREATE TABLE changed_files (
    task   BIGINT NOT NULL,
    digest TEXT NOT NULL,
    path   TEXT NOT NULL,
    PRIMARY KEY (task, digest)
);
CREATE INDEX changed_files_digest ON changed_files (digest);
