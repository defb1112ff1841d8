-- Everything here can be rebuilt from the debates, so tables of an older version are dropped.
DROP TABLE IF EXISTS files;
DROP TABLE IF EXISTS memories;
DROP TABLE IF EXISTS scores;
DROP TABLE IF EXISTS looked;

-- State files as last read; removed files are forgotten.
CREATE TABLE files (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    modified INTEGER NOT NULL,
    size INTEGER NOT NULL,
    -- The debate's id, if it is finished.
    debate TEXT,
    finished_at TEXT,
    rehearsed INTEGER NOT NULL DEFAULT 0
);

-- What is remembered of each file's debate; `rowid` is `files.number`.
CREATE VIRTUAL TABLE memories USING fts5(problem, decision, evidence, dissent, tokenize = 'porter unicode61');

-- The source of ratings: the judge's score of each agent in a debate, and how well calibrated its ballots were.
CREATE TABLE scores (
    debate TEXT NOT NULL,
    agent TEXT NOT NULL,
    finished_at TEXT NOT NULL,
    model TEXT NOT NULL,
    role TEXT NOT NULL,
    score REAL NOT NULL,
    ballots INTEGER NOT NULL,
    -- The sum over the agent's ballots.
    calibration REAL NOT NULL,
    PRIMARY KEY (debate, agent)
);

CREATE INDEX scores_in_order ON scores (finished_at, debate);

-- One row: the directory's modification time when all its debates were last read; NULL if unknown.
CREATE TABLE looked (modified INTEGER);
INSERT INTO looked VALUES (NULL);
