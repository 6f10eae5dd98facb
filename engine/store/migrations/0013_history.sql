-- The commits of the branch that is checked out, newest first within limits. All of it can be made
-- again from the repository.
CREATE TABLE history (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  head BLOB,                       -- the commit that it was read from; NULL: it was never read
  made_by TEXT NOT NULL,           -- hash of all that shapes its content, but for the vectors
  model TEXT,                      -- the identity of the model of its vectors; NULL: it has none
  is_complete INTEGER NOT NULL CHECK (is_complete IN (0, 1)),
  note TEXT NOT NULL,              -- what is missing and why, as a sentence; '' when nothing is
  read_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE commits (
  id INTEGER PRIMARY KEY,
  name BLOB NOT NULL UNIQUE,       -- 20 or 32 bytes
  parents BLOB NOT NULL,           -- their names, joined
  author TEXT NOT NULL,
  email TEXT NOT NULL,
  committed_at_s INTEGER NOT NULL,
  subject TEXT NOT NULL,
  body BLOB NOT NULL,              -- the rest of the message, zstd of UTF-8
  file_count INTEGER NOT NULL,     -- that it changed in the project; some may not be listed
  is_here INTEGER NOT NULL CHECK (is_here IN (0, 1)),      -- 0: it changed other folders only
  is_partial INTEGER NOT NULL CHECK (is_partial IN (0, 1)) -- its files are not all known
) STRICT;
CREATE INDEX commits_by_time ON commits (committed_at_s, id);

CREATE TABLE commit_paths (
  id INTEGER PRIMARY KEY,
  path BLOB NOT NULL UNIQUE        -- from the root of the project
) STRICT;

-- No foreign keys: each would need an index of its own.
CREATE TABLE commit_files (
  commit_id INTEGER NOT NULL,
  path_id INTEGER NOT NULL,
  change TEXT NOT NULL CHECK (change IN ('A', 'M', 'D', 'R')),
  old_path_id INTEGER,             -- of a renamed file
  added INTEGER,                   -- lines; NULL: not counted
  removed INTEGER,
  PRIMARY KEY (commit_id, path_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX commit_files_by_path ON commit_files (path_id, commit_id);

-- Words of commits (rowid = commits.id), split beforehand.
CREATE VIRTUAL TABLE commit_terms USING fts5 (
  subject, body, paths, lines, content = '', contentless_delete = 1, tokenize = 'porter ascii'
);

-- What each means to one model; made anew when another one asks.
CREATE TABLE commit_vectors (
  commit_id INTEGER PRIMARY KEY REFERENCES commits (id) ON DELETE CASCADE,
  model TEXT NOT NULL,             -- its identity: vectors of different ones are never compared
  vector BLOB NOT NULL             -- four bits a number, as those of chunks
) STRICT;
