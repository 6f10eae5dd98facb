"""SQL scripts: what a text creates, in several dialects."""

from tests.support.symbol_rows import rows_of

_POSTGRES = """
-- People.
CREATE TABLE IF NOT EXISTS app.people (
  id bigint GENERATED ALWAYS AS IDENTITY (START WITH 1),
  name text NOT NULL DEFAULT 'a, (b', -- As spoken.
  -- Free words.
  tags text[] DEFAULT ARRAY['a, b'],
  "the age" int,
  CONSTRAINT fk FOREIGN KEY (id) REFERENCES other (id),
  PRIMARY KEY (id)
) PARTITION BY RANGE (id);

create or replace view adults (id, name) as select id, name from people;
CREATE MATERIALIZED VIEW counts AS SELECT count(*) FROM people;
CREATE UNIQUE INDEX CONCURRENTLY people_name ON app.people (name);
CREATE INDEX ON app.people (name);
CREATE FUNCTION add(a int, b int) RETURNS int AS $body$
BEGIN
  CREATE TEMP TABLE hidden (a int);
  RETURN a + b;
END;
$body$ LANGUAGE plpgsql;
CREATE TRIGGER noted BEFORE INSERT ON people FOR EACH ROW EXECUTE FUNCTION add();
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TYPE pair AS (a int, b int);
CREATE DOMAIN email AS text CHECK (value ~ '@');
CREATE SCHEMA app;
CREATE SEQUENCE seq START 1;
ALTER TABLE ONLY app.people ADD COLUMN IF NOT EXISTS size int NOT NULL;
ALTER TABLE app.people ADD CONSTRAINT c CHECK (size > 1);
CREATE TABLE copied AS (SELECT a, b FROM c);
CREATE TABLE part PARTITION OF app.people FOR VALUES FROM (1) TO (2);
"""


def test_postgres() -> None:
    assert rows_of(_POSTGRES, "sql") == [
        (
            "struct",
            "app.people",
            2,
            10,
            True,
            -1,
            "CREATE TABLE IF NOT EXISTS app.people",
            "People.",
        ),
        (
            "field",
            "app.people.id",
            3,
            3,
            True,
            0,
            "id bigint GENERATED ALWAYS AS IDENTITY (START WITH 1)",
            "",
        ),
        (
            "field",
            "app.people.name",
            4,
            4,
            True,
            0,
            "name text NOT NULL DEFAULT 'a, (b'",
            "As spoken.",
        ),
        (
            "field",
            "app.people.tags",
            6,
            6,
            True,
            0,
            "tags text[] DEFAULT ARRAY['a, b']",
            "Free words.",
        ),
        ("field", "app.people.the age", 7, 7, True, 0, '"the age" int', ""),
        ("struct", "adults", 12, 12, True, -1, "create or replace view adults", ""),
        ("field", "adults.id", 12, 12, True, 5, "id", ""),
        ("field", "adults.name", 12, 12, True, 5, "name", ""),
        ("struct", "counts", 13, 13, True, -1, "CREATE MATERIALIZED VIEW counts", ""),
        (
            "property",
            "people_name",
            14,
            14,
            True,
            -1,
            "CREATE UNIQUE INDEX CONCURRENTLY people_name ON app.people (name)",
            "",
        ),
        ("function", "add", 16, 21, True, -1, "CREATE FUNCTION add(a int, b int) RETURNS int", ""),
        (
            "function",
            "noted",
            22,
            22,
            True,
            -1,
            "CREATE TRIGGER noted BEFORE INSERT ON people FOR EACH ROW EXECUTE FUNCTION add()",
            "",
        ),
        ("enum", "mood", 23, 23, True, -1, "CREATE TYPE mood AS ENUM ('sad', 'ok')", ""),
        ("struct", "pair", 24, 24, True, -1, "CREATE TYPE pair AS", ""),
        ("field", "pair.a", 24, 24, True, 13, "a int", ""),
        ("field", "pair.b", 24, 24, True, 13, "b int", ""),
        ("type", "email", 25, 25, True, -1, "CREATE DOMAIN email AS text CHECK (value ~ '@')", ""),
        ("namespace", "app", 26, 26, True, -1, "CREATE SCHEMA app", ""),
        ("variable", "seq", 27, 27, True, -1, "CREATE SEQUENCE seq START 1", ""),
        (
            "field",
            "app.people.size",
            28,
            28,
            True,
            -1,
            "ALTER TABLE ONLY app.people ADD COLUMN IF NOT EXISTS size int NOT NULL",
            "",
        ),
        ("struct", "copied", 30, 30, True, -1, "CREATE TABLE copied", ""),
        (
            "struct",
            "part",
            31,
            31,
            True,
            -1,
            "CREATE TABLE part PARTITION OF app.people FOR VALUES FROM (1) TO (2)",
            "",
        ),
    ]


_OTHERS = """
/*
CREATE TABLE old (a int);
*/
CREATE TABLE `orders` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  note varchar(9) DEFAULT 'it\\'s',
  key varchar(255),
  KEY by_note (note),
  UNIQUE KEY `u` (`id`)
) ENGINE=InnoDB;
DELIMITER //
CREATE DEFINER=`root`@`localhost` PROCEDURE `close_all`(IN day INT)
BEGIN
  IF day THEN SELECT 1; END IF;
  CREATE TEMPORARY TABLE hidden (a int);
END //
DELIMITER ;
CREATE TABLE [dbo].[Items] ([Id] INT NOT NULL)
GO
CREATE PROC dbo.List @a int AS SELECT 1
GO
CREATE VIRTUAL TABLE words USING fts5(title, body, tokenize='ascii');
CREATE TRIGGER touch AFTER UPDATE ON words BEGIN UPDATE words SET x = 1; END;
CREATE OR REPLACE PACKAGE tools AS
  PROCEDURE one;
END tools;
/
CREATE TABLE {{ schema }}.made (id int);
CREATE EVENT TRIGGER guard ON ddl_command_end;
"""


def test_other_dialects() -> None:
    assert rows_of(_OTHERS, "sql") == [
        ("struct", "orders", 4, 10, True, -1, "CREATE TABLE `orders`", "CREATE TABLE old (a int);"),
        ("field", "orders.id", 5, 5, True, 0, "`id` int(11) NOT NULL AUTO_INCREMENT", ""),
        ("field", "orders.note", 6, 6, True, 0, "note varchar(9) DEFAULT 'it\\'s'", ""),
        ("field", "orders.key", 7, 7, True, 0, "key varchar(255)", ""),
        (
            "function",
            "close_all",
            12,
            16,
            True,
            -1,
            "CREATE DEFINER=`root`@`localhost` PROCEDURE `close_all`(IN day INT)",
            "",
        ),
        ("struct", "dbo.Items", 18, 18, True, -1, "CREATE TABLE [dbo].[Items]", ""),
        ("field", "dbo.Items.Id", 18, 18, True, 5, "[Id] INT NOT NULL", ""),
        ("function", "dbo.List", 20, 20, True, -1, "CREATE PROC dbo.List @a int", ""),
        ("struct", "words", 22, 22, True, -1, "CREATE VIRTUAL TABLE words USING fts5", ""),
        ("field", "words.title", 22, 22, True, 8, "title", ""),
        ("field", "words.body", 22, 22, True, 8, "body", ""),
        ("function", "touch", 23, 23, True, -1, "CREATE TRIGGER touch AFTER UPDATE ON words", ""),
        ("module", "tools", 24, 26, True, -1, "CREATE OR REPLACE PACKAGE tools", ""),
        ("struct", "made", 28, 28, True, -1, "CREATE TABLE {{ schema }}.made", ""),
        ("field", "made.id", 28, 28, True, 13, "id int", ""),
        (
            "function",
            "guard",
            29,
            29,
            True,
            -1,
            "CREATE EVENT TRIGGER guard ON ddl_command_end",
            "",
        ),
    ]


_NAMED = """
-- name: get-user :one
SELECT * FROM users;

-- name: all_users
SELECT 1;
"""


def test_named_queries() -> None:
    assert rows_of(_NAMED, "sql") == [
        ("function", "get-user", 1, 2, True, -1, "-- name: get-user :one", ""),
        ("function", "all_users", 4, 5, True, -1, "-- name: all_users", ""),
    ]


_BROKEN = """
CREATE TABLE open (a int, b text,
CREATE TABLE after (a int);
CREATE TABLE
CREATE FUNCTION endless() AS $x$ BEGIN
CREATE VIEW quoted AS SELECT 'it
CREATE TABLE last (a int)
"""


def test_broken() -> None:
    assert rows_of(_BROKEN, "sql") == [
        ("struct", "open", 1, 1, True, -1, "CREATE TABLE open", ""),
        ("field", "open.a", 1, 1, True, 0, "a int", ""),
        ("field", "open.b", 1, 1, True, 0, "b text", ""),
        ("struct", "after", 2, 2, True, -1, "CREATE TABLE after", ""),
        ("field", "after.a", 2, 2, True, 3, "a int", ""),
        ("function", "endless", 4, 4, True, -1, "CREATE FUNCTION endless()", ""),
        ("struct", "quoted", 5, 5, True, -1, "CREATE VIEW quoted", ""),
        ("struct", "last", 6, 6, True, -1, "CREATE TABLE last", ""),
        ("field", "last.a", 6, 6, True, 7, "a int", ""),
    ]
