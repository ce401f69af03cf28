-- What a program did to the data folder that it left behind: one statement a line. tests/it/folders.rs says how it is used.
CREATE ROLE reader LOGIN PASSWORD 'secret'
CREATE SCHEMA shop
CREATE TABLE kinds (id integer PRIMARY KEY, small smallint, big bigint, exact numeric(12,3), single real, double double precision, yes boolean, words text, code varchar(8), fixed char(4), bytes bytea, day date, at timestamp, zoned timestamptz, hour time, span interval, key uuid, document jsonb)
INSERT INTO kinds VALUES (1, -32768, 9223372036854775807, 123456789.125, 1.5, 2.25, true, 'one ''quoted'' ä', 'code', 'ab', '\x00ff10', '2024-02-29', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56+02', '23:59:59.5', '1 year 2 mons 3 days 04:05:06', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a": [1, null, "x"]}')
INSERT INTO kinds (id) VALUES (2)
INSERT INTO kinds VALUES (3, 0, 0, -0.001, 'NaN', '-Infinity', false, '', '', '', '', '0001-01-01', '1999-12-31', '1970-01-01 00:00:00+00', '00:00:00', '-1 days', '00000000-0000-0000-0000-000000000000', '[]')
CREATE TABLE shop.item (id integer PRIMARY KEY, name text NOT NULL UNIQUE, price numeric(10,2) CHECK (price >= 0), stock integer DEFAULT 5)
INSERT INTO shop.item SELECT g, 'item ' || g, g * 1.25, g % 7 FROM generate_series(1, 3000) g
CREATE TABLE shop.line (bill bigint, number smallint, item integer REFERENCES shop.item ON DELETE CASCADE, amount integer, PRIMARY KEY (bill, number))
INSERT INTO shop.line SELECT g / 3, g % 3, 1 + g % 2900, g % 11 FROM generate_series(0, 5999) g
CREATE INDEX line_item ON shop.line (item)
CREATE VIEW shop.sold AS SELECT i.name, sum(l.amount) AS amount FROM shop.item i JOIN shop.line l ON l.item = i.id GROUP BY i.name
CREATE SEQUENCE shop.numbers START 100 INCREMENT 5
SELECT nextval('shop.numbers'), nextval('shop.numbers')
CREATE TABLE counted (id serial PRIMARY KEY, note text)
INSERT INTO counted (note) SELECT 'note ' || g FROM generate_series(1, 50) g
GRANT SELECT ON shop.item TO reader
CHECKPOINT
UPDATE shop.item SET stock = stock + 100 WHERE id % 10 = 0
DELETE FROM shop.item WHERE id > 2950
DELETE FROM shop.item WHERE id = 17
ALTER TABLE shop.item ADD COLUMN weight double precision DEFAULT 0.5
ALTER TABLE shop.item DROP COLUMN stock
UPDATE shop.item SET weight = id / 4.0 WHERE id <= 20
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
