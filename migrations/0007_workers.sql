-- oldest-code: 2
-- What the workers of the cluster ask of the leader of `scheduler`, and what they are answered. Nodes never call each other.

-- A letter and its answer. Whoever asked takes the answer away, row and all. Unlogged: after a crash of the server, or on a
-- replica that was promoted, there are none, and whoever waits for one notices and asks again.
create unlogged table :"schema".worker_orders (
  id text collate "C" primary key,
  node_id text not null,
  -- The process that asks: its successor of the same name has no use for the answer.
  incarnation text collate "C" not null,
  at timestamptz not null default clock_timestamp(),
  -- json and not jsonb: results are handed on as they came.
  body json not null,
  answer json
-- Rows come and go all day, and there are few at a time.
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index worker_orders_incarnation on :"schema".worker_orders (incarnation);

-- Whether a process is one of the cluster's, by this database's clock and the silence that whoever asks allows: that somebody
-- else has called it dead for its silence counts for nothing.
create function :"schema".is_living(p_incarnation text, p_node_timeout_ms double precision) returns boolean
language sql volatile as $$
  select exists (
    select from :"schema".nodes
    where incarnation = p_incarnation and status <> 'left'
      and last_heartbeat >= :"schema".after_ms(clock_timestamp(), -p_node_timeout_ms))
$$;

-- The notice goes with the row: nothing here waits for the disk, so no other notice waits for this one. Lost, the next look
-- of the leader finds the row.
create function :"schema".send_worker_order(p_id text, p_node text, p_incarnation text, p_body json) returns void
language plpgsql as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  insert into :"schema".worker_orders (id, node_id, incarnation, body) values (p_id, p_node, p_incarnation, p_body)
  on conflict do nothing;
  perform pg_notify((select channel from :"schema".meta), '{"kind": "worker_order"}');
end
$$;

-- Answers with what there was to say to it, null where nothing was.
create function :"schema".withdraw_worker_order(p_id text) returns json
language plpgsql as $$
declare
  v_answer json;
begin
  perform set_config('synchronous_commit', 'off', true);
  delete from :"schema".worker_orders where id = p_id returning answer into v_answer;
  if found and v_answer is null then
    perform pg_notify((select channel from :"schema".meta), '{"kind": "worker_order"}');
  end if;
  return v_answer;
end
$$;

-- The answers of one process, which are gone then, and the ids of those that still wait.
create function :"schema".collect_worker_answers(p_incarnation text) returns json
language plpgsql as $$
declare
  v_reply json;
begin
  perform set_config('synchronous_commit', 'off', true);
  with taken as (
    delete from :"schema".worker_orders where incarnation = p_incarnation and answer is not null returning id, answer
  )
  select json_build_object(
    'answers', (select coalesce(json_agg(json_build_object('id', id, 'answer', answer)), '[]') from taken),
    'waiting', (
      select coalesce(json_agg(id), '[]') from :"schema".worker_orders
      where incarnation = p_incarnation and answer is null))
  into v_reply;
  return v_reply;
end
$$;

-- What living nodes wait for, in the order in which it came. Of those that the leader has taken on, only the id.
create function :"schema".pending_worker_orders(p_known text[], p_node_timeout_ms double precision) returns json
language sql volatile as $$
  select coalesce(json_agg(json_build_object(
    'id', o.id, 'node_id', o.node_id, 'incarnation', o.incarnation,
    'body', case when not o.id = any (p_known) then o.body end) order by o.at), '[]')
  from :"schema".worker_orders o
  where o.answer is null and :"schema".is_living(o.incarnation, p_node_timeout_ms)
$$;

-- Whoever has withdrawn his order meanwhile hears nothing. Answers are JSON as text, for a zero in a string would not pass here.
create function :"schema".answer_worker_orders(p_ids text[], p_answers text[]) returns void
language plpgsql as $$
declare
  v_channel text := (select channel from :"schema".meta);
  v_node text;
begin
  perform set_config('synchronous_commit', 'off', true);
  for v_node in with answered as (
    update :"schema".worker_orders o set answer = x.answer::json
    from unnest(p_ids, p_answers) x(id, answer)
    where o.id = x.id and o.answer is null
    returning o.node_id
  )
  select distinct node_id from answered loop
    perform pg_notify(v_channel, json_build_object('kind', 'worker_answer', 'node_id', v_node)::text);
  end loop;
end
$$;

-- The leases of processes that live no more, which a worker's lease names. What those processes waited for is forgotten.
create function :"schema".forsaken_leases(p_node_timeout_ms double precision) returns json
language plpgsql as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  delete from :"schema".worker_orders where not :"schema".is_living(incarnation, p_node_timeout_ms);
  return (
    select coalesce(json_agg(json_build_object('agent', agent, 'lease_id', lease_id)), '[]')
    from :"schema".job_leases
    where lease_id like 'worker:%' and not :"schema".is_living(split_part(lease_id, ':', 2), p_node_timeout_ms));
end
$$;
