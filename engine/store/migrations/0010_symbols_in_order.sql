-- Symbols are listed and counted by name, kind and blob from the index alone, without a look at
-- their rows.
DROP INDEX symbols_by_name;
CREATE INDEX symbols_by_name ON symbols (folded_name, kind, blob_id);
