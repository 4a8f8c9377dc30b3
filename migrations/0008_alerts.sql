-- oldest-code: 2
-- Alerts: what was read of all metrics, what became of each rule's series, and what is to be told to whom.

-- One row, which whoever writes here has read before and names: of two that have read the same, one is overtaken, and reads again.
-- `version` is raised by every change of an alert, `round` by every evaluation.
create table :"schema".alert_rounds (
  singleton boolean primary key default true check (singleton),
  version bigint not null default 0,
  round bigint not null default 0,
  at timestamptz,
  node_id text
) with (fillfactor = 50);
insert into :"schema".alert_rounds default values;

-- The series that some rule reads, as they were in a round: for as long as the longest look back. Compressed by whoever writes them.
create table :"schema".alert_samples (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  series bytea not null
);
alter table :"schema".alert_samples alter column series set storage external;

-- What became of one resulting series of a rule. The id is a hash of cluster, rule and labels: the same everywhere, at any time.
create table :"schema".alerts (
  id text collate "C" primary key,
  rule text not null,
  state text not null check (state in ('pending', 'firing', 'resolved')),
  labels jsonb not null,
  summary text not null,
  condition text not null,
  value double precision not null,
  active_since timestamptz not null,
  fired_at timestamptz,
  acknowledged_at timestamptz,
  acknowledged_by text,
  resolved_at timestamptz,
  resolved_by text,
  quiet boolean not null,
  changes integer not null,
  -- Who is told of it, by the names that nodes have for them: nothing secret.
  targets text[] not null
);
create index alerts_resolved on :"schema".alerts (resolved_at) where state = 'resolved';

-- What is to be told, to one target each; a change is told once. Rows are written by one transaction at a time, so their numbers are
-- in the order of their commits.
create table :"schema".alert_notifications (
  id bigint generated always as identity primary key,
  alert_id text collate "C" not null references :"schema".alerts on delete cascade,
  change integer not null,
  target text not null,
  body jsonb not null,
  at timestamptz not null default clock_timestamp(),
  due_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  lease text,
  leased_until timestamptz,
  done_at timestamptz,
  outcome text check (outcome in ('sent', 'given_up')),
  problem text,
  unique (alert_id, change, target),
  check ((done_at is null) = (outcome is null))
);
create index alert_notifications_waiting on :"schema".alert_notifications (alert_id, target, id) where done_at is null;

create function :"schema".at_ms(p_ms double precision) returns timestamptz
language sql immutable as $$
  select to_timestamp(p_ms / 1000)
$$;

create function :"schema".alert_json(a :"schema".alerts) returns jsonb
language sql stable as $$
  select jsonb_build_object(
    'id', a.id, 'rule', a.rule, 'state', a.state, 'labels', a.labels, 'summary', a.summary, 'condition', a.condition,
    -- As text: what is no number to JSON may be one here.
    'value', a.value::text,
    'active_since', :"schema".ms_since_1970(a.active_since), 'fired_at', :"schema".ms_since_1970(a.fired_at),
    'acknowledged_at', :"schema".ms_since_1970(a.acknowledged_at), 'acknowledged_by', a.acknowledged_by,
    'resolved_at', :"schema".ms_since_1970(a.resolved_at), 'resolved_by', a.resolved_by,
    'quiet', a.quiet, 'changes', a.changes, 'targets', to_jsonb(a.targets))
$$;

-- Everything that whoever evaluates needs, beside the metrics themselves, as of one moment. What he has already is not sent again.
create function :"schema".look_at_alerts(p_version bigint, p_sample bigint, p_back_ms double precision) returns jsonb
language sql stable as $$
  select jsonb_build_object(
    'now', :"schema".ms_since_1970(clock_timestamp()),
    'version', r.version, 'round', r.round,
    'age_ms', :"schema".ms_between(clock_timestamp(), r.at),
    'alerts', case when r.version is distinct from p_version then (
      select coalesce(jsonb_agg(:"schema".alert_json(a) order by a.id), '[]') from :"schema".alerts a) end,
    'waiting', (
      select coalesce(jsonb_agg(jsonb_build_object(
        'alert_id', n.alert_id, 'change', n.change, 'target', n.target, 'body', n.body) order by n.id), '[]')
      from (select * from :"schema".alert_notifications where done_at is null order by id limit 100) n),
    'samples', (
      select coalesce(jsonb_agg(jsonb_build_object(
        'id', s.id, 'at', :"schema".ms_since_1970(s.at), 'series', encode(s.series, 'base64')) order by s.id), '[]')
      from :"schema".alert_samples s
      where s.id > coalesce(p_sample, 0) and s.at > :"schema".after_ms(clock_timestamp(), -p_back_ms)))
  from :"schema".alert_rounds r
$$;

-- A round, a change by hand, or what was told while this database was away: all of it or nothing, and nothing where somebody else
-- was here since `p_version` and `p_round` were read. Answers whether it was written.
create function :"schema".keep_alerts(p_node text, p_version bigint, p_round bigint, p_order jsonb) returns boolean
language plpgsql as $$
declare
  v_is_round boolean := p_order -> 'sample' <> 'null';
  v_is_change boolean := jsonb_array_length(p_order -> 'alerts') + jsonb_array_length(p_order -> 'gone') > 0;
begin
  -- A round in which nothing is to be told can be done again.
  perform set_config('synchronous_commit', case when (p_order ->> 'durable')::boolean then 'on' else 'off' end, true);
  update :"schema".alert_rounds set
    version = version + v_is_change::integer,
    round = round + v_is_round::integer,
    at = case when v_is_round then :"schema".at_ms((p_order -> 'sample' ->> 'at')::double precision) else at end,
    node_id = case when v_is_round then p_node else node_id end
  where version = p_version and round = p_round;
  if not found then
    return false;
  end if;
  if v_is_round then
    insert into :"schema".alert_samples (at, series)
    select :"schema".at_ms((s ->> 'at')::double precision), decode(s ->> 'series', 'base64') from (select p_order -> 'sample') x(s);
    delete from :"schema".alert_samples
    where at < :"schema".after_ms(clock_timestamp(), -(p_order -> 'sample' ->> 'kept_ms')::double precision);
  end if;
  delete from :"schema".alerts where id in (select jsonb_array_elements_text(p_order -> 'gone'));
  insert into :"schema".alerts as a
  select x.id, x.rule, x.state, x.labels, x.summary, x.condition, x.value::double precision,
    :"schema".at_ms(x.active_since), :"schema".at_ms(x.fired_at),
    :"schema".at_ms(x.acknowledged_at), x.acknowledged_by, :"schema".at_ms(x.resolved_at), x.resolved_by,
    x.quiet, x.changes, x.targets
  from jsonb_to_recordset(p_order -> 'alerts') x(
    id text, rule text, state text, labels jsonb, summary text, condition text, value text,
    active_since double precision, fired_at double precision, acknowledged_at double precision, acknowledged_by text,
    resolved_at double precision, resolved_by text, quiet boolean, changes integer, targets text[])
  on conflict (id) do update set
    state = excluded.state, labels = excluded.labels, summary = excluded.summary, condition = excluded.condition,
    value = excluded.value, active_since = excluded.active_since, fired_at = excluded.fired_at,
    acknowledged_at = excluded.acknowledged_at, acknowledged_by = excluded.acknowledged_by,
    resolved_at = excluded.resolved_at, resolved_by = excluded.resolved_by, quiet = excluded.quiet,
    changes = excluded.changes, targets = excluded.targets;
  insert into :"schema".alert_notifications (alert_id, change, target, body, done_at, outcome)
  select x.alert_id, x.change, x.target, x.body, case when x.told then clock_timestamp() end, case when x.told then 'sent' end
  from rows from (jsonb_to_recordset(p_order -> 'notifications') as (
    alert_id text, change integer, target text, body jsonb, told boolean)) with ordinality
    as x(alert_id, change, target, body, told, place)
  order by x.place
  on conflict do nothing;
  update :"schema".alert_notifications n set
    done_at = clock_timestamp(), outcome = 'sent', problem = null, lease = null, leased_until = null
  from jsonb_to_recordset(p_order -> 'told') x(alert_id text, change integer, target text)
  where n.alert_id = x.alert_id and n.change = x.change and n.target = x.target and n.done_at is null;
  delete from :"schema".alerts a where a.id in (
    select id from :"schema".alerts
    where state = 'resolved' and not quiet
      and resolved_at < :"schema".after_ms(clock_timestamp(), -(p_order ->> 'forget_after_ms')::double precision)
      and not exists (
        select from :"schema".alert_notifications n where n.alert_id = alerts.id and n.done_at is null)
    limit 100);
  -- An alert that comes and goes is never old, and what was told of it is: a few at a time, the first of all by their key.
  delete from :"schema".alert_notifications where id in (
    select n.id from (select id, done_at from :"schema".alert_notifications order by id limit 1000) n
    where n.done_at < :"schema".after_ms(clock_timestamp(), -(p_order ->> 'forget_after_ms')::double precision));
  return true;
end
$$;

-- What is due, for as long as the lease runs; of one alert and target only the first that waits, so that they are told in their order.
-- What nobody could tell for `p_patience_ms` is given up. A row that another node has just taken is passed over.
create function :"schema".claim_alert_notifications(
  p_lease text, p_targets text[], p_lease_ms double precision, p_patience_ms double precision, p_limit integer
) returns jsonb
language plpgsql as $$
declare
  v_claimed jsonb;
begin
  update :"schema".alert_notifications set done_at = clock_timestamp(), outcome = 'given_up', lease = null, leased_until = null
  where done_at is null and at < :"schema".after_ms(clock_timestamp(), -p_patience_ms)
    and (leased_until is null or leased_until <= clock_timestamp());
  with due as (
    select id from :"schema".alert_notifications n
    where n.done_at is null and n.target = any (p_targets) and n.due_at <= clock_timestamp()
      and (n.leased_until is null or n.leased_until <= clock_timestamp())
      and not exists (
        select from :"schema".alert_notifications e
        where e.alert_id = n.alert_id and e.target = n.target and e.done_at is null and e.id < n.id)
    order by n.id limit p_limit
    for update skip locked
  ), claimed as (
    update :"schema".alert_notifications n set
      lease = p_lease, leased_until = :"schema".after_ms(clock_timestamp(), p_lease_ms), attempts = n.attempts + 1
    from due where n.id = due.id
    returning n.id, n.target, n.body, n.attempts
  )
  select coalesce(jsonb_agg(jsonb_build_object(
    'id', id::text, 'target', target, 'body', body, 'attempts', attempts) order by id), '[]') into v_claimed from claimed;
  return v_claimed;
end
$$;

-- What became of it. Whoever's lease was taken over meanwhile changes nothing. A retry is due after so long.
create function :"schema".settle_alert_notification(p_id bigint, p_lease text, p_problem text, p_retry_ms double precision) returns boolean
language plpgsql as $$
begin
  update :"schema".alert_notifications set
    lease = null, leased_until = null, problem = p_problem,
    due_at = coalesce(:"schema".after_ms(clock_timestamp(), p_retry_ms), due_at),
    done_at = case when p_retry_ms is null then clock_timestamp() end,
    outcome = case when p_retry_ms is null then 'sent' end
  where id = p_id and lease = p_lease and done_at is null;
  return found;
end
$$;

-- With whom was told, the newest change first. Those that fire come first, then those that may, then what is over.
create function :"schema".list_alerts(p_limit integer) returns jsonb
language sql stable as $$
  select coalesce(jsonb_agg(:"schema".alert_json(a) || jsonb_build_object('notified', (
    select coalesce(jsonb_agg(jsonb_build_object(
      'target', n.target, 'change', n.body ->> 'kind', 'at', :"schema".ms_since_1970(coalesce(n.done_at, n.at)),
      'outcome', coalesce(n.outcome, 'waiting'), 'attempts', n.attempts, 'problem', n.problem) order by n.id desc), '[]')
    from (select * from :"schema".alert_notifications where alert_id = a.id order by id desc limit 50) n))
    order by array_position(array['firing', 'pending', 'resolved'], a.state), coalesce(a.resolved_at, a.active_since) desc, a.id), '[]')
  from (
    select * from :"schema".alerts
    order by array_position(array['firing', 'pending', 'resolved'], state), coalesce(resolved_at, active_since) desc, id
    limit p_limit) a
$$;
