-- Which issue of an upstream on GitHub stands here as which issue (`[repositories.upstream_issues]`).
CREATE TABLE upstream_issues (
    repository TEXT NOT NULL,
    -- The forge's id of the repository: one made anew under the same key has issues of its own.
    forge_id   BIGINT NOT NULL,
    -- GitHub's number of the upstream, and the issue's number there.
    upstream   BIGINT NOT NULL,
    number     BIGINT NOT NULL,
    -- The issue's number on the forge; 0 while it is being opened.
    issue      BIGINT NOT NULL,
    -- Whether people were told that it is closed there.
    closed     BOOLEAN NOT NULL,
    PRIMARY KEY (repository, forge_id, upstream, number)
);
