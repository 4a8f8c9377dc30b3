/** How many jobs a page goes through at most, where no index knows those that are looked for. */
export const pageReach = 20_000;

/** The statements of the jobs room. `schema` is quoted already. */
export function jobStatements(schema: string) {
  const ms = (column: string): string => `${schema}.ms_since_1970(${column}) as ${column.split(".").at(-1)}`;
  const job = `j.n::text, j.job_id, j.namespace, j.op, j.payload, j.state, j.priority, d.capabilities, d.pinned_agent,
    ${ms("j.waits_until")}, j.timeout_ms::text, j.attempts, j.max_attempts, j.job_epoch, j.leader_epoch::text,
    case when j.state = 'leased' then j.lease_id end as lease_id, case when j.state <> 'queued' then j.agent end as agent, j.progress, j.result, j.error, j.idempotency_key, j.cron, ${ms("j.tick")}, ${ms("j.created_at")},
    ${ms("j.updated_at")}`;
  const jobs = `select ${job} from found j join ${schema}.job_demands d on d.id = j.demand order by j.n desc limit $2`;
  const before = "($1::bigint is null or j.n < $1)";
  const filter = `($3::text is null or j.op = $3) and ($4::text is null or j.namespace = $4)
    and ($5::text is null or j.agent = $5 and j.state <> 'queued') and ($6::double precision is null or j.created_at >= ${schema}.after_ms(to_timestamp(0), $6))`;
  const heads = `${schema}.job_demands d cross join generate_series(0, 3) p(priority)`;
  const ready = `${schema}.jobs j where j.demand = d.id and j.priority = p.priority and j.ready`;
  return {
    ripen: (epoch: bigint, limit: number) => `select ${schema}.ripen_jobs(${epoch}, ${limit}) as reply`,
    job: `select ${job} from ${schema}.jobs j join ${schema}.job_demands d on d.id = j.demand where j.job_id = $1`,

    // By the index of what is ready, for each demand and priority, and that of what waits.
    queued: `
      with found as (
        select j.* from ${heads} cross join lateral (
          select j.* from ${ready} and ${before} and ${filter} order by j.n desc limit $2) j
        union all
        select j.* from ${schema}.jobs j where j.waits_until is not null and ${before} and ${filter}
      ) ${jobs}`,
    // By what is leased out, which is never much.
    leased: `
      with found as (
        select j.* from ${schema}.job_leases l cross join unnest(l.jobs) x(n) join ${schema}.jobs j using (n)
        where j.lease_id = l.lease_id and j.state = 'leased' and ${before} and ${filter}
      ) ${jobs}`,
    // By the index of those that failed for good.
    buried: `
      with found as (
        select j.* from ${schema}.jobs j where j.buried and j.state = $7 and ${before} and ${filter} order by j.n desc limit $2
      ) ${jobs}`,
    // By going back through all of them, for a bounded way.
    any: `
      with found as (
        select j.* from (
          select j.* from ${schema}.jobs j where ${before} order by j.n desc limit ${pageReach}) j
        where ($7::text is null or j.state = $7) and ${filter} order by j.n desc limit $2
      ) ${jobs}`,
    reached: `
      select count(*)::integer as seen, min(n)::text as last, ${schema}.ms_since_1970(min(created_at)) as since
      from (select n, created_at from ${schema}.jobs j where ${before} order by n desc limit ${pageReach}) j`,

    standing: `
      select submitted::text, queued::text, leased::text, succeeded::text, failed::text, dead::text, cancelled::text,
        ${schema}.jobs_due_ms() as next_due_ms,
        (
          select max(${schema}.ms_between(clock_timestamp(), j.updated_at))
          from ${heads} cross join lateral (select j.updated_at from ${ready} order by j.n limit 1) j
        ) as oldest_ready_ms
      from ${schema}.job_totals`,
    // One statement, one snapshot: what is compacted meanwhile leaves no gap. Ids have none, so they also count.
    events: `
      select ${schema}.event_generation() as generation, b.first::text, b.last::text, (
        select coalesce(json_agg(e order by e.id), '[]') from (
          select id, number, ${ms("at")}, leader_epoch, kind, data from ${schema}.events e
          where e.id > $1 and e.id - e.number < $1::bigint + $2 order by e.id limit $2) e
      ) as events
      from (
        select
          (select id - number + 1 from ${schema}.events order by id limit 1) as first,
          coalesce((select max(id) from ${schema}.events), 0) as last
      ) b`,
    agents: `
      select name, namespace, capabilities, version, tasks, ${ms("first_seen")}, ${ms("last_heartbeat")}, ${ms("deleted_at")},
        ${schema}.ms_between(clock_timestamp(), last_heartbeat) as silent_ms
      from ${schema}.agents order by name`,
  } as const;
}
