-- oldest-code: 2
-- Crons: what they are, how far each has been decided on, and what became of its ticks. The leader of `scheduler` alone writes
-- here. Times are whole milliseconds of the database's clock, so that a last tick can be compared with what was read.

create table :"schema".crons (
  name text collate "C" primary key,
  -- Raised by every change of what it is: what was planned for an older one is not done.
  generation integer not null default 1,
  source text not null check (source in ('settings', 'code')),
  schedule text not null,
  time_zone text not null,
  op text not null,
  payload json not null,
  missed text not null check (missed in ('skip', 'coalesce', 'catch_up')),
  max_catch_up integer not null,
  paused boolean not null default false,
  -- Since when no settings name it any more. It does not fire, and comes back when they do.
  gone_at timestamptz,
  -- Every tick up to here has been decided on.
  last_tick timestamptz not null,
  leader_epoch bigint not null
) with (fillfactor = 50);

-- What was decided. `missed`: how many ticks before this one got no job. A tick is decided on once; whoever triggers a cron
-- makes one of his own.
create table :"schema".cron_ticks (
  id bigint generated always as identity primary key,
  cron text collate "C" not null,
  tick timestamptz not null,
  decided_at timestamptz not null,
  kind text not null check (kind in ('fired', 'coalesced', 'skipped', 'triggered')),
  missed integer not null,
  job_id text collate "C",
  leader_epoch bigint not null
);
create unique index cron_ticks_once on :"schema".cron_ticks (cron, tick) where kind <> 'triggered';
create unique index cron_ticks_triggered on :"schema".cron_ticks (job_id) where kind = 'triggered';
create index cron_ticks_cron on :"schema".cron_ticks (cron, id);

create function :"schema".now_ms() returns timestamptz
language sql volatile as $$
  select date_trunc('milliseconds', clock_timestamp())
$$;

create function :"schema".cron_view(p_cron :"schema".crons) returns json
language sql stable as $$
  select json_build_object(
    'name', p_cron.name, 'generation', p_cron.generation, 'source', p_cron.source, 'schedule', p_cron.schedule,
    'time_zone', p_cron.time_zone, 'op', p_cron.op, 'payload', p_cron.payload, 'missed', p_cron.missed,
    'max_catch_up', p_cron.max_catch_up, 'paused', p_cron.paused, 'gone_at', :"schema".ms_since_1970(p_cron.gone_at),
    'last_tick', :"schema".ms_since_1970(p_cron.last_tick))
$$;

-- Makes crons what they are told to be. One that is new, fires at other times than before or was gone begins now: what lies
-- before was nobody's wish. With p_complete, these are all that the settings name, and the others of theirs are gone.
create function :"schema".define_crons(p_crons json, p_complete boolean, p_epoch bigint) returns void
language plpgsql as $$
declare
  v_now timestamptz := :"schema".now_ms();
begin
  -- In the order in which mark_ticks takes them: a leader that was deposed may still have a plan under way.
  perform from :"schema".crons order by name for update;
  insert into :"schema".crons as c (
    name, source, schedule, time_zone, op, payload, missed, max_catch_up, last_tick, leader_epoch)
  select x.name, x.source, x.schedule, x.time_zone, x.op, x.payload::json, x.missed, x.max_catch_up, v_now, p_epoch
  from json_to_recordset(p_crons) x(
    name text, source text, schedule text, time_zone text, op text, payload text, missed text, max_catch_up integer)
  order by x.name
  on conflict (name) do update set
    generation = c.generation + 1, source = excluded.source, schedule = excluded.schedule, time_zone = excluded.time_zone,
    op = excluded.op, payload = excluded.payload, missed = excluded.missed, max_catch_up = excluded.max_catch_up,
    gone_at = null, leader_epoch = p_epoch,
    last_tick = case
      when c.gone_at is null and c.schedule = excluded.schedule and c.time_zone = excluded.time_zone then c.last_tick
      else greatest(c.last_tick, v_now)
    end
  where c.gone_at is not null
    or (c.source, c.schedule, c.time_zone, c.op, c.payload::text, c.missed, c.max_catch_up) is distinct from (
      excluded.source, excluded.schedule, excluded.time_zone, excluded.op, excluded.payload::text, excluded.missed,
      excluded.max_catch_up);
  if p_complete then
    update :"schema".crons c set generation = generation + 1, gone_at = v_now, leader_epoch = p_epoch
    where c.source = 'settings' and c.gone_at is null
      and not exists (select from json_to_recordset(p_crons) x(name text) where x.name = c.name);
  end if;
end
$$;

-- Notes what was decided on, under the locks of the crons' rows, for all of them or for none. Their jobs follow in the same
-- transaction. p_holds_ms: how old a plan may be.
create function :"schema".mark_ticks(p_orders json, p_holds_ms double precision, p_epoch bigint) returns void
language plpgsql as $$
declare
  v_order record;
  v_newest timestamptz;
  v_now timestamptz;
begin
  for v_order in
    select * from json_to_recordset(p_orders) x(
      cron text, generation integer, last_tick double precision, planned_at double precision, marks json)
    order by x.cron
  loop
    -- The compare and set: the same generation and the same last tick as when it was planned.
    perform from :"schema".crons c
    where c.name = v_order.cron and c.generation = v_order.generation and not c.paused and c.gone_at is null
      and c.last_tick = :"schema".after_ms(to_timestamp(0), v_order.last_tick)
    for update;
    if not found then
      raise exception 'cron % is not as it was planned for', v_order.cron using errcode = 'HF011';
    end if;
    select max(:"schema".after_ms(to_timestamp(0), m.tick)) into v_newest
    from json_to_recordset(v_order.marks) m(tick double precision);
    v_now := clock_timestamp(); -- After the lock was waited for.
    if v_newest > v_now or v_now > :"schema".after_ms(to_timestamp(0), v_order.planned_at + p_holds_ms) then
      raise exception 'the plan for cron % does not fit the time', v_order.cron using errcode = 'HF012';
    end if;
    insert into :"schema".cron_ticks (cron, tick, decided_at, kind, missed, job_id, leader_epoch)
    select v_order.cron, :"schema".after_ms(to_timestamp(0), m.tick), v_now, m.kind, m.missed, m.job_id, p_epoch
    from json_to_recordset(v_order.marks) m(tick double precision, kind text, missed integer, job_id text)
    order by m.tick;
    update :"schema".crons set last_tick = v_newest, leader_epoch = p_epoch where name = v_order.cron;
  end loop;
end
$$;

-- Asked for again with the same job, it notes nothing more.
create function :"schema".trigger_cron(p_cron text, p_job_id text, p_epoch bigint) returns void
language plpgsql as $$
begin
  perform from :"schema".crons where name = p_cron and gone_at is null for update;
  if not found then
    raise exception 'there is no cron %', p_cron using errcode = 'HF013';
  end if;
  insert into :"schema".cron_ticks (cron, tick, decided_at, kind, missed, job_id, leader_epoch)
  values (p_cron, :"schema".now_ms(), clock_timestamp(), 'triggered', 0, p_job_id, p_epoch)
  on conflict do nothing;
end
$$;

-- What falls into a pause is not made up for: a cron that goes on begins now.
create function :"schema".pause_cron(p_cron text, p_paused boolean, p_epoch bigint) returns void
language sql as $$
  update :"schema".crons set
    paused = p_paused, generation = generation + 1, leader_epoch = p_epoch,
    last_tick = case when p_paused then last_tick else greatest(last_tick, :"schema".now_ms()) end
  where name = p_cron and paused <> p_paused
$$;
