-- The names that a text refers to: CRC-32 of each, rising, packed, after the CRC-32 of all. Apart from
-- blob_texts, whose long rows would have to be read to get there. No row where the text has none.
CREATE TABLE blob_names (
  blob_id INTEGER PRIMARY KEY REFERENCES blobs (id) ON DELETE CASCADE,
  packed BLOB NOT NULL
) STRICT;
