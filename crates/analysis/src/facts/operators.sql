-- Operators of pg_catalog: operands (0 for none), result, function, commutator, negator, and which comparison it is to B-trees: 1 less, 2 less or equal,
-- 3 equal, 4 greater or equal, 5 greater, 0 none.
select o.oid, o.oprname, o.oprleft, o.oprright, o.oprresult, o.oprcode::oid, o.oprcom, o.oprnegate, coalesce(min(a.amopstrategy), 0)
from pg_operator o left join pg_amop a on a.amopopr = o.oid and a.amopmethod = 403
where o.oprnamespace = 'pg_catalog'::regnamespace and o.oprcode <> 0 and o.oid < 16384
group by o.oid
order by o.oid
