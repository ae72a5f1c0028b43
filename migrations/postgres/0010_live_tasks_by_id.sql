-- The live tasks of all repositories, in order of their numbers: without it every round walked the primary key of all tasks.
CREATE INDEX tasks_live_id ON tasks (id) WHERE live;
