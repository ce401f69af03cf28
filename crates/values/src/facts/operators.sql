-- Operators over the types of types.sql (the view core). The left operand of a prefix operator is empty.
select o.oid, o.oprname, coalesce(l.typname, ''), r.typname, result.typname, p.oid, p.prosrc, o.oprcom, o.oprnegate, o.oprcanmerge, o.oprcanhash
from pg_operator o join pg_proc p on p.oid = o.oprcode join pg_type r on r.oid = o.oprright join pg_type result on result.oid = o.oprresult left join pg_type l on l.oid = o.oprleft,
    (select array_agg(oid) from core) as core_types(types)
where (o.oprleft = 0 or o.oprleft = any(core_types.types)) and o.oprright = any(core_types.types) and o.oprresult = any(core_types.types)
order by o.oid
