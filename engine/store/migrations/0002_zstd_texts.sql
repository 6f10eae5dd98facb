-- Texts are packed by zstd from here on, and blobs tell their licence and their generator. What is
-- stored was packed by zlib: it goes, and the next run reads all files again.
DELETE FROM files;
DELETE FROM skips;
INSERT INTO chunk_terms (chunk_terms) VALUES ('delete-all');
INSERT INTO file_paths (file_paths) VALUES ('delete-all');
DELETE FROM blobs;
UPDATE branches SET complete = 0, found_files = 0, indexed_at_ms = NULL;
UPDATE project SET indexed_at_ms = NULL;

ALTER TABLE blobs ADD COLUMN licence TEXT;    -- SPDX identifier or expression, when the text says
ALTER TABLE blobs ADD COLUMN generator TEXT;  -- what wrote a generated file, when the text says
