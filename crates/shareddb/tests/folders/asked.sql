-- What is asked of a data folder: one statement a line.
SELECT id, small, big, exact, single, double, yes, words, code, fixed, bytes, day, at, zoned FROM kinds ORDER BY id
SELECT count(*), sum(id), sum(price), sum(weight), min(name), max(name) FROM item
SELECT * FROM item WHERE id IN (10, 16, 17, 18, 2950, 2951) ORDER BY id
SELECT * FROM item WHERE name = 'item 1234'
SELECT count(*), sum(amount), sum(bill), sum(number) FROM line
SELECT bill, number, amount FROM line WHERE item = 42 ORDER BY bill, number
SELECT * FROM line WHERE bill = 1000 ORDER BY number
SELECT * FROM sold ORDER BY amount DESC, name LIMIT 5
SELECT count(*), min(id), max(id), min(remark), max(remark) FROM counted
SELECT count(*) FROM emptied
SELECT table_schema, table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2, ordinal_position
SELECT schemaname, tablename, indexname FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2, 3
SELECT rolname, rolcanlogin FROM pg_roles WHERE rolname = 'reader'
SELECT has_table_privilege('reader', 'item', 'SELECT'), has_table_privilege('reader', 'item', 'UPDATE')
