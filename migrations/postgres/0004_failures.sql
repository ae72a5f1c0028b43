-- How often an effect was tried in vain, told apart from tries that a killed process left: only these make the next wait longer.
ALTER TABLE effects ADD COLUMN failures BIGINT NOT NULL DEFAULT 0;
