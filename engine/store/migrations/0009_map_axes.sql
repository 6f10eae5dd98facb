-- The axes on which the files of a project are drawn by what they mean, kept so that the picture of
-- tomorrow is that of today. They go with their model.
CREATE TABLE map_axes (
  model_id INTEGER PRIMARY KEY REFERENCES models (id) ON DELETE CASCADE,
  numbers BLOB NOT NULL            -- little-endian float32: a centre, two axes, their ends
) STRICT;
