-- Where a text refers to names, in which role, and where it is no code: rising integers, packed, after
-- their CRC-32. NULL where the language has none, or the text was not parsed. Stored texts get theirs
-- from the next run, which reads all files again because its fingerprint differs.
ALTER TABLE blob_texts ADD COLUMN marks BLOB;
