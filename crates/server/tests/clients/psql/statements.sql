-- What psql sends and shows: simple protocol, errors with their fields, scripts, COPY from a client.
CREATE TABLE book (id integer PRIMARY KEY, title varchar(40) NOT NULL, price numeric(8,2), day date);
INSERT INTO book VALUES (1, 'Walden', 12.50, '1854-08-09'), (2, 'Emma', NULL, '1815-12-23');
SELECT * FROM book ORDER BY id;
SELECT count(*), max(price) AS most FROM book;
INSERT INTO book VALUES (1, 'Again', 1, NULL);
INSERT INTO book VALUES (3, NULL, 1, NULL);
SELEC 1;
SELECT nowhere FROM book;
SELECT * FROM nowhere;
SELECT 1/0;
BEGIN;
UPDATE book SET price = 9.99 WHERE id = 2 RETURNING id, price;
SELECT 1/0;
SELECT 1;
COMMIT;
SELECT price FROM book WHERE id = 2;
COPY book FROM STDIN;
10	Ä tab\tinside	1.00	2020-02-29
11	\\N is not NULL	\N	\N
\.
SELECT * FROM book WHERE id >= 10 ORDER BY id;
COPY book TO STDOUT;
COPY book (id, title) TO STDOUT WITH (FORMAT csv, HEADER);
PREPARE one (integer) AS SELECT title FROM book WHERE id = $1;
EXECUTE one(1);
DEALLOCATE one;
EXECUTE one(1);
SELECT 1 \; SELECT 2;
DROP TABLE book;
