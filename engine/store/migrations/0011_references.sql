-- Where the text of a blob refers to names, in which role, and where it is no code: rising integers,
-- packed. Texts without any have no row. What is stored was made without them, and is read again by
-- the next run, whose fingerprint differs.
CREATE TABLE blob_marks (
  blob_id INTEGER PRIMARY KEY REFERENCES blobs (id) ON DELETE CASCADE,
  packed BLOB NOT NULL
) STRICT;
