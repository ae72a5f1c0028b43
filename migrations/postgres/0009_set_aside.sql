-- How often a word that the forge forbids was set aside: it then comes after everything else of its lane.
ALTER TABLE effects ADD COLUMN aside BIGINT NOT NULL DEFAULT 0;
