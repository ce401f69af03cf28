-- Casts: the function, 0 where none is called; implicit, in assignments or explicit; by a function, by the text form or without a change of bytes.
select c.castsource, c.casttarget, c.castfunc::oid, c.castcontext, c.castmethod
from pg_cast c where c.oid < 16384
order by c.castsource, c.casttarget
