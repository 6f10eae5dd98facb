-- The size of the file when it was last looked whether its pages are well filled.
ALTER TABLE project ADD COLUMN looked_pages INTEGER;
ALTER TABLE project ADD COLUMN looked_chunks INTEGER;
