-- What a question without words reads, in its order.
DROP INDEX commits_by_time;
CREATE INDEX commits_by_time ON commits (committed_at_s DESC, id) WHERE is_here;

-- The old paths of renamed files, which are few.
CREATE INDEX commit_files_by_old_path ON commit_files (old_path_id, commit_id)
  WHERE old_path_id IS NOT NULL;
