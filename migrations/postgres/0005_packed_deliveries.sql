-- How a delivery's body lies in its row: 0 as it came, 1 one LZ4 block after its length (32 bits, little-endian).
ALTER TABLE deliveries ADD COLUMN packing BIGINT NOT NULL DEFAULT 0;
