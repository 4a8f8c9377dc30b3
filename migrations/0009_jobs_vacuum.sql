-- oldest-code: 2
-- Two row versions die with every job, while jobs that ended stay for as long as they are kept. By PostgreSQL's own measure, a fifth
-- of the table, the dead would be let grow with those that stay, and whoever looks for ready jobs would pass over them.
alter table :"schema".jobs set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
