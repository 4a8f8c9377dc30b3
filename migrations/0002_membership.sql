-- oldest-code: 2
-- What nodes tell of themselves with every beat, what they ask of each other, who may ask, and what was asked.

-- Raised by every change of a token and of the configuration; a beat carries both, so every node hears of it.
alter table :"schema".meta
  add column access_version bigint not null default 0,
  add column config_version bigint not null default 0;

alter table :"schema".nodes
  add column config_version bigint not null default 0,
  -- The roles that the node would lead: nobody else can be named by a step-down.
  add column contends text[] not null default '{}';

-- Nodes never call each other: a request is a row, meant for one process, which answers in the same row.
create table :"schema".requests (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('drain', 'resume', 'step_down')),
  node_id text not null,
  incarnation text not null,
  role text,
  successor text,
  requested_by text not null,
  requested_at timestamptz not null default clock_timestamp(),
  acted_at timestamptz,
  refusal text
);
create index requests_waiting on :"schema".requests (node_id) where acted_at is null;

-- A secret is never here, only its SHA-256. Rows are kept when a token is revoked: the last one must not open the door.
create table :"schema".tokens (
  id bigint generated always as identity primary key,
  name text not null,
  role text not null check (role in ('viewer', 'operator', 'admin', 'agent')),
  grants text[] not null default '{}',
  hash text not null unique check (hash ~ '^[0-9a-f]{64}$'),
  created_at timestamptz not null default clock_timestamp(),
  created_by text not null,
  expires_at timestamptz,
  revoked_at timestamptz
);
-- A living token's name is its own: an agent is known by it.
create unique index tokens_living_name on :"schema".tokens (name) where revoked_at is null;

create table :"schema".audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  node_id text,
  actor text not null,
  action text not null,
  target text,
  outcome text not null,
  address text
);

-- Each process's metrics as it last left them: for each process and not for each node, so that what one counted last is not lost
-- because its successor has left a copy. Unlogged: after a crash of the server they are old anyway.
create unlogged table :"schema".snapshots (
  incarnation text collate "C" primary key,
  node_id text not null,
  at timestamptz not null default clock_timestamp(),
  body text not null
);

-- What a process had counted when its copy was last taken in, by the leader of `metrics_aggregator`. The empty incarnation stands
-- for those that were put together, long after their end. Texts are compressed by whoever writes them, here and below.
create table :"schema".metric_processes (
  incarnation text collate "C" primary key,
  node_id text not null,
  taken_at timestamptz not null default clock_timestamp(),
  leader_epoch bigint not null,
  counters bytea not null
);
alter table :"schema".metric_processes alter column counters set storage external;

-- The metrics of the cluster at a time: the totals, and the series of each node. There are a few hundred rows.
create table :"schema".metric_points (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  leader_epoch bigint not null,
  totals bytea not null,
  nodes bytea not null
);
alter table :"schema".metric_points alter column totals set storage external, alter column nodes set storage external;

-- Whether this process is the one that its node is now, and lives.
create function :"schema".is_living(p_node text, p_incarnation text) returns boolean
language sql stable as $$
  select exists (
    select from :"schema".nodes n
    where n.node_id = p_node and n.incarnation = p_incarnation and n.status not in ('dead', 'left'))
$$;

-- A node enters the registry. Its id is taken while another process lives behind it: by its sessions, or, where they tell
-- nothing, by its beat. Answers with the row that is in the way, or null.
create or replace function :"schema".join_node(p_report jsonb, p_node_timeout_ms integer) returns jsonb
language plpgsql as $$
declare
  v_row :"schema".nodes;
begin
  perform pg_stat_clear_snapshot();
  select * into v_row from :"schema".nodes where node_id = p_report->>'node_id' for update;
  if found and v_row.incarnation <> p_report->>'incarnation' and v_row.status <> 'left' and (
    :"schema".session_alive(v_row.lock_session) or :"schema".session_alive(v_row.witness_session) or (
      -- A pooler hides the sessions, and a restart of the server ended those of the living, too: then the beat tells.
      (v_row.lock_session is null or v_row.last_heartbeat < pg_postmaster_start_time())
      and v_row.last_heartbeat > clock_timestamp() - p_node_timeout_ms * interval '1 millisecond')
  ) then
    return to_jsonb(v_row);
  end if;
  insert into :"schema".nodes (
    node_id, incarnation, clustered, status, hostname, pid, ip_address, http_port, grpc_port, url, version, roles,
    worker_capabilities, promotable
  ) values (
    p_report->>'node_id', p_report->>'incarnation', (p_report->>'clustered')::boolean, p_report->>'status',
    p_report->>'hostname', (p_report->>'pid')::integer, p_report->>'ip_address', (p_report->>'http_port')::integer,
    (p_report->>'grpc_port')::integer, p_report->>'url', p_report->>'version',
    array(select jsonb_array_elements_text(p_report->'roles')),
    array(select jsonb_array_elements_text(p_report->'worker_capabilities')), (p_report->>'promotable')::boolean
  ) on conflict (node_id) do update set
    incarnation = excluded.incarnation, clustered = excluded.clustered, status = excluded.status,
    hostname = excluded.hostname, pid = excluded.pid, ip_address = excluded.ip_address, http_port = excluded.http_port,
    grpc_port = excluded.grpc_port, url = excluded.url, version = excluded.version, roles = excluded.roles,
    worker_capabilities = excluded.worker_capabilities, promotable = excluded.promotable,
    started_at = clock_timestamp(), last_heartbeat = clock_timestamp(), current_connections = 0, current_jobs = 0,
    cpu_usage = 0, memory_usage = 0, config_version = 0, contends = '{}', lock_session = null, witness_session = null;
  return null;
end
$$;

create function :"schema".request_view(r :"schema".requests) returns jsonb
language sql immutable as $$
  select jsonb_build_object(
    'id', r.id::text, 'kind', r.kind, 'node_id', r.node_id, 'incarnation', r.incarnation, 'role', r.role,
    'to', r.successor, 'requested_by', r.requested_by, 'requested_at', :"schema".ms_since_1970(r.requested_at),
    'acted_at', :"schema".ms_since_1970(r.acted_at), 'refusal', r.refusal)
$$;

-- R12: one statement a beat. The node's row in the registry, with how busy it is; its renewals and its locks; and back comes
-- all that a node should hear of: every lease, how many nodes are here, what was asked of this one, and whether tokens or
-- configuration have changed.
-- p_orders: [{"role", "renew": epoch or null, "lock": "take"|"drop"|null, "heir": the same}], ordered by role.
-- Locks each renewed row FOR NO KEY UPDATE and skips one that another transaction holds: unknown, not lost.
-- Every node pays for this one every second, on a session that has grown cold meanwhile, so it is made of few queries: what
-- is none is an expression, which PL/pgSQL runs by itself.
drop function if exists :"schema".beat(text, text, text, text, text, jsonb);
create function :"schema".beat(
  p_node text, p_incarnation text, p_status text, p_lock_session text, p_witness_session text, p_orders jsonb,
  p_load jsonb, p_node_timeout_ms integer
) returns jsonb
language plpgsql as $$
declare
  v_renews boolean := p_orders @? '$[*] ? (@.renew != null)';
  v_identity text;
  v_known boolean;
  v_order jsonb;
  v_lease :"schema".leases;
  v_answers jsonb := '[]';
  v_renewal jsonb;
  v_lock boolean;
  v_heir boolean;
  v_overtaken boolean;
  v_setting text;
  v_silent_since timestamptz;
begin
  -- R2: inside the transaction, or a setting of the role or the database would win. A standby's beat may be lost.
  v_setting := set_config('synchronous_commit', case when v_renews then 'on' else 'off' end, true);
  -- A session asks once: no database becomes another one under it. A promotion, which sessions outlive, is the change from a
  -- replica, whose identity is null and not kept.
  v_identity := nullif(current_setting('holdfast.identity', true), '');
  if v_identity is null then
    v_identity := :"schema".identity();
    v_setting := set_config('holdfast.identity', v_identity, false);
  end if;

  update :"schema".nodes set
    last_heartbeat = clock_timestamp(), status = p_status,
    lock_session = p_lock_session, witness_session = p_witness_session,
    current_connections = (p_load->>'current_connections')::integer, current_jobs = (p_load->>'current_jobs')::integer,
    cpu_usage = (p_load->>'cpu_usage')::real, memory_usage = (p_load->>'memory_usage')::real,
    config_version = (p_load->>'config_version')::bigint,
    contends = string_to_array(p_load->>'contends', ' ')
  where node_id = p_node and incarnation = p_incarnation and status <> 'left';
  -- A beat that comes after its process has left changes nothing: the tombstone stays.
  v_known := found or exists (
    select from :"schema".nodes where node_id = p_node and incarnation = p_incarnation and status = 'left');

  for v_place in 0 .. jsonb_array_length(p_orders) - 1 loop
    v_order := p_orders->v_place;
    v_renewal := null;
    v_lock := null;
    v_heir := null;
    if v_order->>'renew' is not null then
      select * into v_lease from :"schema".leases where role = v_order->>'role' for no key update skip locked;
      if not found then
        v_renewal := '{"kind": "unknown"}';
      elsif v_identity is not null and v_lease.identity is not null and v_lease.identity <> v_identity then
        v_renewal := '{"kind": "lost", "reason": "database_changed"}';
      elsif v_lease.epoch <> (v_order->>'renew')::bigint or v_lease.incarnation is distinct from p_incarnation then
        v_renewal := '{"kind": "lost", "reason": "superseded"}';
      elsif v_lease.expires_at <= clock_timestamp() and not (
        v_lease.on_stall = 'hold' and coalesce(:"schema".key_owner(v_lease.lock_key) = pg_backend_pid(), false)
      ) then
        v_renewal := '{"kind": "lost", "reason": "expired"}';
      else
        -- A beat that comes late, on a session that its process has given up since, must not name that session again: the
        -- row would tell of a crash where there was a reconnect.
        v_overtaken := :"schema".opened_after(v_lease.lock_session, p_lock_session);
        update :"schema".leases set
          holder_url = (select url from :"schema".nodes where node_id = p_node),
          renewed_at = clock_timestamp(),
          expires_at = clock_timestamp() + ttl_ms * interval '1 millisecond',
          lock_session = case when v_overtaken then lock_session else p_lock_session end,
          witness_session = case when v_overtaken then witness_session else p_witness_session end
        where role = v_lease.role;
        v_renewal := '{"kind": "renewed"}';
      end if;
    end if;
    if v_order->>'lock' is not null or v_order->>'heir' is not null then
      select * into v_lease from :"schema".leases where role = v_order->>'role';
      if v_order->>'lock' = 'take' then
        v_lock := pg_try_advisory_lock(v_lease.lock_key);
      elsif v_order->>'lock' = 'drop' then
        perform pg_advisory_unlock(v_lease.lock_key);
        v_lock := false;
      end if;
      if v_order->>'heir' = 'take' then
        v_heir := pg_try_advisory_lock(v_lease.heir_key);
      elsif v_order->>'heir' = 'drop' then
        perform pg_advisory_unlock(v_lease.heir_key);
        v_heir := false;
      end if;
    end if;
    if v_renewal is not null or v_lock is not null or v_heir is not null then
      v_answers := v_answers || jsonb_build_object(
        'role', v_order->>'role', 'renewal', v_renewal, 'holds_lock', v_lock, 'is_heir', v_heir);
    end if;
  end loop;

  -- The silent are counted as dead, by this database's clock alone.
  v_silent_since := clock_timestamp() - p_node_timeout_ms * interval '1 millisecond';
  return (
    select jsonb_build_object(
      'known', v_known, 'identity', v_identity, 'answers', v_answers,
      'leases', (select coalesce(jsonb_agg(:"schema".lease_view(l)), '[]') from :"schema".leases l),
      'members', (
        select coalesce(jsonb_object_agg(status, n), '{}') from (
          select
            case when status <> 'left' and last_heartbeat < v_silent_since then 'dead' else status end as status,
            count(*) as n
          from :"schema".nodes group by 1
        ) c),
      'requests', (
        select coalesce(jsonb_agg(:"schema".request_view(r) order by r.id), '[]') from :"schema".requests r
        where r.node_id = p_node and r.incarnation = p_incarnation and r.acted_at is null),
      'access_version', m.access_version, 'config_version', m.config_version)
    from :"schema".meta m);
end
$$;

-- The audit is written and never rewritten: a node's role may add lines and read them, and what else there is to do is done by
-- these two, as the owner. A line gets its outcome once; and whoever takes a node over cannot make the last month go away.
create function :"schema".finish_audit(p_id bigint, p_outcome text, p_target text) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  update :"schema".audit set outcome = p_outcome, target = coalesce(target, p_target) where id = p_id and outcome = 'begun'
$$;

-- The oldest lines, so many at most; the ids are in the order of time. A role's last line stays: it tells which epochs were given,
-- should the lease row be lost.
create function :"schema".forget_history(p_days integer, p_limit integer) returns integer
language plpgsql as $$
declare
  v_number integer;
begin
  delete from :"schema".history where id in (
    select id from (select id, role, at from :"schema".history order by id limit p_limit) oldest
    where at < clock_timestamp() - p_days * interval '1 day'
      and exists (select from :"schema".history later where later.role = oldest.role and later.id > oldest.id));
  get diagnostics v_number = row_count;
  return v_number;
end
$$;

-- By the owner, and never what is younger than 30 days: a node that was taken over cannot wipe its traces. A reader may not at all.
create function :"schema".forget_audit(p_days integer, p_limit integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_number integer;
begin
  delete from :"schema".audit where id in (
    select id from (select id, at from :"schema".audit order by id limit p_limit) oldest
    where at < clock_timestamp() - greatest(p_days, 30) * interval '1 day');
  get diagnostics v_number = row_count;
  return v_number;
end
$$;
revoke execute on function :"schema".forget_audit(integer, integer) from public;

-- Marks the silent as dead and forgets what is older than it has to be kept. A row that somebody holds is left for the next
-- time. A dead node that beats again revives: its beat says what it is.
create function :"schema".tidy(
  p_node_timeout_ms integer, p_mark_dead boolean, p_forget_after_ms bigint, p_history_days integer, p_audit_days integer
) returns jsonb
language plpgsql as $$
declare
  v_died text[];
  v_forgotten text[];
begin
  perform set_config('synchronous_commit', 'off', true);
  with silent as (
    select node_id from :"schema".nodes
    where p_mark_dead and status not in ('dead', 'left')
      and last_heartbeat < clock_timestamp() - p_node_timeout_ms * interval '1 millisecond'
    for no key update skip locked
  ), marked as (
    update :"schema".nodes n set status = 'dead' from silent s where n.node_id = s.node_id returning n.node_id
  ) select array_agg(node_id) into v_died from marked;
  with old as (
    select node_id from :"schema".nodes
    where last_heartbeat < clock_timestamp() - p_forget_after_ms * interval '1 millisecond'
    for update skip locked
  ), forgotten as (
    delete from :"schema".nodes n using old o where n.node_id = o.node_id returning n.node_id
  ) select array_agg(node_id) into v_forgotten from forgotten;
  -- Those of the gone are for the aggregator to take in, and go by themselves where there is none.
  delete from :"schema".snapshots s
  where s.at < clock_timestamp() - interval '1 hour' and not :"schema".is_living(s.node_id, s.incarnation);
  delete from :"schema".requests where requested_at < clock_timestamp() - interval '7 days';
  if p_history_days > 0 then
    perform :"schema".forget_history(p_history_days, 1000);
  end if;
  if p_audit_days > 0 then
    perform :"schema".forget_audit(p_audit_days, 1000);
  end if;
  return jsonb_build_object('died', coalesce(to_jsonb(v_died), '[]'), 'forgotten', coalesce(to_jsonb(v_forgotten), '[]'));
end
$$;

-- Asks something of a node, or of whoever leads a role. Refused where nobody is there to act.
create function :"schema".send_request(
  p_kind text, p_node text, p_role text, p_to text, p_by text, p_node_timeout_ms integer
) returns jsonb
language plpgsql as $$
declare
  v_target text := p_node;
  v_incarnation text;
  v_node :"schema".nodes;
  v_request :"schema".requests;
begin
  if p_kind = 'step_down' then
    select case when expires_at > clock_timestamp() then holder end, incarnation into v_target, v_incarnation
    from :"schema".leases where role = p_role;
    if not found then
      raise exception using errcode = 'HF003', message = format('role %s is not known here', p_role);
    elsif v_target is null then
      raise exception using errcode = 'HF007', message = format('nobody leads role %s', p_role);
    end if;
  end if;
  select * into v_node from :"schema".nodes where node_id = v_target;
  if not found then
    raise exception using errcode = 'HF006', message = format('there is no node %s in this cluster', v_target);
  elsif v_node.status in ('dead', 'left')
    or v_node.last_heartbeat < clock_timestamp() - p_node_timeout_ms * interval '1 millisecond'
  then
    raise exception using errcode = 'HF008',
      message = format('node %s is %s', v_target, case v_node.status when 'left' then 'gone: it left' else 'dead' end);
  end if;
  if v_incarnation <> v_node.incarnation then
    -- The process that led is gone, and its node is another by now.
    raise exception using errcode = 'HF007', message = format('nobody leads role %s', p_role);
  end if;
  insert into :"schema".requests (kind, node_id, incarnation, role, successor, requested_by)
  values (p_kind, v_target, v_node.incarnation, p_role, p_to, p_by) returning * into v_request;
  return :"schema".request_view(v_request);
end
$$;

-- In a transaction of its own, after the request has committed, like every notice (R9). Lost, the next beat finds the row.
create function :"schema".announce_request(p_node text) returns void
language plpgsql as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  perform pg_notify((select channel from :"schema".meta), jsonb_build_object('kind', 'request', 'node_id', p_node)::text);
end
$$;

create function :"schema".answer_request(p_id bigint, p_incarnation text, p_refusal text) returns void
language sql as $$
  update :"schema".requests set acted_at = clock_timestamp(), refusal = p_refusal
  where id = p_id and incarnation = p_incarnation and acted_at is null
$$;

create function :"schema".create_token(
  p_name text, p_role text, p_grants text[], p_hash text, p_lifetime_ms bigint, p_by text
) returns setof :"schema".tokens
language plpgsql as $$
begin
  perform set_config('synchronous_commit', 'on', true);
  -- One at a time, so that no node reads the new version without the new row.
  update :"schema".meta set access_version = access_version + 1;
  update :"schema".tokens set revoked_at = expires_at
  where name = p_name and revoked_at is null and expires_at <= clock_timestamp();
  if exists (select from :"schema".tokens where name = p_name and revoked_at is null) then
    raise exception using errcode = 'HF009', message = format('there is a token named "%s" already', p_name);
  end if;
  return query insert into :"schema".tokens (name, role, grants, hash, created_by, expires_at)
  values (p_name, p_role, p_grants, p_hash, p_by, clock_timestamp() + p_lifetime_ms * interval '1 millisecond')
  returning *;
end
$$;

create function :"schema".revoke_token(p_id bigint) returns setof :"schema".tokens
language plpgsql as $$
begin
  perform set_config('synchronous_commit', 'on', true);
  update :"schema".meta set access_version = access_version + 1;
  return query update :"schema".tokens set revoked_at = coalesce(revoked_at, clock_timestamp()) where id = p_id returning *;
end
$$;

create function :"schema".save_snapshot(p_node text, p_incarnation text, p_body text) returns void
language plpgsql as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  insert into :"schema".snapshots (node_id, incarnation, body) values (p_node, p_incarnation, p_body)
  on conflict (incarnation) do update set at = clock_timestamp(), body = excluded.body;
end
$$;

-- A clean stop leaves a tombstone. A process may stop while a lease of its own still runs, because its work did not stop in
-- time: its sessions end now, and that must not look like a crash. The lease has to run out (R9).
create or replace function :"schema".leave(p_node text, p_incarnation text) returns void
language sql as $$
  update :"schema".leases set lock_session = null, witness_session = null where incarnation = p_incarnation;
  update :"schema".nodes set
    status = 'left', last_heartbeat = clock_timestamp(), lock_session = null, witness_session = null,
    current_connections = 0, current_jobs = 0, cpu_usage = 0, memory_usage = 0, contends = '{}'
  where node_id = p_node and incarnation = p_incarnation;
$$;
