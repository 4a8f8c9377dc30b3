-- oldest-code: 2
-- Jobs, the leases under which agents work on them, the agents, and the stream of events. The leader of `scheduler` alone
-- writes here, one transaction after another: each of them takes the row of `event_stream` first.

-- One row. Whoever writes events holds it until the commit, so that their ids are in the order of commits and have no gaps:
-- `id > cursor` loses nothing. It is locked and never updated, so it does not grow under an old snapshot.
create table :"schema".event_stream (
  one boolean primary key default true check (one),
  -- With the database's identity it makes the generation: a cursor of another database is told apart.
  token text not null default gen_random_uuid()::text
);
insert into :"schema".event_stream default values;

-- What happened at a time is one row, which stands for as many events: they have the ids up to its own. Of jobs (kind `jobs`)
-- the data is an array with an array for each: job_id, op, namespace, state, job_epoch, agent. Else it is the event's own.
create table :"schema".events (
  id bigint primary key,
  number integer not null,
  at timestamptz not null,
  leader_epoch bigint not null,
  kind text not null,
  data json not null
);
-- Trying to compress it costs more than it saves.
alter table :"schema".events alter column data set storage external;

-- What a job asks of whoever takes it. Jobs that ask the same share a row, so that an agent looks only where it may take
-- something, however many jobs wait for others. Capabilities are sorted; an empty pinned_agent is none.
create table :"schema".job_demands (
  id integer generated always as identity primary key,
  namespace text collate "C" not null,
  pinned_agent text collate "C" not null,
  capabilities text[] not null,
  unique (namespace, pinned_agent, capabilities)
);

-- Two booleans stand for what indexes need to know of the state: where neither changes, as when a job succeeds, the update is
-- HOT. Payloads are text that is handed on as it came: json, not jsonb, which refuses some of what JSON may say.
create table :"schema".jobs (
  n bigint primary key,
  job_id text collate "C" not null unique,
  demand integer not null,
  priority smallint not null,
  -- Queued, and nothing to wait for.
  ready boolean not null,
  -- Failed or dead.
  buried boolean not null default false,
  state text collate "C" not null,
  attempts integer not null default 0,
  max_attempts integer not null,
  job_epoch integer not null default 0,
  -- The epoch of the last result that was accepted, and whether it told of a success: it may be told again.
  reported_epoch integer not null default 0,
  reported_success boolean,
  leader_epoch bigint not null,
  timeout_ms bigint not null,
  -- Queued, but not before this.
  waits_until timestamptz,
  -- The attempt ends then, however often its lease is renewed.
  run_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  tick timestamptz,
  namespace text collate "C" not null,
  op text collate "C" not null,
  -- Of the last lease, also when it has ended: it is what job_epoch counts.
  agent text collate "C",
  lease_id text collate "C",
  idempotency_key text collate "C",
  cron text collate "C",
  error text,
  progress json,
  result json,
  payload json not null
) with (fillfactor = 55);
create unique index jobs_key on :"schema".jobs (namespace, idempotency_key) where idempotency_key is not null;
-- In the order in which they are handed out.
create index jobs_ready on :"schema".jobs (demand, (3 - priority), n) where ready;
create index jobs_waiting on :"schema".jobs (waits_until) where waits_until is not null;
create index jobs_buried on :"schema".jobs (n) where buried;

-- What an agent has taken at a time. Its jobs are renewed and lost together; the row goes with the last of them.
create table :"schema".job_leases (
  lease_id text collate "C" primary key,
  agent text collate "C" not null,
  leased_until timestamptz not null,
  -- When somebody has to look: at its end, or when the first attempt has taken too long.
  due_at timestamptz not null,
  -- Those it began with, and how many of them are still leased under it.
  jobs bigint[] not null,
  open integer not null,
  leader_epoch bigint not null
) with (fillfactor = 50);
create index job_leases_agent on :"schema".job_leases (agent);
create index job_leases_due on :"schema".job_leases (due_at);

-- One row: how many jobs there are in each state, and how many there ever were. Kept by whoever changes a job.
create table :"schema".job_totals (
  one boolean primary key default true check (one),
  submitted bigint not null default 0,
  queued bigint not null default 0,
  leased bigint not null default 0,
  succeeded bigint not null default 0,
  failed bigint not null default 0,
  dead bigint not null default 0,
  cancelled bigint not null default 0
) with (fillfactor = 10);
insert into :"schema".job_totals default values;

create table :"schema".agents (
  name text collate "C" primary key,
  namespace text not null,
  capabilities text[] not null,
  version text,
  tasks integer not null,
  first_seen timestamptz not null default clock_timestamp(),
  last_heartbeat timestamptz not null default clock_timestamp(),
  deleted_at timestamptz,
  leader_epoch bigint not null
) with (fillfactor = 50);

-- Everybody who is to write events begins with this. Answers with the last id. Volatile, so that what it waited for is seen.
create function :"schema".lock_events() returns bigint
language plpgsql as $$
begin
  perform from :"schema".event_stream for update;
  return coalesce((select max(id) from :"schema".events), 0);
end
$$;

create function :"schema".event_generation() returns text
language sql volatile as $$
  select left(md5(token || coalesce(:"schema".identity(), '')), 12) from :"schema".event_stream
$$;

-- No stricter than what it calls, or it would be called for each row and not become part of the statement.
create function :"schema".after_ms(p_at timestamptz, p_ms double precision) returns timestamptz
language sql stable as $$
  select p_at + p_ms * interval '1 millisecond'
$$;

-- Whoever has more to tell than jobs.
create function :"schema".tell(p_kind text, p_data json, p_epoch bigint) returns void
language sql volatile as $$
  insert into :"schema".events (id, number, at, leader_epoch, kind, data)
  values (:"schema".lock_events() + 1, 1, clock_timestamp(), p_epoch, p_kind, p_data)
$$;

-- In how many milliseconds there is something to ripen. Null where nothing waits and nothing is leased.
create function :"schema".jobs_due_ms() returns double precision
language sql volatile as $$
  select case when due is not null then greatest(0, :"schema".ms_between(due, clock_timestamp())) end
  from (
    select least(
      (select min(waits_until) from :"schema".jobs where waits_until is not null),
      (select min(due_at) from :"schema".job_leases)) as due
  ) first
$$;

-- The rows of what jobs ask for, made where they are not there yet. Capabilities are sorted.
create function :"schema".demand_ids(p_demands json) returns integer[]
language plpgsql set enable_seqscan = off as $$
declare
  v_demand record;
  v_id integer;
  v_ids integer[] := '{}';
begin
  for v_demand in select * from json_to_recordset(p_demands) x(namespace text, pinned_agent text, capabilities text[]) loop
    select id into v_id from :"schema".job_demands
    where namespace = v_demand.namespace and pinned_agent = coalesce(v_demand.pinned_agent, '')
      and capabilities = coalesce(v_demand.capabilities, '{}');
    if not found then
      insert into :"schema".job_demands (namespace, pinned_agent, capabilities)
      values (v_demand.namespace, coalesce(v_demand.pinned_agent, ''), coalesce(v_demand.capabilities, '{}'))
      returning id into v_id;
    end if;
    v_ids := v_ids || v_id;
  end loop;
  return v_ids;
end
$$;

-- Takes jobs in, an object for each in p_jobs. `demand` says which of p_demands is a job's, counted from 1; its payload is
-- JSON as text. Answers with null where all are new; else with an array that has, in the place of each that is not, what
-- there is under its id or its key.
create function :"schema".submit_jobs(p_jobs json, p_demands json, p_epoch bigint) returns json
language plpgsql strict set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_last bigint := :"schema".lock_events();
  v_now timestamptz := clock_timestamp();
  v_demands integer[] := :"schema".demand_ids(p_demands);
  v_n bigint := (select submitted from :"schema".job_totals);
  v_number integer;
  v_made bigint[];
begin
  with told as (
    select x.*, :"schema".after_ms(to_timestamp(0), x.run_at) as starts
    from rows from (json_to_recordset(p_jobs) as (
      job_id text, namespace text, op text, payload text, priority smallint, demand integer, run_at double precision,
      timeout_ms bigint, max_attempts integer, idempotency_key text, cron text, tick double precision
    )) with ordinality x(
      job_id, namespace, op, payload, priority, demand, run_at, timeout_ms, max_attempts, idempotency_key, cron, tick, i)
  ), made as (
    insert into :"schema".jobs (
      n, job_id, demand, priority, ready, state, max_attempts, leader_epoch, timeout_ms, waits_until, created_at, updated_at,
      tick, namespace, op, idempotency_key, cron, payload)
    select
      v_n + x.i, x.job_id, v_demands[x.demand], x.priority, coalesce(x.starts <= v_now, true), 'queued', x.max_attempts,
      p_epoch, x.timeout_ms, case when x.starts > v_now then x.starts end, v_now, v_now,
      :"schema".after_ms(to_timestamp(0), x.tick), x.namespace, x.op, x.idempotency_key, x.cron, x.payload::json
    from told x order by x.i
    on conflict do nothing
    returning n, job_id, op, namespace
  ), events as (
    insert into :"schema".events (id, number, at, leader_epoch, kind, data)
    select
      v_last + count(*), count(*), v_now, p_epoch, 'jobs',
      json_agg(json_build_array(job_id, op, namespace, 'queued', 0, null) order by n)
    from made having count(*) > 0
  )
  select (select count(*) from told), coalesce(array_agg(n), '{}') into v_number, v_made from made;
  update :"schema".job_totals set submitted = submitted + v_number, queued = queued + cardinality(v_made);
  if cardinality(v_made) = v_number then
    return null;
  end if;
  return (
    select json_agg(
      case when v_n + x.i = any (v_made) then null
      else (
        select json_build_object(
          'job_id', j.job_id, 'job_epoch', j.job_epoch, 'state', j.state,
          'same', j.op = x.op and j.namespace = x.namespace and j.payload::text = x.payload)
        from (
          select * from :"schema".jobs where job_id = x.job_id
          union all
          select * from :"schema".jobs where namespace = x.namespace and idempotency_key = x.idempotency_key
        ) j where j.n < v_n + x.i limit 1) -- Not what a later one of them has made.
      end order by x.i)
    from rows from (json_to_recordset(p_jobs) as (
      job_id text, namespace text, op text, payload text, idempotency_key text
    )) with ordinality x(job_id, namespace, op, payload, idempotency_key, i));
end
$$;

-- What a result makes of a job (src/jobs/core/job-rules.ts).
create function :"schema".state_after(p_success boolean, p_retry boolean, p_attempts integer, p_most integer) returns text
language sql immutable as $$
  select case when p_success then 'succeeded' when not p_retry then 'failed' when p_attempts >= p_most then 'dead' else 'queued' end
$$;

-- How long a job waits after so many attempts, in milliseconds (src/queue/core/backoff.ts).
create function :"schema".pause_after(
  p_attempts integer, p_first_ms double precision, p_cap_ms double precision, p_jitter double precision) returns double precision
language sql immutable as $$
  select floor(least(p_cap_ms, p_first_ms * 2 ^ least(greatest(0, p_attempts - 1), 52)) * (1 - 0.2 * p_jitter) + 0.5)
$$;

-- What agents say became of their jobs. Answers with the state of each that was accepted; for others, judged after those, an
-- object that tells why not, or that it was accepted before. Of two for the same lease of a job, the later is marked `again`.
create function :"schema".report_jobs(p_results json, p_epoch bigint) returns json
language plpgsql strict set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_last bigint := :"schema".lock_events();
  v_now timestamptz := clock_timestamp();
  v_accepted json;
  v_missed integer;
begin
  with told as (
    select * from rows from (json_to_recordset(p_results) as (
      job_id text, job_epoch integer, lease_id text, agent text, success boolean, retry boolean, result text, error text,
      first_ms double precision, cap_ms double precision, jitter double precision, again boolean
    )) with ordinality x(
      job_id, job_epoch, lease_id, agent, success, retry, result, error, first_ms, cap_ms, jitter, again, i)
  ), moved as (
    update :"schema".jobs j set
      state = :"schema".state_after(x.success, x.retry, j.attempts, j.max_attempts),
      buried = :"schema".state_after(x.success, x.retry, j.attempts, j.max_attempts) in ('failed', 'dead'),
      ready = not x.success and :"schema".state_after(false, x.retry, j.attempts, j.max_attempts) = 'queued'
        and :"schema".pause_after(j.attempts, x.first_ms, x.cap_ms, x.jitter) = 0,
      waits_until = case
        when not x.success and :"schema".state_after(false, x.retry, j.attempts, j.max_attempts) = 'queued'
          and :"schema".pause_after(j.attempts, x.first_ms, x.cap_ms, x.jitter) > 0
        then :"schema".after_ms(v_now, :"schema".pause_after(j.attempts, x.first_ms, x.cap_ms, x.jitter))
      end,
      reported_epoch = x.job_epoch, reported_success = x.success,
      run_until = null, leader_epoch = p_epoch, updated_at = v_now, result = x.result::json, error = x.error
    from told x
    where j.job_id = x.job_id and j.state = 'leased' and j.job_epoch = x.job_epoch and j.lease_id = x.lease_id
      and j.agent = x.agent and x.again is null
    returning x.i, x.lease_id, x.agent, j.job_id, j.op, j.namespace, j.state, j.job_epoch
  ), events as (
    insert into :"schema".events (id, number, at, leader_epoch, kind, data)
    select
      v_last + count(*), count(*), v_now, p_epoch, 'jobs',
      json_agg(json_build_array(job_id, op, namespace, state, job_epoch, agent) order by i)
    from moved having count(*) > 0
  ), closed as (
    select lease_id, count(*)::integer as jobs from moved group by lease_id
  ), ended as (
    delete from :"schema".job_leases l using closed c where l.lease_id = c.lease_id and l.open <= c.jobs
  ), shrunk as (
    update :"schema".job_leases l set open = l.open - c.jobs from closed c where l.lease_id = c.lease_id and l.open > c.jobs
  ), counted as (
    update :"schema".job_totals t set
      leased = t.leased - m.all_of_them, succeeded = t.succeeded + m.succeeded, failed = t.failed + m.failed,
      dead = t.dead + m.dead, queued = t.queued + m.queued
    from (
      select
        count(*) as all_of_them, count(*) filter (where state = 'succeeded') as succeeded,
        count(*) filter (where state = 'failed') as failed, count(*) filter (where state = 'dead') as dead,
        count(*) filter (where state = 'queued') as queued
      from moved
    ) m
  )
  select coalesce(json_object_agg(i, state), '{}'), (select count(*) from told) - count(*) into v_accepted, v_missed from moved;
  if v_missed = 0 then
    return json_build_object('accepted', v_accepted);
  end if;
  return json_build_object('accepted', v_accepted, 'missed', (
    select json_object_agg(x.i, case
      when j.n is null then json_build_object('kind', 'unknown')
      when j.job_epoch = x.job_epoch and (j.lease_id <> x.lease_id or j.agent <> x.agent)
        then json_build_object('kind', 'foreign')
      when j.reported_epoch = x.job_epoch and j.reported_success = x.success
        then json_build_object('kind', 'accepted', 'state', j.state)
      else json_build_object(
        'kind', 'stale', 'expected', j.job_epoch + (j.state <> 'leased')::integer)
    end)
    from rows from (json_to_recordset(p_results) as (
      job_id text, job_epoch integer, lease_id text, agent text, success boolean
    )) with ordinality x(job_id, job_epoch, lease_id, agent, success, i)
    left join :"schema".jobs j on j.job_id = x.job_id
    where v_accepted -> x.i::text is null));
end
$$;

-- Ends attempts that nobody reported on, of jobs that are leased under this lease: `returned` costs no attempt, `lost` does,
-- `cancelled` is for good. Answers with an object for each.
create function :"schema".end_attempts(p_jobs bigint[], p_how text, p_error text, p_epoch bigint, p_lease_id text) returns json
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_last bigint := :"schema".lock_events();
  v_now timestamptz := clock_timestamp();
  v_answer json;
begin
  with held as (
    select j.n, j.agent, case
      when p_how = 'cancelled' then 'cancelled'
      when p_how = 'lost' and j.attempts >= j.max_attempts then 'dead' else 'queued'
    end as state
    from unnest(p_jobs) x(n) join :"schema".jobs j using (n) where j.state = 'leased' and j.lease_id = p_lease_id
  ), moved as (
    update :"schema".jobs j set
      state = h.state, ready = h.state = 'queued', buried = h.state = 'dead',
      attempts = j.attempts - (p_how = 'returned')::integer,
      error = coalesce(p_error, j.error), run_until = null, leader_epoch = p_epoch, updated_at = v_now
    from held h where j.n = h.n
    returning j.n, j.job_id, j.op, j.namespace, j.state, j.job_epoch, h.agent
  ), events as (
    insert into :"schema".events (id, number, at, leader_epoch, kind, data)
    select
      v_last + count(*), count(*), v_now, p_epoch, 'jobs',
      json_agg(json_build_array(job_id, op, namespace, state, job_epoch, agent) order by n)
    from moved having count(*) > 0
  ), ended as (
    delete from :"schema".job_leases where lease_id = p_lease_id and open <= (select count(*) from moved)
  ), shrunk as (
    update :"schema".job_leases set open = open - (select count(*) from moved)
    where lease_id = p_lease_id and open > (select count(*) from moved)
  ), counted as (
    update :"schema".job_totals t set
      leased = t.leased - m.all_of_them, queued = t.queued + m.queued, dead = t.dead + m.dead, cancelled = t.cancelled + m.cancelled
    from (
      select
        count(*) as all_of_them, count(*) filter (where state = 'queued') as queued,
        count(*) filter (where state = 'dead') as dead, count(*) filter (where state = 'cancelled') as cancelled
      from moved
    ) m
  )
  select coalesce(json_agg(json_build_object('job_id', job_id, 'agent', agent, 'state', state) order by n), '[]')
  into v_answer from moved;
  return v_answer;
end
$$;

create function :"schema".renew_leases(p_renewals json, p_epoch bigint) returns json
language plpgsql strict set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_order record;
  v_lease :"schema".job_leases;
  v_until timestamptz;
  v_first_end timestamptz;
  v_open json;
  v_answers json[] := '{}';
begin
  for v_order in
    select * from json_to_recordset(p_renewals) x(lease_id text, agent text, ttl_ms double precision, progress json)
  loop
    select * into v_lease from :"schema".job_leases where lease_id = v_order.lease_id;
    if not found then
      v_answers := v_answers || '{"kind": "unknown"}'::json;
    elsif v_lease.agent <> v_order.agent then
      v_answers := v_answers || '{"kind": "foreign"}'::json;
    else
      update :"schema".jobs j set progress = x.progress::json, leader_epoch = p_epoch, updated_at = clock_timestamp()
      from json_to_recordset(v_order.progress) x(job_id text, progress text)
      where j.job_id = x.job_id and j.lease_id = v_lease.lease_id and j.state = 'leased';
      select min(j.run_until), coalesce(json_agg(j.job_id order by j.n), '[]') into v_first_end, v_open
      from unnest(v_lease.jobs) x(n) join :"schema".jobs j using (n) where j.lease_id = v_lease.lease_id and j.state = 'leased';
      v_until := :"schema".after_ms(clock_timestamp(), v_order.ttl_ms);
      update :"schema".job_leases set leased_until = v_until, due_at = least(v_until, v_first_end), leader_epoch = p_epoch
      where lease_id = v_lease.lease_id;
      v_answers := v_answers || json_build_object(
        'kind', 'renewed', 'expires_at', :"schema".ms_since_1970(v_until), 'job_ids', v_open);
    end if;
  end loop;
  return array_to_json(v_answers);
end
$$;

create function :"schema".give_back_jobs(p_orders json, p_epoch bigint) returns json
language plpgsql strict set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_order record;
  v_lease record;
  v_given jsonb;
  v_answers jsonb[] := '{}';
begin
  for v_order in select * from json_to_recordset(p_orders) x(agent text, lease_id text, job_ids text[]) loop
    v_given := '[]';
    for v_lease in
      select l.lease_id, array_agg(j.n) as jobs
      from :"schema".job_leases l cross join unnest(l.jobs) x(n) join :"schema".jobs j using (n)
      where l.agent = v_order.agent and l.lease_id = coalesce(v_order.lease_id, l.lease_id)
        and (v_order.job_ids is null or j.job_id = any (v_order.job_ids))
      group by l.lease_id order by l.lease_id
    loop
      v_given := v_given || :"schema".end_attempts(v_lease.jobs, 'returned', null, p_epoch, v_lease.lease_id)::jsonb;
    end loop;
    v_answers := v_answers || v_given;
  end loop;
  return array_to_json(v_answers);
end
$$;

create function :"schema".cancel_jobs(p_job_ids json, p_epoch bigint) returns json
language plpgsql strict set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_job_id text;
  v_job :"schema".jobs;
  v_answers json[] := '{}';
begin
  for v_job_id in select * from json_array_elements_text(p_job_ids) loop
    select * into v_job from :"schema".jobs where job_id = v_job_id;
    if not found then
      v_answers := v_answers || '{"kind": "unknown"}'::json;
    elsif v_job.state not in ('queued', 'leased', 'cancelled') then
      v_answers := v_answers || json_build_object('kind', 'finished', 'state', v_job.state);
    else
      if v_job.state = 'leased' then
        perform :"schema".end_attempts(array[v_job.n], 'cancelled', null, p_epoch, v_job.lease_id);
      elsif v_job.state = 'queued' then
        perform :"schema".move_job(v_job, 'cancelled', p_epoch);
      end if;
      v_answers := v_answers || '{"kind": "cancelled"}'::json;
    end if;
  end loop;
  return array_to_json(v_answers);
end
$$;

create function :"schema".redrive_jobs(p_job_ids json, p_epoch bigint) returns json
language plpgsql strict set enable_seqscan = off as $$
declare
  v_job_id text;
  v_job :"schema".jobs;
  v_answers json[] := '{}';
begin
  for v_job_id in select * from json_array_elements_text(p_job_ids) loop
    select * into v_job from :"schema".jobs where job_id = v_job_id;
    if not found then
      v_answers := v_answers || '{"kind": "unknown"}'::json;
    elsif v_job.state in ('failed', 'dead', 'cancelled') then
      perform :"schema".move_job(v_job, 'queued', p_epoch);
      v_answers := v_answers || '{"kind": "redriven"}'::json;
    else
      v_answers := v_answers || json_build_object('kind', 'unneeded', 'state', v_job.state);
    end if;
  end loop;
  return array_to_json(v_answers);
end
$$;

-- An operator's hand on a job that nobody works on: cancelled where it waited, or queued as on the first day.
create function :"schema".move_job(p_job :"schema".jobs, p_state text, p_epoch bigint) returns void
language plpgsql set enable_seqscan = off as $$
declare
  v_queued boolean := p_state = 'queued';
begin
  update :"schema".jobs set
    state = p_state, ready = v_queued, buried = false, waits_until = null,
    attempts = case when v_queued then 0 else attempts end,
    leader_epoch = p_epoch, updated_at = clock_timestamp()
  where n = p_job.n;
  perform :"schema".tell('jobs', json_build_array(
    json_build_array(p_job.job_id, p_job.op, p_job.namespace, p_state, p_job.job_epoch, null)), p_epoch);
  update :"schema".job_totals set
    queued = queued + case when v_queued then 1 else -1 end,
    cancelled = cancelled + (p_state = 'cancelled')::integer - (p_job.state = 'cancelled')::integer,
    failed = failed - (p_job.state = 'failed')::integer, dead = dead - (p_job.state = 'dead')::integer;
end
$$;

create function :"schema".beat_agents(p_heartbeats json, p_epoch bigint) returns json
language plpgsql strict set enable_seqscan = off as $$
declare
  v_order record;
  v_deleted boolean;
  v_known boolean;
  v_answers json[] := '{}';
begin
  for v_order in
    select * from json_to_recordset(p_heartbeats) x(
      agent text, namespace text, capabilities text[], version text, tasks integer, registers boolean)
  loop
    select deleted_at is not null into v_deleted from :"schema".agents where name = v_order.agent;
    v_known := found;
    if v_deleted and not v_order.registers then
      v_answers := v_answers || '{"kind": "deleted"}'::json;
      continue;
    end if;
    insert into :"schema".agents (name, namespace, capabilities, version, tasks, leader_epoch)
    values (v_order.agent, v_order.namespace, v_order.capabilities, v_order.version, v_order.tasks, p_epoch)
    on conflict (name) do update set
      namespace = excluded.namespace, capabilities = excluded.capabilities, version = excluded.version, tasks = excluded.tasks,
      last_heartbeat = excluded.last_heartbeat, deleted_at = null, leader_epoch = p_epoch,
      first_seen = case when agents.deleted_at is null then agents.first_seen else excluded.first_seen end;
    if v_deleted or not v_known then
      perform :"schema".tell('agent.registered', json_build_object('agent', v_order.agent), p_epoch);
    end if;
    v_answers := v_answers || '{"kind": "seen"}'::json;
  end loop;
  return array_to_json(v_answers);
end
$$;

create function :"schema".remove_agents(p_agents json, p_epoch bigint) returns json
language plpgsql strict set enable_seqscan = off as $$
declare
  v_agent text;
  v_answers json[] := '{}';
begin
  for v_agent in select * from json_array_elements_text(p_agents) loop
    if not exists (select from :"schema".agents where name = v_agent) then
      v_answers := v_answers || '{"kind": "unknown"}'::json;
      continue;
    end if;
    update :"schema".agents set deleted_at = clock_timestamp(), leader_epoch = p_epoch where name = v_agent and deleted_at is null;
    if found then
      perform :"schema".tell('agent.deleted', json_build_object('agent', v_agent), p_epoch);
    end if;
    v_answers := v_answers || '{"kind": "removed"}'::json;
  end loop;
  return array_to_json(v_answers);
end
$$;

-- Hands out what is ready, poll by poll: the first by priority and submission of all that the agent may take.
create function :"schema".lease_jobs(p_leases json, p_epoch bigint) returns json
language plpgsql strict
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_order record;
  v_answer json;
  v_answers json[] := '{}';
  v_left boolean := true;
  -- How far each demand has been handed out by this very transaction: what it took is not looked at again.
  v_marks jsonb := '{}';
begin
  for v_order in
    select * from json_to_recordset(p_leases) x(
      lease_id text, agent text, namespace text, capabilities text[], max_tasks integer, ttl_ms double precision)
  loop
    v_answer := :"schema".leased_before(v_order.lease_id, v_order.agent);
    if v_answer is null and v_left then
      select p_answer, p_marks into v_answer, v_marks from :"schema".lease_some(
        v_order.lease_id, v_order.agent, v_order.namespace, v_order.capabilities, v_order.max_tasks, v_order.ttl_ms, p_epoch,
        v_marks);
      -- Nothing for this one; where there is nothing for anybody, the others need not look.
      v_left := v_answer is not null or exists (select from :"schema".jobs where ready);
    end if;
    v_answers := v_answers || coalesce(v_answer, '{"kind": "none"}'::json);
  end loop;
  return array_to_json(v_answers);
end
$$;

-- An answer where nothing is to be leased: the same was asked before, or the agent is a tombstone.
create function :"schema".leased_before(p_lease_id text, p_agent text) returns json
language plpgsql as $$
declare
  v_lease :"schema".job_leases;
begin
  if exists (select from :"schema".agents where name = p_agent and deleted_at is not null) then
    return '{"kind": "deleted"}';
  end if;
  select * into v_lease from :"schema".job_leases where lease_id = p_lease_id;
  if not found then
    return null;
  elsif v_lease.agent <> p_agent then
    return '{"kind": "foreign"}';
  end if;
  return json_build_object(
    'kind', 'leased', 'expires_at', :"schema".ms_since_1970(v_lease.leased_until), 'tasks', (
      select json_agg(:"schema".task_of(j) order by j.priority desc, j.n)
      from unnest(v_lease.jobs) x(n) join :"schema".jobs j using (n)
      where j.lease_id = p_lease_id and j.state = 'leased'));
end
$$;

create function :"schema".task_of(p_job :"schema".jobs) returns json
language sql stable as $$
  select json_build_array(
    p_job.job_id, p_job.job_epoch, p_job.op, p_job.payload, p_job.namespace, p_job.attempts, p_job.max_attempts,
    p_job.timeout_ms)
$$;

create function :"schema".lease_some(
  p_lease_id text, p_agent text, p_namespace text, p_capabilities text[], p_most integer, p_ttl_ms double precision,
  p_epoch bigint, inout p_marks jsonb, out p_answer json)
language plpgsql as $$
declare
  v_last bigint := :"schema".lock_events();
  v_now timestamptz := clock_timestamp();
  v_until timestamptz := :"schema".after_ms(v_now, p_ttl_ms);
  v_tasks json;
  v_marks jsonb;
begin
  -- The first of each demand that suits, and of those the first: so each is handed out from its head on, without a gap.
  with picked as (
    select j.n
    from :"schema".job_demands d cross join lateral (
      select j.n, j.priority from :"schema".jobs j
      where j.demand = d.id and j.ready
        and (3 - j.priority, j.n) > (
          coalesce((p_marks -> d.id::text ->> 0)::integer, -1), coalesce((p_marks -> d.id::text ->> 1)::bigint, 0))
      order by 3 - j.priority, j.n limit p_most
    ) j
    where d.namespace = p_namespace and d.pinned_agent in ('', p_agent) and d.capabilities <@ p_capabilities
    order by 3 - j.priority, j.n limit p_most
  ), taken as (
    update :"schema".jobs j set
      state = 'leased', ready = false, job_epoch = j.job_epoch + 1, attempts = j.attempts + 1, lease_id = p_lease_id,
      agent = p_agent, run_until = :"schema".after_ms(v_now, j.timeout_ms), progress = null, leader_epoch = p_epoch,
      updated_at = v_now
    from picked p where j.n = p.n
    returning
      j.n, j.priority, j.demand, j.run_until, :"schema".task_of(j) as task,
      json_build_array(j.job_id, j.op, j.namespace, 'leased', j.job_epoch, p_agent) as told
  ), events as (
    insert into :"schema".events (id, number, at, leader_epoch, kind, data)
    select v_last + count(*), count(*), v_now, p_epoch, 'jobs', json_agg(told order by priority desc, n)
    from taken having count(*) > 0
  ), made as (
    insert into :"schema".job_leases (lease_id, agent, leased_until, due_at, jobs, open, leader_epoch)
    select p_lease_id, p_agent, v_until, least(v_until, min(run_until)), array_agg(n), count(*), p_epoch
    from taken having count(*) > 0
  ), counted as (
    update :"schema".job_totals t set queued = t.queued - m.jobs, leased = t.leased + m.jobs
    from (select count(*) as jobs from taken) m where m.jobs > 0
  )
  select
    (select json_agg(task order by priority desc, n) from taken),
    (
      select jsonb_object_agg(m.demand, jsonb_build_array(3 - m.priority, m.n))
      from (select distinct on (demand) demand, priority, n from taken order by demand, priority, n desc) m
    )
  into v_tasks, v_marks;
  if v_tasks is not null then
    p_marks := p_marks || v_marks;
    p_answer := json_build_object('kind', 'leased', 'expires_at', :"schema".ms_since_1970(v_until), 'tasks', v_tasks);
  end if;
end
$$;

-- Orders of all kinds, an array for each kind that there is, in one fenced transaction. Answers with an array for each.
create function :"schema".apply_jobs(
  p_epoch bigint, p_results json default null, p_renewals json default null, p_give_backs json default null,
  p_cancels json default null, p_redrives json default null, p_submits json default null, p_demands json default null,
  p_heartbeats json default null, p_removals json default null, p_leases json default null) returns json
language plpgsql as $$
declare
  -- In this order: what comes free is handed out by the same transaction.
  v_results json := :"schema".report_jobs(p_results, p_epoch);
  v_renewals json := :"schema".renew_leases(p_renewals, p_epoch);
  v_give_backs json := :"schema".give_back_jobs(p_give_backs, p_epoch);
  v_cancels json := :"schema".cancel_jobs(p_cancels, p_epoch);
  v_redrives json := :"schema".redrive_jobs(p_redrives, p_epoch);
  v_submits json := :"schema".submit_jobs(p_submits, p_demands, p_epoch);
  v_heartbeats json := :"schema".beat_agents(p_heartbeats, p_epoch);
  v_removals json := :"schema".remove_agents(p_removals, p_epoch);
  v_leases json := :"schema".lease_jobs(p_leases, p_epoch);
begin
  return json_build_object(
    'results', v_results, 'renewals', v_renewals, 'give_backs', v_give_backs, 'cancels', v_cancels, 'redrives', v_redrives,
    'submits', v_submits, 'heartbeats', v_heartbeats, 'removals', v_removals, 'leases', v_leases,
    'next_due_ms', :"schema".jobs_due_ms());
end
$$;

-- What has waited long enough is ready; what was kept too long goes back, or is dead. Up to p_limit jobs and leases.
create function :"schema".ripen_jobs(p_epoch bigint, p_limit integer) returns json
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_now timestamptz;
  v_ripened integer;
  v_lease :"schema".job_leases;
  v_late bigint[];
  v_first_end timestamptz;
  v_lost jsonb := '[]';
begin
  perform :"schema".lock_events();
  v_now := clock_timestamp();
  update :"schema".jobs j set ready = true, waits_until = null, updated_at = v_now, leader_epoch = p_epoch
  from (
    select n from :"schema".jobs where waits_until <= v_now order by waits_until limit p_limit
  ) due
  where j.n = due.n;
  get diagnostics v_ripened = row_count;
  for v_lease in select * from :"schema".job_leases where due_at <= v_now order by due_at limit p_limit loop
    if v_lease.leased_until <= v_now then
      v_lost := v_lost || :"schema".end_attempts(v_lease.jobs, 'lost', 'the lease ran out', p_epoch, v_lease.lease_id)::jsonb;
      continue;
    end if;
    select array_agg(j.n) filter (where j.run_until <= v_now), min(j.run_until) filter (where j.run_until > v_now)
    into v_late, v_first_end
    from unnest(v_lease.jobs) x(n) join :"schema".jobs j using (n)
    where j.lease_id = v_lease.lease_id and j.state = 'leased';
    update :"schema".job_leases set due_at = least(leased_until, v_first_end) where lease_id = v_lease.lease_id;
    v_lost := v_lost
      || :"schema".end_attempts(v_late, 'lost', 'took longer than its timeout', p_epoch, v_lease.lease_id)::jsonb;
  end loop;
  return json_build_object('ripened', v_ripened, 'lost', v_lost, 'next_due_ms', :"schema".jobs_due_ms());
end
$$;

-- Forgets what is finished and old: a slice of the jobs from p_from on, the oldest events but never the newest, old agents.
create function :"schema".compact_jobs(
  p_states text[], p_jobs_ms double precision, p_events_ms double precision, p_agents_ms double precision, p_from bigint,
  p_limit integer) returns json
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
  v_now timestamptz;
  v_jobs integer;
  v_events integer;
  v_agents integer;
  v_seen integer;
  v_next bigint;
  v_newest timestamptz;
begin
  perform :"schema".lock_events();
  v_now := clock_timestamp();
  with slice as (
    select n, state, created_at, updated_at from :"schema".jobs where n >= p_from order by n limit p_limit
  ), gone as (
    delete from :"schema".jobs j using slice s
    where j.n = s.n and s.state not in ('queued', 'leased') and s.state = any (p_states)
      and s.updated_at <= :"schema".after_ms(v_now, -p_jobs_ms)
    returning s.state
  ), counted as (
    update :"schema".job_totals t set
      succeeded = t.succeeded - g.succeeded, failed = t.failed - g.failed, dead = t.dead - g.dead,
      cancelled = t.cancelled - g.cancelled
    from (
      select
        count(*) filter (where state = 'succeeded') as succeeded, count(*) filter (where state = 'failed') as failed,
        count(*) filter (where state = 'dead') as dead, count(*) filter (where state = 'cancelled') as cancelled
      from gone
    ) g
  )
  select count(*), max(n) + 1, max(created_at), (select count(*) from gone) into v_seen, v_next, v_newest, v_jobs from slice;
  with gone as (
    delete from :"schema".events e using (
      select id from :"schema".events order by id limit p_limit
    ) oldest
    where e.id = oldest.id and e.at <= :"schema".after_ms(v_now, -p_events_ms)
      and e.id < (select max(id) from :"schema".events)
    returning e.number
  )
  select coalesce(sum(number), 0) into v_events from gone;
  delete from :"schema".agents
  where coalesce(deleted_at, last_heartbeat) <= :"schema".after_ms(v_now, -p_agents_ms)
    and not exists (select from :"schema".job_leases l where l.agent = agents.name);
  get diagnostics v_agents = row_count;
  return json_build_object(
    'jobs', v_jobs, 'events', v_events, 'agents', v_agents,
    -- Jobs are in the order in which they were submitted: what follows one that is too young is so, too.
    'next', case when v_seen = p_limit and v_newest <= :"schema".after_ms(v_now, -p_jobs_ms) then v_next end);
end
$$;

-- What no job asks for any more. p_used: what is asked for by jobs up to p_after, as was read before, without a lock. What came
-- later is looked at here, while nothing can be submitted.
create function :"schema".forget_demands(p_used integer[], p_after bigint, p_limit integer) returns integer
language plpgsql as $$
declare
  v_number integer;
  v_used integer[];
begin
  perform :"schema".lock_events();
  v_used := p_used || array(select distinct demand from :"schema".jobs where n > p_after);
  delete from :"schema".job_demands where id in (
    select id from :"schema".job_demands where id <> all (v_used) order by id limit p_limit);
  get diagnostics v_number = row_count;
  return v_number;
end
$$;
