-- Casts between the types of types.sql (the view core): the function, 0 where none is called; implicit, in assignments or explicit; by a function, by
-- the text form or without a change of bytes.
select s.typname, t.typname, c.castfunc::oid, c.castcontext, c.castmethod
from pg_cast c join pg_type s on s.oid = c.castsource join pg_type t on t.oid = c.casttarget
where s.oid in (select oid from core) and t.oid in (select oid from core)
order by c.oid
