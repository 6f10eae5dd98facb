-- Notes that agents saved. They cannot be made again from the files, so nothing but their own
-- deletion, and that of the project, takes them away.
CREATE TABLE memories (
  id INTEGER PRIMARY KEY,
  uuid BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  summary TEXT NOT NULL CHECK (summary <> ''),
  description TEXT NOT NULL,
  context TEXT NOT NULL,           -- a JSON object
  tags TEXT NOT NULL,              -- a JSON array of texts
  token_count INTEGER NOT NULL,    -- of the description
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL   -- later with each update
) STRICT;
CREATE INDEX memories_by_time ON memories (created_at_ms, uuid);

-- What each means to one model; made anew when another one asks.
CREATE TABLE memory_vectors (
  memory_id INTEGER PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE,
  model TEXT NOT NULL,             -- its identity: vectors of different ones are never compared
  vector BLOB NOT NULL             -- four bits a number, as those of chunks
) STRICT;

-- Words of memories (rowid = memories.id), split beforehand.
CREATE VIRTUAL TABLE memory_terms USING fts5 (
  summary, tags, description, content = '', contentless_delete = 1, tokenize = 'porter ascii'
);
