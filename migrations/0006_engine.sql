-- oldest-code: 2
-- The message engine's journal: what was received and what became of it, written by the commits of its queue and never changed.
-- Partitions are ranges of ids, so what is old is dropped whole, and a search goes from the newest to the oldest.

-- Ids are given from the newest partition on, from its first; its number is in the names of its tables.
create table :"schema".engine_partitions (
  number integer primary key,
  first_id bigint not null unique,
  opened_at timestamptz not null default clock_timestamp()
);

create table :"schema".engine_messages (
  id bigint primary key,
  received_at timestamptz not null default clock_timestamp(),
  connection text collate "C" not null,
  type text collate "C" not null,
  control_id text collate "C" not null,
  -- Where its body is, as long as the queue keeps it.
  lane bigint not null,
  position bigint not null,
  segment integer not null,
  size integer not null,
  ack bytea,
  replay_of bigint
) partition by range (id);
create index engine_messages_connection on :"schema".engine_messages (connection, id);
create index engine_messages_type on :"schema".engine_messages (type, id);
create index engine_messages_control_id on :"schema".engine_messages (control_id, id);

create table :"schema".engine_steps (
  -- The message's.
  id bigint not null,
  kind text collate "C" not null check (kind in ('unrouted', 'filtered', 'processed', 'sent')),
  at timestamptz not null default clock_timestamp(),
  stage text not null,
  lane text not null,
  position bigint not null,
  detail json
) partition by range (id);
create index engine_steps_id on :"schema".engine_steps (id);
create index engine_steps_kind on :"schema".engine_steps (kind, id);

-- A function, so that the plan is made once a session and not for every message. A message may outlive its partition, in a lane
-- that was held for long: then nobody can look for its steps.
create function :"schema".write_steps(p_steps json) returns void
language plpgsql as $$
begin
  insert into :"schema".engine_steps (id, kind, stage, lane, position, detail)
  select x.id, x.kind, x.stage, x.lane, x.position, x.detail::json
  from json_to_recordset(p_steps) x(id bigint, kind text, stage text, lane text, position bigint, detail text)
  where x.id >= (select min(first_id) from :"schema".engine_partitions);
end
$$;

-- The words of a run of messages, spread over buckets by their hashes: src/store/engine-words.ts says how they are packed.
-- No word can be read from it.
create table :"schema".engine_words (
  bucket smallint not null,
  first_id bigint not null,
  postings bytea not null,
  primary key (bucket, first_id)
) partition by range (first_id);
create table :"schema".engine_word_runs (
  first_id bigint primary key,
  last_id bigint not null
);

-- A version for each namespace, raised by every commit that writes to it: who has it has all of the namespace.
create table :"schema".engine_namespaces (
  namespace text collate "C" primary key,
  version bigint not null
);
-- A value that is null was forgotten.
create table :"schema".engine_state (
  namespace text collate "C" not null,
  key text collate "C" not null,
  value json,
  version bigint not null,
  primary key (namespace, key)
);
create index engine_state_version on :"schema".engine_state (namespace, version);

create table :"schema".engine_references (
  name text collate "C" primary key,
  version bigint not null,
  hash text not null,
  size integer not null,
  published_at timestamptz not null default clock_timestamp(),
  -- The chunks that are it. Those of other drafts of its name were given up, or are being written.
  draft text not null
);
create table :"schema".engine_reference_chunks (
  draft text collate "C" not null,
  chunk integer not null,
  name text collate "C" not null,
  rows text not null,
  primary key (draft, chunk)
);
create index engine_reference_chunks_name on :"schema".engine_reference_chunks (name);

-- Sets that could not be built when their leader last tried, and since when they fail for that reason.
create table :"schema".engine_reference_failures (
  name text collate "C" primary key,
  reason text not null,
  failed_at timestamptz not null default clock_timestamp()
);

-- Which configuration a node runs. It is its process that says so: what another one said before does not count.
alter table :"schema".nodes
  add column config_incarnation text,
  add column config_loaded bigint,
  add column config_hash text,
  add column config_error text;

-- The received message that one of the queue comes from; null where it says none.
create function :"schema".journal_id(p_headers jsonb) returns bigint
language sql immutable parallel safe as $$
  select case when p_headers->>'id' ~ '^[0-9]{1,15}$' then (p_headers->>'id')::bigint end
$$;
create index dead_letters_journal on :"schema".dead_letters (:"schema".journal_id(headers)) where queue = 'engine';

-- Where the next id is; null where there is no partition.
create function :"schema".engine_next_id(out next_id bigint, out end_id bigint)
language sql stable as $$
  select greatest(p.first_id, 1, (select max(id) + 1 from :"schema".engine_messages)), p.first_id + 1000000
  from :"schema".engine_partitions p order by p.number desc limit 1
$$;

-- A partition is made alone and attached, as the segments of the queue are. Ids jump to its first.
create function :"schema".open_engine_partition(out next_id bigint, out end_id bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  v_number integer;
  v_table text;
begin
  select coalesce(max(number), 0) + 1 into v_number from :"schema".engine_partitions;
  -- The first id is 1.
  next_id := greatest((v_number - 1)::bigint * 1000000, 1);
  end_id := v_number::bigint * 1000000;
  insert into :"schema".engine_partitions (number, first_id) values (v_number, (v_number - 1)::bigint * 1000000);
  foreach v_table in array array['engine_messages', 'engine_steps', 'engine_words'] loop
    execute format(
      'create table %I.%I (like %I.%I including all)', :'schema', v_table || '_' || v_number, :'schema', v_table);
    execute format(
      'alter table %I.%I attach partition %I.%I for values from (%s) to (%s)',
      :'schema', v_table, :'schema', v_table || '_' || v_number, (v_number - 1)::bigint * 1000000, end_id);
  end loop;
end
$$;

-- Drops the oldest partition if all of it is old, and answers with how many messages it held; null where there is none such.
-- The newest stays: ids go on behind it. As with segments, whoever reads for long is not waited for.
create function :"schema".drop_engine_partition(p_older_than_ms bigint) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '100ms' as $$
declare
  v_partition :"schema".engine_partitions;
  v_end bigint;
  v_newest timestamptz;
  v_count bigint;
  v_table text;
begin
  select * into v_partition from :"schema".engine_partitions order by number limit 1;
  select first_id into v_end from :"schema".engine_partitions where number > v_partition.number order by number limit 1;
  if v_end is null then
    return null;
  end if;
  select received_at into v_newest from :"schema".engine_messages
  where id >= v_partition.first_id and id < v_end order by id desc limit 1;
  if coalesce(v_newest, v_partition.opened_at) > clock_timestamp() - p_older_than_ms * interval '1 millisecond' then
    return null;
  end if;
  select count(*) into v_count from :"schema".engine_messages where id >= v_partition.first_id and id < v_end;
  delete from :"schema".engine_word_runs where first_id < v_end;
  delete from :"schema".engine_partitions where number = v_partition.number;
  foreach v_table in array array['engine_messages', 'engine_steps', 'engine_words'] loop
    execute format('drop table %I.%I', :'schema', v_table || '_' || v_partition.number);
  end loop;
  return v_count;
exception when lock_not_available then
  return null;
end
$$;

-- They do what only the owner of the tables can: not for everybody who sees the schema (src/store/postgres/grants.ts).
revoke execute on function
  :"schema".open_engine_partition(), :"schema".drop_engine_partition(bigint) from public;

-- The first id that was received at this time or later: ids are given in the order of commits, so a few looks find it. Null
-- where all came before.
create function :"schema".engine_id_at(p_at timestamptz) returns bigint
language plpgsql stable as $$
declare
  v_low bigint;
  v_high bigint;
  v_middle bigint;
  v_found record;
  v_answer bigint;
begin
  select min(id), max(id) into v_low, v_high from :"schema".engine_messages;
  while v_low <= v_high loop
    v_middle := (v_low + v_high) / 2;
    -- The first that is there: ids have gaps.
    select id, received_at into v_found from :"schema".engine_messages where id >= v_middle order by id limit 1;
    if v_found.received_at >= p_at then
      v_answer := v_found.id;
      v_high := v_middle - 1;
    else
      v_low := v_found.id + 1;
    end if;
  end loop;
  return v_answer;
end
$$;

-- What waits in a lane that nobody works on any more goes to the dead letters, a slice at a time. One that has something in
-- flight in this very epoch is being worked on.
create function :"schema".bury_lane(
  p_queue text, p_stage text, p_name text, p_reason text, p_epoch bigint, p_limit integer) returns integer
language plpgsql as $$
declare
  v_lane :"schema".lanes;
  v_last bigint;
  v_segment integer;
  v_count integer;
begin
  select * into v_lane from :"schema".lanes where queue = p_queue and stage = p_stage and name = p_name for update;
  if not found or (v_lane.claimed > v_lane.done and v_lane.claim_epoch >= p_epoch) then
    return 0;
  end if;
  with buried as (
    insert into :"schema".dead_letters (queue, stage, lane, position, key, headers, body, reason, attempts, reclaims)
    select p_queue, p_stage, p_name, m.position, m.key, m.headers, m.body, p_reason,
      case when m.position = v_lane.done + 1 then v_lane.attempts else 0 end,
      case when m.position = v_lane.done + 1 then v_lane.reclaims else 0 end
    from :"schema".messages m
    where m.lane = v_lane.id and m.segment >= v_lane.done_segment and m.position > v_lane.done
    order by m.position limit p_limit
    returning position
  )
  select max(position), count(*) into v_last, v_count from buried;
  if v_count > 0 then
    select max(segment) into v_segment from :"schema".messages where lane = v_lane.id and position = v_last;
    update :"schema".lanes set
      done = v_last, done_segment = v_segment, claimed = v_last, claim = 0, leased_until = null, attempts = 0, reclaims = 0,
      wait_until = null, last_error = null, blocked = false, steered = true, busy = true
    where id = v_lane.id;
  end if;
  return v_count;
end
$$;

-- The engine's connections: which of them an operator has stopped, and how the leader's are doing.
create table :"schema".engine_connections (
  name text collate "C" primary key,
  -- Who stopped it, why and when; null while it may run.
  stopped_by text,
  stopped_reason text,
  stopped_at timestamptz,
  -- As the leader of that epoch last told.
  state json,
  epoch bigint,
  told_at timestamptz
);
