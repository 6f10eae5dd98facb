-- Counts the transactions that wrote, so that a process knows whether what it keeps still holds.
ALTER TABLE project ADD COLUMN changes INTEGER NOT NULL DEFAULT 0;

-- The chunk of a blob that holds a byte is found by one seek.
DROP INDEX chunks_by_blob;
CREATE INDEX chunks_by_place ON chunks (blob_id, byte_start);
