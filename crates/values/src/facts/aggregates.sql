-- Aggregates over the types of types.sql (the view core), count(*) and count(any) among them; the final function is empty where the state is the result.
select p.oid, p.proname,
    (select coalesce(string_agg(typname, ' ' order by place), '') from unnest(p.proargtypes::oid[]) with ordinality as argument(type, place) join pg_type on pg_type.oid = argument.type),
    result.typname, a.aggtransfn::regproc, case a.aggfinalfn when 0 then '' else a.aggfinalfn::regproc::text end
from pg_aggregate a join pg_proc p on p.oid = a.aggfnoid join pg_type result on result.oid = p.prorettype,
    (select array_agg(oid) from core) as core_types(types)
where a.aggkind = 'n' and p.prorettype = any(core_types.types) and (p.proargtypes::oid[] <@ core_types.types or p.proname = 'count')
order by p.oid
