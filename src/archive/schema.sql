-- What is here can be taken from the debates again: tables of an older version are made anew.
DROP TABLE IF EXISTS files;
DROP TABLE IF EXISTS memories;
DROP TABLE IF EXISTS scores;
DROP TABLE IF EXISTS looked;

-- State files as they were last read; one that is there no more is forgotten.
CREATE TABLE files (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    modified INTEGER NOT NULL,
    size INTEGER NOT NULL,
    -- The debate in it, where it holds one that is finished.
    debate TEXT,
    finished_at TEXT,
    rehearsed INTEGER NOT NULL DEFAULT 0
);

-- What is remembered of a file's debate; the rows have the numbers of the files.
CREATE VIRTUAL TABLE memories USING fts5(problem, decision, evidence, dissent, tokenize = 'porter unicode61');

-- The judge's score of each agent in a debate, and how well its ballots' confidence was calibrated: the source of ratings.
CREATE TABLE scores (
    debate TEXT NOT NULL,
    agent TEXT NOT NULL,
    finished_at TEXT NOT NULL,
    model TEXT NOT NULL,
    role TEXT NOT NULL,
    score REAL NOT NULL,
    ballots INTEGER NOT NULL,
    -- The sum over its ballots.
    calibration REAL NOT NULL,
    PRIMARY KEY (debate, agent)
);

CREATE INDEX scores_in_order ON scores (finished_at, debate);

-- The time of the directory when all debates in it were looked at last, in one row; nothing where that is not known.
CREATE TABLE looked (modified INTEGER);
INSERT INTO looked VALUES (NULL);
