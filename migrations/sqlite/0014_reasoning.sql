-- Of `output`: tokens that the model thought and did not say; 0 where its server does not tell, and for calls of older versions.
ALTER TABLE charges ADD COLUMN reasoning BIGINT NOT NULL DEFAULT 0;
