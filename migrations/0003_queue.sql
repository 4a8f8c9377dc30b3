-- oldest-code: 2
-- The durable staged queue. A lane is a log: messages are only added, and the lane's row says how far it is finished.

-- Every queue there is, and the role whose leader alone works on it.
create table :"schema".queues (
  name text primary key,
  role text not null,
  created_at timestamptz not null default clock_timestamp()
);

-- Messages come in segments, each a partition of its own, opened one after another. What is old and finished is dropped whole.
create table :"schema".queue_segments (
  queue text not null,
  segment integer generated always as identity primary key,
  opened_at timestamptz not null default clock_timestamp(),
  closed_at timestamptz
);
create index queue_segments_queue on :"schema".queue_segments (queue, segment);

-- The whole state of a lane. It changes once for a batch of messages and not for each of them; no index holds what changes
-- with every batch, so updates stay HOT.
create table :"schema".lanes (
  id bigint generated always as identity primary key,
  queue text not null,
  stage text not null,
  name text not null,
  -- Everything up to here is finished; and the segment that it was in, below which nothing has to be looked for.
  done bigint not null default 0,
  done_segment integer not null default 0,
  -- Up to here it is in flight: more than `done` while somebody works on it.
  claimed bigint not null default 0,
  claim bigint not null default 0,
  claim_epoch bigint not null default 0,
  leased_until timestamptz,
  -- What the head, the message after `done`, has been through.
  attempts integer not null default 0,
  reclaims integer not null default 0,
  wait_until timestamptz,
  last_error text,
  blocked boolean not null default false,
  paused boolean not null default false,
  -- Somebody paused, resumed or skipped, and the leader has not been told yet.
  steered boolean not null default false,
  -- False where a new leader need not look.
  busy boolean not null default true,
  unique (queue, stage, name)
) with (fillfactor = 50);
create index lanes_busy on :"schema".lanes (queue) where busy;
create index lanes_steered on :"schema".lanes (queue) where steered;

-- Insert only. The key is the order: lane and position; an append that is asked for twice adds nothing.
create table :"schema".messages (
  segment integer not null,
  lane bigint not null,
  position bigint not null,
  epoch bigint not null,
  at timestamptz not null default clock_timestamp(),
  key text,
  headers jsonb,
  body bytea not null,
  primary key (lane, position, segment)
) partition by list (segment);

-- Which messages with an idempotency key were taken in. Goes with the segment.
create table :"schema".message_keys (
  queue text not null,
  key text not null,
  lane bigint not null,
  position bigint not null,
  segment integer not null,
  primary key (queue, key)
);
create index message_keys_segment on :"schema".message_keys (segment);

create table :"schema".dead_letters (
  id bigint generated always as identity primary key,
  queue text not null,
  stage text not null,
  lane text not null,
  position bigint not null,
  key text,
  headers jsonb,
  body bytea not null,
  reason text not null,
  attempts integer not null,
  reclaims integer not null,
  died_at timestamptz not null default clock_timestamp(),
  -- When it was taken in again, and at which position of its lane: asked for twice, it goes there once.
  redriven_at timestamptz,
  redriven_to bigint
);
create index dead_letters_queue on :"schema".dead_letters (queue, id);

create function :"schema".lane_tail(p_lane :"schema".lanes) returns bigint
language sql stable as $$
  -- Of a segment that was dropped before an older one, nothing is left but what the row says.
  select greatest(max(m.position), p_lane.done) from :"schema".messages m
  where m.lane = p_lane.id and m.segment >= p_lane.done_segment
$$;

-- p_tail: the last position, where it is known and need not be looked for.
create function :"schema".lane_view(p_lane :"schema".lanes, p_tail bigint default null) returns jsonb
language sql volatile as $$
  select jsonb_build_object(
    'id', p_lane.id, 'stage', p_lane.stage, 'lane', p_lane.name, 'done', p_lane.done,
    'tail', coalesce(p_tail, :"schema".lane_tail(p_lane)), 'attempts', p_lane.attempts, 'reclaims', p_lane.reclaims,
    'wait_ms', greatest(0, coalesce(:"schema".ms_between(p_lane.wait_until, clock_timestamp()), 0)),
    'paused', p_lane.paused, 'blocked', p_lane.blocked, 'last_error', p_lane.last_error)
$$;

-- The head of a lane makes way: its body is kept apart, and the lane goes on behind it.
create function :"schema".bury_head(p_lane bigint, p_reason text, p_attempts integer) returns void
language plpgsql as $$
declare
  v_lane :"schema".lanes;
begin
  select * into v_lane from :"schema".lanes where id = p_lane;
  insert into :"schema".dead_letters (queue, stage, lane, position, key, headers, body, reason, attempts, reclaims)
  select v_lane.queue, v_lane.stage, v_lane.name, m.position, m.key, m.headers, m.body, p_reason, p_attempts, v_lane.reclaims
  from :"schema".messages m
  where m.lane = p_lane and m.segment >= v_lane.done_segment and m.position = v_lane.done + 1;
  if not found then
    return;
  end if;
  update :"schema".lanes set
    done = done + 1, claimed = greatest(claimed, done + 1), attempts = 0, reclaims = 0, wait_until = null, last_error = null, blocked = false
  where id = p_lane;
end
$$;

-- The contiguous prefix of each lane, by the index on (lane, position), from what the row says is finished. Whoever has something
-- in flight, is paused or blocked gets nothing: a head that waits holds its lane. How it is packed: src/store/postgres/queue-wire.ts.
-- A function, so that the plan is made once a session: to make it takes longer than to claim a few messages. Each lane and its
-- messages are found by their keys, whatever old statistics make the planner believe; and what is claimed stays in memory.
create function :"schema".claim_lanes(
  p_lanes bigint[], p_limits integer[], p_lane_bytes bigint, p_claim bigint, p_epoch bigint, p_lease_ms bigint)
returns table (lane bigint, described text, bodies bytea)
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set work_mem = '32MB' as $$
#variable_conflict use_column
begin
  return query
  with free as (
    select l.id, l.done, l.done_segment, w.most
    from unnest(p_lanes, p_limits) w(id, most) join :"schema".lanes l using (id)
    where l.claimed = l.done and not l.paused and not l.blocked
      and (l.wait_until is null or l.wait_until <= clock_timestamp())
  ), found as (
    select f.id as lane, m.* from free f cross join lateral (
      select
        max(m.position) as last,
        json_build_array(
          min(m.position), array_agg(octet_length(m.body) order by m.position), array_agg(m.segment order by m.position),
          array_agg(floor(date_part('epoch', m.at) * 1000)::bigint order by m.position),
          case when bool_or(m.key is not null or m.headers is not null)
            then json_agg(json_build_array(m.key, m.headers) order by m.position) end,
          floor(date_part('epoch', clock_timestamp()) * 1000)::bigint)::text as described,
        string_agg(m.body, ''::bytea order by m.position) as bodies
      from (
        select
          m.*, row_number() over (order by m.position) as place,
          sum(octet_length(m.body)) over (order by m.position) as bytes
        from :"schema".messages m
        where m.lane = f.id and m.segment >= f.done_segment and m.position between f.done + 1 and f.done + f.most
      ) m
      where m.position = f.done + m.place -- Never past a gap: a lane that has one stands still.
        and (m.place = 1 or m.bytes <= p_lane_bytes)
    ) m
    where m.last is not null
  ), claimed as (
    update :"schema".lanes l set
      claimed = x.last, claim = p_claim, claim_epoch = p_epoch, wait_until = null,
      leased_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    from found x where l.id = x.lane
  )
  select x.lane, x.described, x.bodies from found x order by x.lane;
end
$$;

-- The same for lanes whose next messages the leader has in memory, because it has taken them in itself: nothing is read, and the answer are
-- the lanes that were claimed, each from what follows p_done to p_last. One row at a time, as settle_progress below.
create function :"schema".claim_known(
  p_lanes bigint[], p_done bigint[], p_last bigint[], p_claim bigint, p_epoch bigint, p_lease_ms bigint) returns jsonb
language plpgsql set enable_seqscan = off as $$
declare
  v_claimed bigint[] := '{}';
begin
  for v_place in 1 .. cardinality(p_lanes) loop
    update :"schema".lanes set
      claimed = p_last[v_place], claim = p_claim, claim_epoch = p_epoch, wait_until = null,
      leased_until = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    where id = p_lanes[v_place] and done = p_done[v_place] and claimed = done and not paused and not blocked
      and (wait_until is null or wait_until <= clock_timestamp());
    if found then
      v_claimed := v_claimed || p_lanes[v_place];
    end if;
  end loop;
  return to_jsonb(v_claimed);
end
$$;

-- What became of claims, for many lanes at once: an object for each in p_settlements. Answers with the lanes whose claim is
-- another by now; where p_all, nothing is then settled at all. Lanes are looked up one by one: after the first claims of an
-- epoch the statistics say that nearly no lane has it, and the planner would rather go through all of them.
create function :"schema".settle_lanes(p_settlements json, p_epoch bigint, p_all boolean) returns jsonb
language plpgsql set enable_seqscan = off as $$
declare
  v_gone jsonb;
begin
  with told as (
    select * from json_to_recordset(p_settlements) x(
      lane bigint, claim bigint, done bigint, segment integer, attempts integer, wait_ms bigint, error text, blocked boolean,
      keeps boolean)
  ), settled as (
    update :"schema".lanes l set
      done = greatest(l.done, x.done), done_segment = coalesce(x.segment, l.done_segment),
      claimed = case when x.keeps then l.claimed else x.done end,
      claim = case when x.keeps then l.claim else 0 end,
      leased_until = case when x.keeps then l.leased_until end,
      attempts = coalesce(x.attempts, case when x.done > l.done then 0 else l.attempts end),
      reclaims = case when x.done > l.done then 0 else l.reclaims end,
      wait_until = clock_timestamp() + x.wait_ms * interval '1 millisecond',
      last_error = coalesce(x.error, case when x.done > l.done then null else l.last_error end),
      blocked = coalesce(x.blocked, false)
    from told x
    where l.id = x.lane and l.claim = x.claim and l.claim_epoch = p_epoch and x.done between l.done and l.claimed
    returning l.id
  )
  select coalesce(jsonb_agg(x.lane), '[]') into v_gone from told x where x.lane not in (select id from settled);
  if p_all and v_gone <> '[]' then
    -- What a claim that is gone has produced, its successor will produce too.
    raise exception using errcode = 'HF010', message = 'claims are gone', detail = v_gone;
  end if;
  perform :"schema".bury_head(x.lane, x.error, x.attempts)
  from json_to_recordset(p_settlements) x(lane bigint, attempts integer, error text, dead boolean)
  where x.dead and not v_gone @> to_jsonb(x.lane);
  return v_gone;
end
$$;

-- The same where all that happened is that lanes got further and are still worked on. Where every message is settled by itself
-- this is what happens nearly always, and a plan for one row at a time costs a third of one for many.
create function :"schema".settle_progress(
  p_lanes bigint[], p_claims bigint[], p_done bigint[], p_segments integer[], p_epoch bigint, p_all boolean) returns jsonb
language plpgsql set enable_seqscan = off as $$
declare
  v_gone bigint[] := '{}';
begin
  for v_place in 1 .. cardinality(p_lanes) loop
    update :"schema".lanes set
      done = p_done[v_place], done_segment = p_segments[v_place], wait_until = null, blocked = false,
      attempts = case when done < p_done[v_place] then 0 else attempts end,
      reclaims = case when done < p_done[v_place] then 0 else reclaims end,
      last_error = case when done < p_done[v_place] then null else last_error end
    where id = p_lanes[v_place] and claim = p_claims[v_place] and claim_epoch = p_epoch
      and p_done[v_place] between done and claimed;
    if not found then
      v_gone := v_gone || p_lanes[v_place];
    end if;
  end loop;
  if p_all and v_gone <> '{}' then
    raise exception using errcode = 'HF010', message = 'claims are gone', detail = to_jsonb(v_gone);
  end if;
  return to_jsonb(v_gone);
end
$$;

-- An operator gives up on a head that holds its lane. Not fenced: the row itself says that no leader works on it, and while it
-- is blocked none begins to. Null where there is no such lane.
create function :"schema".skip_head(p_queue text, p_stage text, p_name text) returns jsonb
language plpgsql as $$
declare
  v_lane :"schema".lanes;
  v_skipped boolean;
begin
  select * into v_lane from :"schema".lanes where queue = p_queue and stage = p_stage and name = p_name for update;
  if not found then
    return null;
  end if;
  v_skipped := v_lane.blocked and v_lane.claimed = v_lane.done;
  if v_skipped then
    perform :"schema".bury_head(v_lane.id, coalesce(v_lane.last_error, 'skipped'), v_lane.attempts);
    update :"schema".lanes set steered = true, busy = true where id = v_lane.id returning * into v_lane;
  end if;
  return jsonb_build_object('skipped', v_skipped, 'lane', :"schema".lane_view(v_lane));
end
$$;

-- On promotion, under the fence of the new epoch: what earlier ones had in flight goes back, blind to its lease, at a cost of
-- what was in flight. It costs no attempt; but a head that was in flight when one leader after another went down may be what
-- fells them, so that is counted apart. p_own: also what this epoch has in flight, which counts nothing.
-- A queue belongs to the role that led it first: where that is another one, nothing is touched, and its name is the answer.
create function :"schema".recover_queue(
  p_queue text, p_role text, p_epoch bigint, p_max_reclaims integer, p_own boolean) returns jsonb
language plpgsql as $$
declare
  v_role text;
  v_lane record;
  v_reclaimed integer := 0;
  v_quarantined integer := 0;
  v_segment integer;
begin
  insert into :"schema".queues (name, role) values (p_queue, p_role) on conflict (name) do nothing;
  select role into v_role from :"schema".queues where name = p_queue;
  if v_role <> p_role then
    return jsonb_build_object('role', v_role);
  end if;
  for v_lane in
    update :"schema".lanes set
      claimed = done, claim = 0, leased_until = null, reclaims = reclaims + (claim_epoch < p_epoch)::integer
    where queue = p_queue and busy and claimed > done and (p_own or claim_epoch < p_epoch)
    returning id, reclaims, attempts
  loop
    v_reclaimed := v_reclaimed + 1;
    if v_lane.reclaims > p_max_reclaims then
      perform :"schema".bury_head(
        v_lane.id, format('in flight in %s crashes in a row', v_lane.reclaims), v_lane.attempts);
      v_quarantined := v_quarantined + 1;
    end if;
  end loop;
  select segment into v_segment from :"schema".queue_segments
  where queue = p_queue and closed_at is null order by segment desc limit 1;
  return jsonb_build_object(
    'role', v_role, 'segment', v_segment, 'reclaimed', v_reclaimed, 'quarantined', v_quarantined);
end
$$;

-- A new segment is a partition of its own. A table that is made alone and attached goes well with whoever reads or writes the
-- others meanwhile; one that is created as a partition would wait for every reader, and all appends behind it.
create function :"schema".open_segment(p_queue text) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  v_segment integer;
begin
  update :"schema".queue_segments set closed_at = clock_timestamp() where queue = p_queue and closed_at is null;
  insert into :"schema".queue_segments (queue) values (p_queue) returning segment into v_segment;
  execute format(
    'create table %I.%I (like %I.messages including all)', :'schema', 'messages_' || v_segment, :'schema');
  -- Bodies are bytes that compress badly or not at all; trying costs more than it saves.
  execute format('alter table %I.%I alter column body set storage external', :'schema', 'messages_' || v_segment);
  execute format(
    'alter table %I.messages attach partition %I.%I for values in (%s)',
    :'schema', :'schema', 'messages_' || v_segment, v_segment);
  return v_segment;
end
$$;

-- Drops the oldest segment that is old and finished, and answers with it. A segment that still holds a message beyond its lane's `done` stays. To drop a partition takes
-- a lock that everybody waits behind, so whoever reads for longer than this is not waited for: there is a next time.
create function :"schema".drop_segments(p_queue text, p_closed_for_ms bigint) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '100ms' as $$
declare
  v_segment integer;
begin
  for v_segment in
    select s.segment from :"schema".queue_segments s
    where s.queue = p_queue and s.closed_at < clock_timestamp() - p_closed_for_ms * interval '1 millisecond'
    order by s.segment
  loop
    -- An append of before that still goes on is waited for, and seen.
    execute format('lock table %I.%I in share mode', :'schema', 'messages_' || v_segment);
    if exists (
      select from :"schema".lanes l
      cross join lateral (
        select from :"schema".messages m
        where m.lane = l.id and m.segment = v_segment and m.position > l.done limit 1
      ) unfinished
      where l.queue = p_queue and l.done_segment <= v_segment
    ) then
      continue;
    end if;
    delete from :"schema".message_keys where segment = v_segment;
    delete from :"schema".queue_segments where segment = v_segment;
    execute format('drop table %I.%I', :'schema', 'messages_' || v_segment);
    -- One at a time: the lock of the drop is held until the commit, and nothing that takes long may come after it.
    return v_segment;
  end loop;
  return null;
exception when lock_not_available then
  return null;
end
$$;

-- They do what only the owner of the tables can: not for everybody who sees the schema (src/store/postgres/grants.ts).
revoke execute on function :"schema".open_segment(text), :"schema".drop_segments(text, bigint) from public;
