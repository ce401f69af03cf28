-- Functions, aggregates and window functions of pg_catalog: kind, arguments, result, whether it returns a set, the type of the elements of a variadic
-- argument, how many arguments have defaults, names and modes of all arguments where they have any, volatility, strictness; of aggregates their kind and how many of the arguments are direct.
select p.oid, p.proname, p.prokind, array_to_string(p.proargtypes::oid[], ' '), p.prorettype, p.proretset, p.provariadic, p.pronargdefaults,
    coalesce(array_to_string(p.proargnames, ' '), ''), coalesce(array_to_string(p.proallargtypes, ' '), ''), coalesce(array_to_string(p.proargmodes, ''), ''),
    p.provolatile, p.proisstrict, coalesce(a.aggkind::text, ''), coalesce(a.aggnumdirectargs, 0)
from pg_proc p left join pg_aggregate a on a.aggfnoid = p.oid
where p.pronamespace = 'pg_catalog'::regnamespace and p.oid < 16384
order by p.oid
