-- Types of pg_catalog but the row types of its relations: kind, category, what it is made of, the comparisons of its default B-tree operator class
-- (less, equal, greater), and the equality of its default hash operator class.
select t.oid, t.typname, t.typlen, t.typtype, t.typcategory, t.typispreferred, t.typelem, t.typarray, t.typcollation, t.typsubscript::oid = 6179, t.typinput,
    case t.typmodin::oid when 0 then '' else t.typmodin::text end, coalesce(r.rngsubtype, m.rngtypid, 0), coalesce(r.rngmultitypid, 0),
    coalesce((select string_agg(a.amopopr::text, ' ' order by a.amopstrategy) from pg_opclass c join pg_amop a on a.amopfamily = c.opcfamily
        where c.opcintype = t.oid and c.opcdefault and c.opcmethod = 403 and a.amoplefttype = t.oid and a.amoprighttype = t.oid and a.amopstrategy in (1, 3, 5)), ''),
    coalesce((select a.amopopr from pg_opclass c join pg_amop a on a.amopfamily = c.opcfamily
        where c.opcintype = t.oid and c.opcdefault and c.opcmethod = 405 and a.amoplefttype = t.oid and a.amoprighttype = t.oid limit 1), 0)
from pg_type t left join pg_range r on r.rngtypid = t.oid left join pg_range m on m.rngmultitypid = t.oid
where t.typnamespace = 'pg_catalog'::regnamespace and t.typtype <> 'c' and not exists (select from pg_type e where e.oid = t.typelem and e.typtype = 'c' and t.typcategory = 'A') and t.oid < 16384
order by t.oid
