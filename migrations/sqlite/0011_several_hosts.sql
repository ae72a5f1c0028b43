-- Several hosts, each a process with a state directory and an engine of its own, work on one store. Instants of these tables are Unix
-- milliseconds of the database's own clock: the hosts' may differ.

-- Hosts that said not long ago that they are there.
CREATE TABLE hosts (
    id           TEXT PRIMARY KEY,
    epoch        BIGINT NOT NULL,
    address      TEXT NOT NULL,
    -- Keys of the repositories that it could work for, one a line.
    repositories TEXT NOT NULL,
    -- Whether it can do their work: its barrier is proven, and it could begin with what it has.
    willing      BOOLEAN NOT NULL,
    until        BIGINT NOT NULL
);

-- Which host works for a repository, and until when. `epoch` is the fencing token: what another life writes for it is refused.
CREATE TABLE leases (
    repository TEXT PRIMARY KEY,
    host       TEXT NOT NULL,
    epoch      BIGINT NOT NULL,
    until      BIGINT NOT NULL
);

-- The newest commit of a task that its branch may not have yet, as a git pack of what its parent lacks.
CREATE TABLE packs (
    task      BIGINT PRIMARY KEY,
    commit_id TEXT NOT NULL,
    body      BLOB NOT NULL
);

-- What is true of this store, by name.
CREATE TABLE facts (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
