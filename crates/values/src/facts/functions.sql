-- Functions of one row over the types of types.sql (the view core), those behind operators and casts among them. A function written in SQL has its
-- signature as its source.
select p.oid, p.proname,
    (select coalesce(string_agg(typname, ' ' order by place), '') from unnest(p.proargtypes::oid[]) with ordinality as argument(type, place) join pg_type on pg_type.oid = argument.type),
    result.typname, p.provolatile, p.proisstrict,
    case l.lanname when 'sql' then p.oid::regprocedure::text else p.prosrc end
from pg_proc p join pg_language l on l.oid = p.prolang join pg_type result on result.oid = p.prorettype,
    (select array_agg(oid) from core) as core_types(types)
where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f' and not p.proretset and p.provariadic = 0
    and p.prorettype = any(core_types.types) and p.proargtypes::oid[] <@ core_types.types
order by p.oid
