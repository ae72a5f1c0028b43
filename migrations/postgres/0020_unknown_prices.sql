-- Tokens whose price no configuration says: `micro_usd` has nothing of them. 0 for calls of older versions.
ALTER TABLE charges ADD COLUMN unpriced BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN unpriced BIGINT NOT NULL DEFAULT 0;
ALTER TABLE actions ADD COLUMN unpriced BIGINT NOT NULL DEFAULT 0;
