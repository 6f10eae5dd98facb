-- Paths are bytes, because any name is legal; times are UTC; hashes are raw.
CREATE TABLE fingerprints (
  id INTEGER PRIMARY KEY,
  value TEXT NOT NULL,             -- hash of all that shapes index content
  created_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE project (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  project_id TEXT NOT NULL CHECK (length(project_id) = 64),
  root BLOB NOT NULL,
  fingerprint_id INTEGER REFERENCES fingerprints (id),
  include_patterns TEXT NOT NULL DEFAULT '[]',   -- JSON
  exclude_patterns TEXT NOT NULL DEFAULT '[]',   -- JSON
  max_file_size INTEGER NOT NULL CHECK (max_file_size >= 0),
  created_at_ms INTEGER NOT NULL,
  indexed_at_ms INTEGER                          -- end of the last complete run
) STRICT;

CREATE TABLE branches (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,       -- '' outside version control
  commit_id TEXT,
  found_files INTEGER NOT NULL DEFAULT 0,        -- candidates of the last scan
  complete INTEGER NOT NULL DEFAULT 0 CHECK (complete IN (0, 1)),
  indexed_at_ms INTEGER
) STRICT;

CREATE TABLE blobs (
  id INTEGER PRIMARY KEY,
  content_hash BLOB NOT NULL CHECK (length(content_hash) = 32),  -- SHA-256 of the file's bytes
  language TEXT NOT NULL,
  fingerprint_id INTEGER NOT NULL REFERENCES fingerprints (id),
  text_hash BLOB NOT NULL CHECK (length(text_hash) = 32),        -- SHA-256 of the stored text
  size_bytes INTEGER NOT NULL,     -- of the stored text
  line_count INTEGER NOT NULL,
  token_count INTEGER NOT NULL,
  encoding TEXT NOT NULL,
  parse_result TEXT NOT NULL,
  is_generated INTEGER NOT NULL CHECK (is_generated IN (0, 1)),
  redactions INTEGER NOT NULL,
  UNIQUE (content_hash, language, fingerprint_id)
) STRICT;

-- Apart from blobs, so that joins over blobs do not page through text.
CREATE TABLE blob_texts (
  blob_id INTEGER PRIMARY KEY REFERENCES blobs (id) ON DELETE CASCADE,
  packed BLOB NOT NULL             -- zlib of UTF-8
) STRICT;

CREATE TABLE files (
  id INTEGER PRIMARY KEY,
  uuid BLOB NOT NULL CHECK (length(uuid) = 16),  -- stable while the path exists
  branch_id INTEGER NOT NULL REFERENCES branches (id) ON DELETE CASCADE,
  path BLOB NOT NULL,
  blob_id INTEGER NOT NULL REFERENCES blobs (id),
  size_bytes INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,       -- 0: changed too close to its reading to be trusted
  ctime_ns INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  UNIQUE (branch_id, path)
) STRICT;
CREATE INDEX files_by_blob ON files (blob_id);

CREATE TABLE skips (
  id INTEGER PRIMARY KEY,
  branch_id INTEGER NOT NULL REFERENCES branches (id) ON DELETE CASCADE,
  path BLOB NOT NULL,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL,
  is_folder INTEGER NOT NULL CHECK (is_folder IN (0, 1)),
  fingerprint_id INTEGER NOT NULL REFERENCES fingerprints (id),
  size_bytes INTEGER,              -- NULL: look again next time
  mtime_ns INTEGER,
  ctime_ns INTEGER,
  inode INTEGER,
  UNIQUE (branch_id, path)
) STRICT;

CREATE TABLE symbols (
  id INTEGER PRIMARY KEY,
  blob_id INTEGER NOT NULL REFERENCES blobs (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  folded_name TEXT NOT NULL,       -- lower case
  qualified_name TEXT NOT NULL,
  kind TEXT NOT NULL,
  signature TEXT NOT NULL,
  doc TEXT NOT NULL,
  byte_start INTEGER NOT NULL,
  byte_end INTEGER NOT NULL,
  line_start INTEGER NOT NULL,
  line_end INTEGER NOT NULL,
  parent_id INTEGER,               -- a symbol of the same blob
  is_exported INTEGER NOT NULL CHECK (is_exported IN (0, 1))
) STRICT;
CREATE INDEX symbols_by_blob ON symbols (blob_id);
CREATE INDEX symbols_by_name ON symbols (folded_name);

CREATE TABLE chunks (
  id INTEGER PRIMARY KEY,
  blob_id INTEGER NOT NULL REFERENCES blobs (id) ON DELETE CASCADE,
  byte_start INTEGER NOT NULL,
  byte_end INTEGER NOT NULL CHECK (byte_end > byte_start),
  line_start INTEGER NOT NULL,
  line_end INTEGER NOT NULL CHECK (line_end >= line_start),
  symbol_id INTEGER,               -- the symbol it belongs to, of the same blob
  first_symbol_id INTEGER NOT NULL,              -- symbols that start in it have ids from here
  symbol_count INTEGER NOT NULL,                 -- on, this many
  hash BLOB NOT NULL CHECK (length(hash) = 16)
) STRICT;
CREATE INDEX chunks_by_blob ON chunks (blob_id);

-- Words of chunks (rowid = chunks.id) and of paths (rowid = files.id), split beforehand.
CREATE VIRTUAL TABLE chunk_terms USING fts5 (
  name, signature, body, content = '', contentless_delete = 1, tokenize = 'porter ascii'
);
CREATE VIRTUAL TABLE file_paths USING fts5 (
  folders, stem, content = '', contentless_delete = 1, tokenize = 'porter ascii'
);
