-- Words of the grammar: unreserved, of column names, of types and functions, or reserved.
select word, catcode from pg_get_keywords() order by word collate "C"
