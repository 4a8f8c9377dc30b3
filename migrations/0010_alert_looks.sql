-- oldest-code: 2
-- Every node looks at the alerts every few seconds. As a function in SQL this was planned anew each time, which took longer than to run
-- it; in PL/pgSQL a session plans it once.
create or replace function :"schema".look_at_alerts(p_version bigint, p_sample bigint, p_back_ms double precision) returns jsonb
-- With the number of a sample at hand each plan of its own would look a little cheaper, and be made each time.
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
declare
  v_now timestamptz := clock_timestamp();
begin
  return (
    select jsonb_build_object(
      'now', :"schema".ms_since_1970(v_now),
      'version', r.version, 'round', r.round,
      'age_ms', :"schema".ms_between(v_now, r.at),
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
        where s.id > coalesce(p_sample, 0) and s.at > :"schema".after_ms(v_now, -p_back_ms)))
    from :"schema".alert_rounds r);
end
$$;
