-- The types that the other tables are about: PostgreSQL's core ones.
select oid, typname, typlen, typcategory, typispreferred, typinput, typoutput, typreceive, typsend, typmodin, typarray, typcollation
from pg_type
where typname = any('{bool,int2,int4,int8,float4,float8,numeric,text,varchar,bpchar,bytea,date,timestamp,timestamptz,interval,time,timetz,uuid,oid,regclass,regcollation,regconfig,regdictionary,regnamespace,regoper,regoperator,regproc,regprocedure,regrole,regtype}')
order by oid
