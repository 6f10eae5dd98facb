-- The setting of the last complete run: with another one, a run over some paths is over all.
ALTER TABLE project ADD COLUMN allow_secret_files TEXT NOT NULL DEFAULT '[]';  -- JSON
