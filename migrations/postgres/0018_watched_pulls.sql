-- Pull requests at whose pushes a command is run again (`/test-pr --each-push`): at most one of `/test-pr` and one of `/test-pr-bug`.
CREATE TABLE watched_pulls (
    repository TEXT NOT NULL,
    pull       BIGINT NOT NULL,
    bug        BOOLEAN NOT NULL,
    -- Who asked for it: the forge's id, and the login.
    poster     BIGINT NOT NULL,
    login      TEXT NOT NULL,
    -- What was run last: JSON.
    asked      TEXT NOT NULL,
    PRIMARY KEY (repository, pull, bug)
);
