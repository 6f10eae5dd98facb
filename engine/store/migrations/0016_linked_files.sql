-- Files that are found through links have another path, by which answers name them.
ALTER TABLE files ADD COLUMN is_linked INTEGER NOT NULL DEFAULT 0 CHECK (is_linked IN (0, 1));
