-- Texts are packed by zstd from here on, symbols say nothing twice, and blobs tell their licence and
-- their generator. What is stored was made otherwise: it goes, and the next run reads all files again.
DELETE FROM files;
DELETE FROM skips;
INSERT INTO chunk_terms (chunk_terms) VALUES ('delete-all');
INSERT INTO file_paths (file_paths) VALUES ('delete-all');
DELETE FROM blobs;
UPDATE branches SET complete = 0, found_files = 0, indexed_at_ms = NULL;
UPDATE project SET indexed_at_ms = NULL;

ALTER TABLE blobs ADD COLUMN licence TEXT;    -- SPDX identifier or expression, when the text says
ALTER TABLE blobs ADD COLUMN generator TEXT;  -- what wrote a generated file, when the text says

-- A header of register numbers has 18,000 symbols in 1 MB: what can be told from another column is
-- not stored, and the chunks of a blob say which symbols are its own.
DROP TABLE symbols;
CREATE TABLE symbols (
  id INTEGER PRIMARY KEY,
  blob_id INTEGER NOT NULL,        -- no foreign key: it would need an index of its own
  name TEXT NOT NULL,
  lower_name TEXT,                 -- lower case, where SQLite's own lower() does not give it
  scope TEXT,                      -- qualified name of what is around it; NULL at top level
  kind TEXT NOT NULL,
  signature TEXT NOT NULL,
  doc TEXT NOT NULL,
  byte_start INTEGER NOT NULL,
  byte_end INTEGER NOT NULL,
  line_start INTEGER NOT NULL,
  line_end INTEGER NOT NULL,
  parent_id INTEGER,               -- a symbol of the same blob
  is_exported INTEGER NOT NULL CHECK (is_exported IN (0, 1)),
  folded_name TEXT NOT NULL AS (coalesce(lower_name, lower(name))) VIRTUAL,
  qualified_name TEXT NOT NULL AS (CASE WHEN scope IS NULL THEN name ELSE scope || '.' || name END)
    VIRTUAL
) STRICT;
CREATE INDEX symbols_by_name ON symbols (folded_name);
