-- Durable work, its history and its points of resumption. One job a project is active at most.
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE CHECK (length(uuid) = 36),
  kind TEXT NOT NULL,
  origin TEXT NOT NULL CHECK (origin IN ('request', 'watch')),
  parameters TEXT NOT NULL,        -- JSON; equal requests have equal texts
  state TEXT NOT NULL
    CHECK (state IN ('pending', 'running', 'blocked', 'completed', 'failed', 'cancelled')),
  attempt INTEGER NOT NULL DEFAULT 0,            -- claims so far: the fencing token of its runner
  runner TEXT,                     -- who claimed it last: an id that each process start makes
  created_at_ms INTEGER NOT NULL,
  started_at_ms INTEGER,
  finished_at_ms INTEGER,
  heartbeat_at_ms INTEGER,         -- when its runner last said that it lives
  cancel_requested_at_ms INTEGER,
  blocked_at_ms INTEGER,           -- since when it waits; NULL while it does not
  flagged_at_ms INTEGER,           -- when it was found to be active for too long
  estimated_ms INTEGER,
  phase TEXT,
  files_done INTEGER NOT NULL DEFAULT 0,
  files_total INTEGER,             -- NULL before the first scan has ended
  chunks_done INTEGER NOT NULL DEFAULT 0,
  chunks_total INTEGER,            -- NULL unless vectors are made after the files
  rate REAL,                       -- files or chunks a second, lately
  remaining_ms INTEGER,            -- NULL when nothing can be said
  current_path BLOB,
  waiting TEXT,                    -- why it waits, in words
  counts TEXT NOT NULL DEFAULT '{}',             -- JSON: what all tries did so far
  suspects TEXT NOT NULL DEFAULT '{}',           -- JSON: file in hand when a try died: how often
  result TEXT,                     -- JSON
  error TEXT,                      -- JSON
  log TEXT,                        -- the operation log's name
  CHECK ((state IN ('completed', 'failed', 'cancelled')) = (finished_at_ms IS NOT NULL)),
  CHECK ((state = 'blocked') = (blocked_at_ms IS NOT NULL)),
  CHECK (state <> 'completed' OR result IS NOT NULL),
  CHECK (state <> 'failed' OR error IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX one_active_job ON jobs ((1)) WHERE state IN ('pending', 'running', 'blocked');
CREATE INDEX jobs_created ON jobs (created_at_ms);

CREATE TABLE job_events (
  id INTEGER PRIMARY KEY,
  job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL,       -- 1, 2, 3 … within a job
  type TEXT NOT NULL,
  at_ms INTEGER NOT NULL,          -- never before that of the event before it
  context TEXT NOT NULL,           -- JSON
  UNIQUE (job_id, sequence)
) STRICT;

CREATE TABLE job_checkpoints (
  id INTEGER PRIMARY KEY,
  job_id INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('file_list', 'position', 'embedding')),
  at_ms INTEGER NOT NULL,
  state TEXT NOT NULL,             -- JSON: how far the job was
  packed BLOB                      -- file_list: zstd of the paths, each ended by NUL
) STRICT;
CREATE INDEX job_checkpoints_job ON job_checkpoints (job_id);

CREATE TRIGGER job_events_stay BEFORE UPDATE ON job_events
BEGIN SELECT raise(ABORT, 'events are immutable'); END;
CREATE TRIGGER job_checkpoints_stay BEFORE UPDATE ON job_checkpoints
BEGIN SELECT raise(ABORT, 'checkpoints are immutable'); END;
