-- Which text a delivery is about (`comment:17`, `issue:5`): it is kept as evidence of what was written.
ALTER TABLE deliveries ADD COLUMN about TEXT;
CREATE INDEX deliveries_about ON deliveries (repository, about) WHERE about IS NOT NULL;
