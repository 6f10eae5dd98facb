-- Models whose vectors are stored, each in tables of its own: chunk_vectors_<id>, file_vectors_<id>.
CREATE TABLE models (
  id INTEGER PRIMARY KEY,
  identity TEXT NOT NULL UNIQUE,   -- vectors of different identities are never compared
  name TEXT NOT NULL,              -- what people call it
  dimension INTEGER NOT NULL CHECK (dimension > 0 AND dimension % 8 = 0),
  created_at_ms INTEGER NOT NULL
) STRICT;
-- The model whose vectors answer; NULL until the first ones are complete.
ALTER TABLE project ADD COLUMN model_id INTEGER REFERENCES models (id);
