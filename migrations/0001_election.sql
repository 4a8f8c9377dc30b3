-- oldest-code: 1
-- The lease rows, the registry of nodes, the history, and the functions that decide about them.
-- :"schema" and :'schema' stand for the configured schema, as an identifier and as a literal; the runner puts them in.

-- One row: which cluster this schema belongs to. Keys and channel are a hash of (schema, cluster), so two clusters in one
-- database never meet. A node outside a cluster holds the member key alone, nodes of a cluster share it.
create table :"schema".meta (
  only_row boolean primary key default true check (only_row),
  cluster text not null,
  member_key bigint not null,
  channel text not null,
  identity text,
  created_at timestamptz not null default clock_timestamp()
);

-- R1: one row a role, never deleted; the epoch never decreases. Renewals touch no indexed column, so they stay HOT.
create table :"schema".leases (
  role text primary key check (role ~ '^[a-z0-9_-]{1,63}$'),
  epoch bigint not null default 0 check (epoch >= 0 and epoch < 9007199254740992),
  holder text,
  incarnation text,
  holder_url text,
  acquired_at timestamptz not null default to_timestamp(0),
  renewed_at timestamptz not null default to_timestamp(0),
  expires_at timestamptz not null default to_timestamp(0),
  ttl_ms integer not null default 0 check (ttl_ms >= 0),
  on_stall text not null default 'depose' check (on_stall in ('depose', 'hold')),
  takeover text not null default 'evidence' check (takeover in ('evidence', 'lease')),
  evidence_grace_ms integer not null default 0 check (evidence_grace_ms >= 0),
  identity text,
  lock_session text,
  witness_session text,
  reserved_for text,
  reserved_until timestamptz not null default to_timestamp(0),
  -- Hashes of (schema, cluster, role), kept here so that every client uses the same.
  lock_key bigint not null unique,
  heir_key bigint not null unique,
  fence_key bigint not null unique,
  -- Makes the epoch a key column: FOR KEY SHARE then conflicts with a takeover and not with a renewal (R8).
  unique (role, epoch)
) with (fillfactor = 50);

-- Counts the changes of any epoch. It is raised before such a change commits, under that role's fence, so whoever holds the
-- fence and finds it as it was knows without a query that no epoch has changed. Raised for nothing, it costs one look.
create sequence :"schema".epoch_changes;
select setval(':"schema".epoch_changes', 1);

create table :"schema".nodes (
  node_id text primary key,
  incarnation text not null,
  clustered boolean not null,
  status text not null,
  hostname text not null,
  pid integer not null,
  ip_address text,
  http_port integer,
  grpc_port integer,
  url text,
  version text not null,
  roles text[] not null default '{}',
  worker_capabilities text[] not null default '{}',
  promotable boolean not null default true,
  started_at timestamptz not null default clock_timestamp(),
  last_heartbeat timestamptz not null default clock_timestamp(),
  current_connections integer not null default 0,
  current_jobs integer not null default 0,
  cpu_usage real not null default 0,
  memory_usage real not null default 0,
  lock_session text,
  witness_session text
) with (fillfactor = 50);

create table :"schema".history (
  id bigint generated always as identity primary key,
  role text not null,
  epoch bigint not null,
  event text not null,
  reason text not null,
  node_id text,
  previous_node_id text,
  gap_ms double precision,
  at timestamptz not null default clock_timestamp()
);
create index history_role_id on :"schema".history (role, id desc);

-- 64 bits of SHA-256 over the parts; the same parts always give the same key.
create function :"schema".key_of(variadic parts text[]) returns bigint
language sql immutable as $$
  select ('x' || encode(substr(sha256(convert_to(array_to_string(parts, chr(31)), 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
$$;

create function :"schema".ms_between(later timestamptz, earlier timestamptz) returns double precision
language sql immutable as $$
  select extract(epoch from (later - earlier))::double precision * 1000
$$;

create function :"schema".ms_since_1970(at timestamptz) returns double precision
language sql immutable as $$
  select extract(epoch from at)::double precision * 1000
$$;

-- Which database this is (R3). The timeline comes from the WAL file name: the control file still shows the old one after
-- a promotion. Null where it may not be read; then a lossy failover of the database cannot be told.
create function :"schema".identity() returns text
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  return (select system_identifier from pg_control_system()) || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8);
exception when insufficient_privilege or feature_not_supported or object_not_in_prerequisite_state then
  return null; -- The last of them on a replica, which refuses writes in its own words.
end
$$;

-- A process id is reused, its start is not: together they name a session for good.
create function :"schema".session_ref(pid integer, backend_start timestamptz) returns text
language sql immutable as $$
  select pid || '@' || (extract(epoch from backend_start) * 1000000)::bigint
$$;

-- A process numbers the sessions that it opens, and their names end with that number: of two of one process, which is later.
create function :"schema".opened_after(ref text, other text) returns boolean
language sql immutable as $$
  select coalesce(nullif(split_part(ref, '#', 2), '')::integer > nullif(split_part(other, '#', 2), '')::integer, false)
$$;

-- A start that may not be seen counts as alive. The caller clears the snapshot of the statistics first.
create function :"schema".session_alive(ref text) returns boolean
language sql volatile as $$
  select ref is not null and exists (
    select from pg_stat_get_activity(split_part(ref, '@', 1)::integer) a
    where a.backend_start is null or :"schema".session_ref(a.pid, a.backend_start) = split_part(ref, '#', 1)
  )
$$;

-- Who holds an advisory key of this database, exclusively.
create function :"schema".key_owner(key bigint) returns integer
language sql volatile as $$
  select l.pid from pg_locks l
  where l.locktype = 'advisory' and l.granted and l.mode = 'ExclusiveLock' and l.objsubid = 1
    and l.classid = ((key >> 32) & 4294967295)::oid and l.objid = (key & 4294967295)::oid
    and l.database = (select oid from pg_database where datname = current_database())
  limit 1
$$;

create function :"schema".key_held_by(key bigint, ref text) returns boolean
language sql volatile as $$
  select coalesce(:"schema".key_owner(key) = split_part(ref, '@', 1)::integer, false)
$$;

-- Sessions of this database that an administrator ended. A session reports its end before it disappears from the list of
-- sessions, so this is read after they are gone.
create function :"schema".sessions_killed() returns bigint
language sql volatile as $$
  select d.sessions_killed from pg_stat_database d where d.datname = current_database()
$$;

create function :"schema".lease_view(l :"schema".leases) returns jsonb
language sql volatile as $$
  select jsonb_build_object(
    'role', l.role, 'epoch', l.epoch::text, 'holder', l.holder, 'incarnation', l.incarnation, 'holder_url', l.holder_url,
    'acquired_at', :"schema".ms_since_1970(l.acquired_at), 'expires_at', :"schema".ms_since_1970(l.expires_at),
    'remaining_ms', :"schema".ms_between(l.expires_at, clock_timestamp()), 'ttl_ms', l.ttl_ms, 'takeover', l.takeover,
    'reserved_for', l.reserved_for, 'identity', l.identity)
$$;

-- Takes the schema for a cluster, or says whose it is.
create function :"schema".claim_schema(p_cluster text) returns text
language plpgsql as $$
begin
  insert into :"schema".meta (cluster, member_key, channel, identity)
  values (
    p_cluster,
    :"schema".key_of('member', :'schema', p_cluster),
    'holdfast_' || to_hex(:"schema".key_of('channel', :'schema', p_cluster)),
    :"schema".identity()
  ) on conflict do nothing;
  return (select cluster from :"schema".meta);
end
$$;

-- Makes a role's row exist. A pinned lock key must be the same on every node. The row carries this database's identity from
-- the start; and where this is not the database that the schema was made in, the row of an older one may have been lost,
-- so its epochs begin above all that it can have given.
create function :"schema".ensure_role(p_role text, p_lock_key bigint) returns void
language plpgsql as $$
declare
  v_cluster text := (select cluster from :"schema".meta);
  v_identity text := :"schema".identity();
  v_key bigint;
begin
  perform nextval(':"schema".epoch_changes') where not exists (select from :"schema".leases where role = p_role);
  insert into :"schema".leases (role, identity, epoch, lock_key, heir_key, fence_key)
  values (
    p_role,
    v_identity,
    case
      when v_identity <> (select identity from :"schema".meta)
      then floor(extract(epoch from clock_timestamp()))::bigint << 21
      else 0
    end,
    coalesce(p_lock_key, :"schema".key_of('lock', :'schema', v_cluster, p_role)),
    :"schema".key_of('heir', :'schema', v_cluster, p_role),
    :"schema".key_of('fence', :'schema', v_cluster, p_role)
  ) on conflict do nothing;
  select lock_key into v_key from :"schema".leases where role = p_role;
  if v_key is null then
    raise exception using errcode = 'HF005',
      message = format('role %s cannot be locked by key %s: another role has it', p_role, p_lock_key);
  elsif v_key <> p_lock_key then
    raise exception using errcode = 'HF005',
      message = format('role %s is locked by key %s in this database, not by %s', p_role, v_key, p_lock_key);
  end if;
end
$$;

-- R6: the heir waits for the leader's lock, for at most one slice: a longer wait pins the vacuum horizon.
-- Answers from pg_locks after a timeout: lock_timeout sometimes reports one while the lock was granted.
create function :"schema".wait_for_lock(p_role text, p_prior jsonb, p_slice_ms integer) returns jsonb
language plpgsql as $$
declare
  v_lease :"schema".leases;
  v_sighting jsonb;
  v_locked boolean := false;
  v_kills bigint;
begin
  if current_setting('server_version_num')::integer < 150000 then
    return '{"kind": "unheld"}'; -- Before 15 the statistics come late: a kill could look like a crash.
  end if;
  perform pg_stat_clear_snapshot();
  -- Counted before the look: a kill that falls between the two must make a difference later.
  v_kills := :"schema".sessions_killed();
  select * into v_lease from :"schema".leases where role = p_role;
  if :"schema".session_alive(v_lease.lock_session) and :"schema".session_alive(v_lease.witness_session)
    and :"schema".key_held_by(v_lease.lock_key, v_lease.lock_session)
  then
    v_sighting := jsonb_build_object(
      'epoch', v_lease.epoch::text, 'lock_session', v_lease.lock_session,
      'witness_session', v_lease.witness_session, 'kills', v_kills);
  elsif p_prior->>'epoch' = v_lease.epoch::text and p_prior->>'lock_session' = v_lease.lock_session
    and p_prior->>'witness_session' = v_lease.witness_session
  then
    -- The leader may have crashed between two slices: what this session saw in the last one still counts.
    v_sighting := p_prior;
  else
    return '{"kind": "unheld"}';
  end if;

  begin
    perform set_config('lock_timeout', p_slice_ms::text, true);
    perform pg_advisory_lock(v_lease.lock_key);
    v_locked := true;
  exception when lock_not_available then
    v_locked := coalesce(:"schema".key_owner(v_lease.lock_key) = pg_backend_pid(), false);
  end;
  if not v_locked then
    return jsonb_build_object('kind', 'timeout', 'sighting', v_sighting);
  end if;
  -- Remembered by the session itself: among many sessions, pg_locks takes longer to read than a takeover may.
  perform set_config('holdfast.locked', v_lease.lock_key::text, false);
  return jsonb_build_object('kind', 'locked', 'sighting',
    v_sighting || jsonb_build_object('locked_at', :"schema".ms_since_1970(clock_timestamp())));
end
$$;

-- R3: one transaction: the fence exclusively, then the row, then the conditions. p_request holds the wishes of the caller,
-- p_evidence what it saw as heir (null: it was none). Mirrors decideAcquire in src/election/core/lease-rules.ts.
-- Whoever comes with evidence holds the role's lock, and gives it back with most answers.
create function :"schema".acquire(p_role text, p_request jsonb, p_evidence jsonb) returns jsonb
language plpgsql as $$
declare
  v_reply jsonb;
  v_fence_key bigint := (select fence_key from :"schema".leases where role = p_role);
begin
  if v_fence_key is null and p_role <> '' then
    raise exception using errcode = 'HF003', message = format('role %s is not known here', p_role);
  end if;
  perform set_config('synchronous_commit', 'on', true);
  perform set_config('lock_timeout', p_request->>'lock_timeout_ms', true);
  perform pg_advisory_xact_lock(v_fence_key);
  v_reply := :"schema".decide_acquire(p_role, p_request, p_evidence);
  if v_reply->>'kind' not in ('lingering', 'grace') and current_setting('holdfast.locked', true) <> '' then
    perform pg_advisory_unlock(current_setting('holdfast.locked')::bigint);
    perform set_config('holdfast.locked', '', false);
  end if;
  return v_reply || jsonb_build_object(
    'view', (select :"schema".lease_view(l) from :"schema".leases l where role = p_role));
end
$$;

create function :"schema".decide_acquire(p_role text, p_request jsonb, p_evidence jsonb) returns jsonb
language plpgsql as $$
declare
  v_lease :"schema".leases;
  v_now timestamptz;
  v_identity text := :"schema".identity();
  v_ttl_ms integer := (p_request->>'ttl_ms')::integer;
  v_invited boolean;
  v_open_at timestamptz;
  v_grace_ms integer;
  v_cause text;
  v_gap_ms double precision;
begin
  select * into v_lease from :"schema".leases where role = p_role for update;
  v_now := clock_timestamp(); -- After the locks: now() would revive a lease that ran out while this waited.

  if v_identity is not null and v_lease.identity is not null and v_lease.identity <> v_identity then
    -- Another database than the one that wrote the row: no token may repeat, and all old trust must run out first.
    v_ttl_ms := greatest(v_ttl_ms, v_lease.ttl_ms);
    perform nextval(':"schema".epoch_changes');
    update :"schema".leases set
      epoch = greatest(epoch + 1, floor(extract(epoch from v_now))::bigint << 21),
      identity = v_identity, holder = null, incarnation = null, holder_url = null,
      lock_session = null, witness_session = null, reserved_for = null, reserved_until = to_timestamp(0),
      ttl_ms = v_ttl_ms, expires_at = v_now + v_ttl_ms * interval '1 millisecond'
    where role = p_role;
    perform :"schema".record(p_role, 'quarantined', 'database_changed', v_lease.holder, v_lease.holder, null);
    return '{"kind": "quarantined"}';
  end if;

  if v_lease.expires_at > v_now + v_lease.ttl_ms * interval '1 millisecond' then
    -- The clock was stepped back. A full TTL from now covers all trust that can still exist.
    update :"schema".leases set
      expires_at = v_now + ttl_ms * interval '1 millisecond',
      reserved_until = least(reserved_until, v_now + ttl_ms * interval '1 millisecond')
    where role = p_role;
    return jsonb_build_object('kind', 'held', 'remaining_ms', v_lease.ttl_ms);
  end if;

  if v_lease.expires_at > v_now then
    if p_evidence is null or v_lease.holder is null then
      return jsonb_build_object('kind', 'held', 'remaining_ms', :"schema".ms_between(v_lease.expires_at, v_now));
    elsif v_lease.takeover = 'lease' then
      return '{"kind": "void", "reason": "lease_only"}';
    elsif v_lease.epoch::text <> p_evidence->>'epoch'
      or v_lease.lock_session is distinct from p_evidence->>'lock_session'
      or v_lease.witness_session is distinct from p_evidence->>'witness_session'
    then
      return '{"kind": "void", "reason": "unseen"}';
    elsif current_setting('holdfast.locked', true) is distinct from v_lease.lock_key::text then
      return '{"kind": "void", "reason": "lock_not_held"}';
    end if;
    perform pg_stat_clear_snapshot();
    if :"schema".session_alive(v_lease.lock_session) or :"schema".session_alive(v_lease.witness_session) then
      return '{"kind": "lingering"}';
    elsif :"schema".sessions_killed() <> (p_evidence->>'kills')::bigint then
      return '{"kind": "void", "reason": "killed"}';
    end if;
    v_grace_ms := greatest(v_lease.evidence_grace_ms, (p_request->>'evidence_grace_ms')::integer);
    if (p_evidence->>'grace_served_ms')::double precision < v_grace_ms then
      return jsonb_build_object(
        'kind', 'grace', 'wait_ms', v_grace_ms - (p_evidence->>'grace_served_ms')::double precision);
    end if;
    v_cause := 'evidence';
    v_gap_ms := greatest(0, :"schema".ms_since_1970(v_now) -
      coalesce((p_evidence->>'locked_at')::double precision, :"schema".ms_since_1970(v_lease.renewed_at)));
  else
    v_invited := v_lease.reserved_for is not distinct from p_request->>'node_id';
    if v_lease.reserved_for is not null and not v_invited and v_lease.reserved_until > v_now then
      return jsonb_build_object('kind', 'reserved', 'remaining_ms', :"schema".ms_between(v_lease.reserved_until, v_now));
    end if;
    v_open_at := v_lease.expires_at;
    if not v_invited then
      v_open_at := v_open_at + (p_request->>'acquire_delay_ms')::integer * interval '1 millisecond';
    end if;
    if v_open_at > v_now then
      return jsonb_build_object('kind', 'held', 'remaining_ms', :"schema".ms_between(v_open_at, v_now));
    end if;
    if v_lease.on_stall = 'hold' and v_lease.holder is not null
      and :"schema".key_held_by(v_lease.lock_key, v_lease.lock_session)
    then
      return '{"kind": "stalled"}';
    end if;
    v_cause := case
      when v_lease.holder is not null then 'expired'
      when v_lease.epoch = 0 then 'first'
      when v_invited then 'handover'
      else 'released'
    end;
    v_gap_ms := case when v_cause = 'first' then 0 else :"schema".ms_between(v_now, v_lease.expires_at) end;
  end if;

  perform nextval(':"schema".epoch_changes');
  update :"schema".leases set
    epoch = epoch + 1,
    holder = p_request->>'node_id', incarnation = p_request->>'incarnation', holder_url = p_request->>'url',
    acquired_at = v_now, renewed_at = v_now, expires_at = v_now + v_ttl_ms * interval '1 millisecond',
    ttl_ms = v_ttl_ms, on_stall = p_request->>'on_stall', takeover = p_request->>'takeover',
    evidence_grace_ms = (p_request->>'evidence_grace_ms')::integer,
    identity = coalesce(v_identity, identity),
    lock_session = p_request->>'lock_session', witness_session = p_request->>'witness_session',
    reserved_for = null, reserved_until = to_timestamp(0)
  where role = p_role;
  perform :"schema".record(p_role, 'elected', v_cause, p_request->>'node_id', v_lease.holder, v_gap_ms);
  return jsonb_build_object('kind', 'acquired', 'cause', v_cause, 'gap_ms', v_gap_ms);
end
$$;

-- R4, R9: names the exact (role, incarnation, epoch) of an unexpired lease; it only runs out, the epoch stays.
-- Its commit need not wait for the disk: the next acquire's does, and carries it along; and if the server forgets a
-- release before that, the lease has to run out, which is late and not wrong.
create function :"schema".release(
  p_role text, p_incarnation text, p_epoch bigint, p_to text, p_reserve_ms integer, p_reason text
) returns boolean
language plpgsql as $$
declare
  v_lease :"schema".leases;
  v_identity text := :"schema".identity();
  v_now timestamptz;
begin
  perform set_config('synchronous_commit', 'off', true);
  select * into v_lease from :"schema".leases where role = p_role for no key update;
  v_now := clock_timestamp();
  if v_lease.epoch is distinct from p_epoch or v_lease.incarnation is distinct from p_incarnation or v_lease.expires_at <= v_now
    or (v_identity is not null and v_lease.identity is not null and v_lease.identity <> v_identity)
  then
    return false;
  end if;
  update :"schema".leases set
    expires_at = v_now, holder = null, incarnation = null, holder_url = null, lock_session = null, witness_session = null,
    reserved_for = p_to,
    reserved_until = case when p_to is null then to_timestamp(0) else v_now + p_reserve_ms * interval '1 millisecond' end
  where role = p_role;
  perform :"schema".record(p_role, 'released', p_reason, v_lease.holder, v_lease.holder, null);
  return true;
end
$$;

-- R9: in a transaction of its own, after the release has committed: the heir wakes by the lock, the others by the notice.
create function :"schema".announce(p_role text, p_notice jsonb, p_drop_lock boolean) returns void
language plpgsql as $$
begin
  -- A notice is a hint: its commit need not wait for the disk, and so not hold up the acquire that the lock lets through.
  perform set_config('synchronous_commit', 'off', true);
  if p_drop_lock then
    perform pg_advisory_unlock((select lock_key from :"schema".leases where role = p_role));
  end if;
  perform pg_notify((select channel from :"schema".meta), (p_notice || jsonb_build_object('role', p_role))::text);
end
$$;

-- The two in one round trip, and still in two transactions.
create procedure :"schema".give_up(
  p_role text, p_incarnation text, p_epoch bigint, p_to text, p_reserve_ms integer, p_reason text, p_drop_lock boolean
)
language plpgsql as $$
declare
  v_released boolean := :"schema".release(p_role, p_incarnation, p_epoch, p_to, p_reserve_ms, p_reason);
begin
  commit;
  if v_released or p_drop_lock then
    perform :"schema".announce(
      p_role, jsonb_build_object('kind', 'released', 'epoch', p_epoch::text, 'to', p_to), p_drop_lock);
  end if;
end
$$;

create function :"schema".record(
  p_role text, p_event text, p_reason text, p_node text, p_previous text, p_gap_ms double precision
) returns void
language sql as $$
  insert into :"schema".history (role, epoch, event, reason, node_id, previous_node_id, gap_ms)
  select l.role, l.epoch, p_event, p_reason, p_node, p_previous, p_gap_ms from :"schema".leases l where l.role = p_role
$$;

-- After a restore from a dump: above every token that the lost database may have given, with a quarantine of one TTL.
create function :"schema".advance_epoch(p_role text, p_to bigint) returns bigint
language plpgsql as $$
declare
  v_lease :"schema".leases;
  v_epoch bigint;
begin
  perform set_config('synchronous_commit', 'on', true);
  perform pg_advisory_xact_lock((select fence_key from :"schema".leases where role = p_role));
  select * into v_lease from :"schema".leases where role = p_role for update;
  if not found then
    raise exception using errcode = 'HF003', message = format('role %s is not known here', p_role);
  end if;
  v_epoch := greatest(p_to, v_lease.epoch + 1);
  perform nextval(':"schema".epoch_changes');
  update :"schema".leases set
    epoch = v_epoch, identity = coalesce(:"schema".identity(), identity),
    holder = null, incarnation = null, holder_url = null, lock_session = null, witness_session = null,
    reserved_for = null, reserved_until = to_timestamp(0),
    expires_at = clock_timestamp() + ttl_ms * interval '1 millisecond'
  where role = p_role;
  perform :"schema".record(p_role, 'advanced', 'operator', v_lease.holder, v_lease.holder, null);
  return v_epoch;
end
$$;

-- R7: ends the sessions that block an acquire once the lease has run out. Those that only wait in the queue are spared, and
-- so are competitors in this very election, whose commit may take its time;
-- process 0 stands for a prepared transaction, which can only be reported. Needs the right to end a session of that role.
create function :"schema".end_blockers(p_role text, p_pid integer) returns jsonb
language plpgsql as $$
declare
  v_blocker record;
  v_ended integer := 0;
  v_refused integer := 0;
  v_prepared integer := 0;
begin
  perform pg_stat_clear_snapshot();
  if not exists (select from :"schema".leases where role = p_role and expires_at <= clock_timestamp()) then
    return '{"ended": 0, "refused": 0, "prepared": 0}';
  end if;
  for v_blocker in
    select b.pid, a.backend_start, a.wait_event_type, a.application_name
    from unnest(pg_blocking_pids(p_pid)) b(pid) left join pg_stat_activity a using (pid)
  loop
    if v_blocker.pid = 0 then
      v_prepared := v_prepared + 1;
    elsif v_blocker.wait_event_type is distinct from 'Lock' and v_blocker.application_name not like 'holdfast campaign %' then
      if :"schema".end_session(v_blocker.pid, v_blocker.backend_start) then
        v_ended := v_ended + 1;
      else
        v_refused := v_refused + 1;
      end if;
    end if;
  end loop;
  return jsonb_build_object('ended', v_ended, 'refused', v_refused, 'prepared', v_prepared);
end
$$;

-- R7: ends what a node whose beat is stale, and which holds the lock or the heir's lock of one of these roles, still has:
-- that session, and every other of its process, since a row lock of a frozen process would hold up its successor. A node
-- that holds a role by `hold` keeps everything: its sessions are its leadership. Never those of
-- the node that asks: its own beat is stale, too, when it has just thawed.
create function :"schema".reap(p_node text, p_roles text[], p_node_timeout_ms integer) returns jsonb
language plpgsql as $$
declare
  v_stale record;
  v_ended integer := 0;
  v_refused integer := 0;
begin
  perform pg_stat_clear_snapshot();
  for v_stale in
    select distinct a.pid, a.backend_start
    from :"schema".leases l
    cross join lateral unnest(array[:"schema".key_owner(l.lock_key), :"schema".key_owner(l.heir_key)]) o(pid)
    join pg_stat_activity k on k.pid = o.pid
    join :"schema".nodes n on split_part(n.lock_session, '@', 1) = k.pid::text
      and (k.backend_start is null or split_part(n.lock_session, '#', 1) = :"schema".session_ref(k.pid, k.backend_start))
    join pg_stat_activity a on a.pid = o.pid or a.application_name like 'holdfast % ' || n.incarnation || ' %'
    where l.role = any (p_roles) and n.node_id <> p_node and a.datname = current_database()
      and n.last_heartbeat < clock_timestamp() - p_node_timeout_ms * interval '1 millisecond'
      and not exists (select from :"schema".leases h where h.incarnation = n.incarnation and h.on_stall = 'hold')
  loop
    if :"schema".end_session(v_stale.pid, v_stale.backend_start) then
      v_ended := v_ended + 1;
    else
      v_refused := v_refused + 1;
    end if;
  end loop;
  return jsonb_build_object('ended', v_ended, 'refused', v_refused);
end
$$;

create function :"schema".end_session(p_pid integer, p_backend_start timestamptz) returns boolean
language plpgsql as $$
begin
  return coalesce((
    select pg_terminate_backend(a.pid) from pg_stat_get_activity(p_pid) a where a.backend_start = p_backend_start), false);
exception when insufficient_privilege then
  return false;
end
$$;

-- R8, the fence. Run it as the last statement before COMMIT, best in the same message. Every change of an epoch first takes
-- the fence exclusively, so a shared lock on it and then a look, by a snapshot of its own, are enough under READ COMMITTED.
-- Under the other levels the snapshot is old: FOR KEY SHARE fails there if the row has changed since, and does not stop
-- renewals. (Under READ COMMITTED it would cost every transaction a write, and many of them a multixact.)
-- A row that another database wrote fences nobody in: a promoted replica may have lost the epoch that deposed this one.
-- A transaction that waits after this holds a takeover up, so it is ended soon.
create function :"schema".assert_epoch(p_role text, p_epoch bigint) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_lease record;
  v_epoch bigint;
  v_identity text;
begin
  select fence_key, ttl_ms into v_lease from :"schema".leases where role = p_role;
  if not found then
    raise exception using errcode = 'HF003', message = format('role %s is not known here', p_role);
  end if;
  perform pg_advisory_xact_lock_shared(v_lease.fence_key);
  if current_setting('transaction_isolation') = 'read committed' then
    select epoch, identity into v_epoch, v_identity from :"schema".leases where role = p_role;
  else
    select epoch, identity into v_epoch, v_identity from :"schema".leases where role = p_role for key share;
  end if;
  if v_epoch is distinct from p_epoch then
    raise exception using errcode = 'HF001',
      message = format('epoch %s of role %s is over: %s leads now', p_epoch, p_role, v_epoch);
  elsif v_identity <> :"schema".identity() then
    raise exception using errcode = 'HF001',
      message = format('epoch %s of role %s was given by another database', p_epoch, p_role);
  end if;
  perform set_config('idle_in_transaction_session_timeout', greatest(v_lease.ttl_ms / 4, 100)::text, true);
  perform set_config('holdfast.epoch', p_role || '=' || p_epoch, true);
end
$$;

-- The same for term.transaction, whose COMMIT follows in the same message: nothing can wait in between, so there is no
-- timeout to set, and the caller knows the key. The stamp set at BEGIN is gone if the function committed by itself.
-- Every transaction of an application pays for this one, so it is made of what is cheap: CALL needs no plan and answers with
-- no row, and what is no query is an expression, which PL/pgSQL runs by itself. The system's identifier cannot change while
-- a session lasts, so each session reads it once; and what a session has verified holds until some epoch changes.
create procedure :"schema".assert_transaction(p_role text, p_epoch bigint, p_fence_key bigint, p_stamp text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_epoch bigint;
  v_identity text;
  v_system text := current_setting('holdfast.system', true);
  v_verified text;
begin
  if current_setting('holdfast.fence', true) is distinct from p_stamp then
    raise exception using errcode = 'HF002', message = 'the transaction ended before its fence';
  end if;
  -- A try does not overtake a takeover that waits; then this waits behind it.
  if not pg_try_advisory_xact_lock_shared(p_fence_key) then
    perform pg_advisory_xact_lock_shared(p_fence_key);
  end if;
  -- Under the fence, and the count before the row: a change after this look would find the count raised.
  v_verified := p_role || '=' || p_epoch || '=' || v_system || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
    || '=' || pg_sequence_last_value(':"schema".epoch_changes');
  if current_setting('holdfast.verified', true) = v_verified then
    return;
  end if;
  if current_setting('transaction_isolation') = 'read committed' then
    select epoch, identity into v_epoch, v_identity
    from :"schema".leases where role = p_role and fence_key = p_fence_key;
  else
    select epoch, identity into v_epoch, v_identity
    from :"schema".leases where role = p_role and fence_key = p_fence_key for key share;
  end if;
  if v_epoch is distinct from p_epoch then
    raise exception using errcode = 'HF001',
      message = format('epoch %s of role %s is over: %s leads now', p_epoch, p_role, v_epoch);
  elsif v_identity is not null then
    if v_system is null or v_system = '' then
      v_system := (select system_identifier::text from pg_control_system());
      perform set_config('holdfast.system', v_system, false);
    end if;
    if v_identity <> v_system || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) then
      raise exception using errcode = 'HF001',
        message = format('epoch %s of role %s was given by another database', p_epoch, p_role);
    end if;
    perform set_config('holdfast.verified', v_verified, false); -- Null, and so nothing, when the system was not known yet.
  end if;
end
$$;

-- Says under which epoch this transaction writes to protected tables.
create function :"schema".use_epoch(p_role text, p_epoch bigint) returns void
language sql volatile as $$
  select set_config('holdfast.epoch', p_role || '=' || p_epoch, true)
$$;

-- protect(): the epoch of a transaction is captured here at its first write, out of the client's reach, and asserted once
-- when it commits. Unlogged: after a crash of the server no such transaction is left.
create unlogged table :"schema".fenced_writes (
  xact xid8 not null default pg_current_xact_id(),
  role text not null,
  epoch bigint not null,
  primary key (xact, role)
);

create function :"schema".capture_epoch() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_role text := tg_argv[0];
  v_stated text := current_setting('holdfast.epoch', true);
  v_epoch bigint;
  v_captured bigint;
begin
  if v_stated is null or split_part(v_stated, '=', 1) <> v_role then
    v_stated := current_setting('holdfast.fence', true); -- Inside term.transaction: role=epoch=nonce.
  end if;
  if v_stated is null or split_part(v_stated, '=', 1) <> v_role then
    raise exception using errcode = 'HF004',
      message = format('%s.%s is protected by role %s, and this transaction states no epoch of it',
        tg_table_schema, tg_table_name, v_role),
      hint = 'Write inside term.transaction(), or call use_epoch(role, epoch) first.';
  end if;
  v_epoch := split_part(v_stated, '=', 2)::bigint;
  insert into :"schema".fenced_writes (role, epoch) values (v_role, v_epoch) on conflict do nothing;
  select epoch into v_captured from :"schema".fenced_writes where xact = pg_current_xact_id() and role = v_role;
  if v_captured <> v_epoch then
    raise exception using errcode = 'HF001',
      message = format('this transaction began to write under epoch %s of role %s, and now states %s', v_captured, v_role, v_epoch);
  end if;
  return null;
end
$$;

-- Deferred to the commit: a check when the statement runs is not a fence.
create function :"schema".assert_captured() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform :"schema".assert_epoch(new.role, new.epoch);
  delete from :"schema".fenced_writes where xact = new.xact and role = new.role;
  return null;
end
$$;

create constraint trigger assert_at_commit after insert on :"schema".fenced_writes
deferrable initially deferred for each row execute function :"schema".assert_captured();

-- Refuses every write to the table that does not carry the role's epoch, whatever client it comes from.
create function :"schema".protect(p_table regclass, p_role text) returns void
language plpgsql as $$
declare
  v_table regclass;
begin
  if not exists (select from :"schema".leases where role = p_role) then
    raise exception using errcode = 'HF003', message = format('role %s is not known here', p_role);
  end if;
  perform :"schema".unprotect(p_table);
  for v_table in select * from :"schema".with_partitions(p_table) loop
    execute format(
      'create trigger holdfast_fence before insert or update or delete on %s for each statement execute function %I.capture_epoch(%L)',
      v_table, :'schema', p_role);
    execute format(
      'create trigger holdfast_fence_truncate before truncate on %s for each statement execute function %I.capture_epoch(%L)',
      v_table, :'schema', p_role);
  end loop;
end
$$;

create function :"schema".unprotect(p_table regclass) returns void
language plpgsql as $$
declare
  v_table regclass;
begin
  for v_table in select * from :"schema".with_partitions(p_table) loop
    execute format('drop trigger if exists holdfast_fence on %s', v_table);
    execute format('drop trigger if exists holdfast_fence_truncate on %s', v_table);
  end loop;
end
$$;

-- A statement that names a partition fires no trigger of the table above it. Partitions made later are not protected
-- until protect() runs again.
create function :"schema".with_partitions(p_table regclass) returns setof regclass
language sql stable as $$
  select p_table union select relid from pg_partition_tree(p_table)
$$;

-- Stable views for anyone.
create view :"schema".leaders as
select role, holder as node_id, holder_url as url, epoch, acquired_at, renewed_at, expires_at
from :"schema".leases
where holder is not null and expires_at > clock_timestamp();

create view :"schema".members as
select node_id, status, hostname, url, version, roles, worker_capabilities, promotable, started_at, last_heartbeat
from :"schema".nodes;
