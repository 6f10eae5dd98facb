-- The files of some commits were not all compared: there were too many, or a folder is too large.
ALTER TABLE commits ADD COLUMN is_cut INTEGER NOT NULL DEFAULT 0 CHECK (is_cut IN (0, 1));
