-- What a program did to the data folder that it left behind: one statement a line. tests/it/folders.rs says how it is used.
CREATE ROLE reader LOGIN PASSWORD 'secret'
CREATE TABLE kinds (id integer PRIMARY KEY, small smallint, big bigint, exact numeric(12,3), single real, double double precision, yes boolean, words text, code varchar(8), fixed char(4), bytes bytea, day date, at timestamp, zoned timestamptz)
INSERT INTO kinds VALUES (1, -32768, 9223372036854775807, 123456789.125, 1.5, 2.25, true, 'one ''quoted'' ä', 'code', 'ab', '\x00ff10', '2024-02-29', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56+02')
INSERT INTO kinds (id) VALUES (2)
INSERT INTO kinds VALUES (3, 0, 0, -0.001, 'NaN', '-Infinity', false, '', '', '', '', '0001-01-01', '1999-12-31', '1970-01-01 00:00:00+00')
CREATE TABLE item (id integer PRIMARY KEY, name text NOT NULL UNIQUE, price numeric(10,2) CHECK (price >= 0), stock integer DEFAULT 5)
INSERT INTO item SELECT g, 'item ' || g, g * 1.25, g % 7 FROM generate_series(1, 3000) g
CREATE TABLE line (bill bigint, number smallint, item integer REFERENCES item ON DELETE CASCADE, amount integer, PRIMARY KEY (bill, number))
INSERT INTO line SELECT g / 3, g % 3, 1 + g % 2900, g % 11 FROM generate_series(0, 5999) g
CREATE INDEX line_item ON line (item)
CREATE SEQUENCE numbers START 100 INCREMENT 5
SELECT nextval('numbers'), nextval('numbers')
CREATE TABLE counted (id serial PRIMARY KEY, note text)
INSERT INTO counted (note) SELECT 'note ' || g FROM generate_series(1, 50) g
GRANT SELECT ON item TO reader
CHECKPOINT
UPDATE item SET stock = stock + 100 WHERE id % 10 = 0
DELETE FROM item WHERE id > 2950
DELETE FROM item WHERE id = 17
ALTER TABLE item ADD COLUMN weight double precision DEFAULT 0.5
ALTER TABLE item DROP COLUMN stock
CREATE VIEW sold AS SELECT i.name, sum(l.amount) AS amount FROM item i JOIN line l ON l.item = i.id GROUP BY i.name
UPDATE item SET weight = id / 4.0 WHERE id <= 20
ALTER TABLE counted ALTER COLUMN note TYPE varchar(40)
ALTER TABLE counted RENAME COLUMN note TO remark
BEGIN
INSERT INTO counted (remark) VALUES ('kept')
COMMIT
BEGIN
INSERT INTO counted (remark) VALUES ('not kept')
ROLLBACK
CREATE TABLE emptied (a integer)
INSERT INTO emptied SELECT g FROM generate_series(1, 1000) g
TRUNCATE emptied
CREATE TABLE dropped (a integer)
DROP TABLE dropped
