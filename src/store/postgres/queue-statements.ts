import { engineQueue } from "../engine-contract.js";
import { delayHeader } from "../queue-contract.js";

/** The statements of the queue. `schema` is quoted already. */
export function queueStatements(schema: string) {
  const message = `m.lane::text, m.position::text, m.segment, m.key, m.headers, ${schema}.ms_since_1970(m.at) as at`;
  const letter = `id::text, stage, lane, position::text, key, headers, reason, attempts, reclaims,
    ${schema}.ms_since_1970(died_at) as died_at, ${schema}.ms_since_1970(redriven_at) as redriven_at,
    redriven_to::text`;
  const places = "unnest($1::bigint[], $2::bigint[], $3::bigint[]) x(id, lane, position)";
  return {
    recover: `select ${schema}.recover_queue($1, $2, $3, $4, $5) as found`,
    busyLanes: `select ${schema}.lane_view(l) as lane from ${schema}.lanes l where queue = $1 and busy order by id`,
    openSegment: `select ${schema}.open_segment($1) as segment`,
    dropSegments: `select ${schema}.drop_segments($1, $2) as dropped`,

    // Those that are there are woken; an update does not see what the insert beside it has made, so none is in both.
    openLanes: `
      with wanted as (select distinct * from unnest($2::text[], $3::text[]) w(stage, name)),
      made as (
        insert into ${schema}.lanes (queue, stage, name, done_segment) select $1, stage, name, $4 from wanted
        order by stage, name
        on conflict (queue, stage, name) do nothing
        returning *
      ), woken as (
        update ${schema}.lanes l set busy = true from wanted w where (l.queue, l.stage, l.name) = ($1, w.stage, w.name)
        returning ${schema}.lane_view(l) as lane
      )
      select ${schema}.lane_view(made, 0) as lane from made union all select lane from woken`,
    wake: `update ${schema}.lanes set busy = true where id = any ($1)`,
    findKeys: `select key, lane::text, position::text from ${schema}.message_keys where queue = $1 and key = any ($2)`,

    renew: `
      update ${schema}.lanes set leased_until = clock_timestamp() + $2 * interval '1 millisecond'
      where id in (
        -- One that is being settled at this moment is renewed the next time: neither waits for the other.
        select id from ${schema}.lanes where id = any ($1) and claimed > done and claim_epoch = $3 for update skip locked)`,
    sweep: `
      update ${schema}.lanes l set claimed = done, claim = 0, leased_until = null
      where queue = $1 and busy and claimed > done and leased_until < clock_timestamp()
      returning ${schema}.lane_view(l) as lane`,
    // A rest that comes late, when its leader has given it up for lost, must not hide what was taken in meanwhile.
    rest: `
      update ${schema}.lanes l set busy = false
      where id = any ($1) and claimed = done and ${schema}.lane_tail(l) = done`,

    setPaused: `
      update ${schema}.lanes l set
        paused = $4, blocked = blocked and $4, wait_until = case when $4 then wait_until end, busy = true, steered = true
      where queue = $1 and stage = $2 and name = $3
      returning ${schema}.lane_view(l) as lane`,
    skip: `select ${schema}.skip_head($1, $2, $3) as answer`,
    steered: `select id::text from ${schema}.lanes where queue = $1 and steered`,
    takeSteered: `
      update ${schema}.lanes l set steered = false, busy = true
      where id in (select id from ${schema}.lanes where id = any ($1) order by id for update skip locked)
      returning ${schema}.lane_view(l) as lane`,
    lanes: `select ${schema}.lane_view(l) as lane from ${schema}.lanes l where queue = $1 order by stage, name`,
    peek: `
      select ${message}, length(m.body) as size
      from ${schema}.lanes l join ${schema}.messages m on m.lane = l.id and m.segment >= l.done_segment and m.position > l.done
      where l.id = $1 order by m.position limit $2`,

    deadLetters: `
      select ${letter} from ${schema}.dead_letters
      where queue = $1 and ($2::bigint is null or dead_letters.id < $2) order by dead_letters.id desc limit $3`,
    deadLetter: `select ${letter}, body from ${schema}.dead_letters where queue = $1 and dead_letters.id = $2`,
    lettersOfMessage: `
      select ${letter} from ${schema}.dead_letters
      where queue = '${engineQueue}' and ${schema}.journal_id(headers) = $1 order by dead_letters.id`,
    letters: `
      select ${letter} from ${schema}.dead_letters
      where queue = $1 and ($2::bigint[] is null and redriven_at is null or dead_letters.id = any ($2))
        and ($3::text is null or stage = $3) and ($4::text is null or lane = $4)
      order by dead_letters.id limit $5`,

    // To its own lane alone; and again only to the same place.
    markRedriven: `
      update ${schema}.dead_letters d set
        redriven_at = coalesce(d.redriven_at, clock_timestamp()), redriven_to = x.position
      from ${places} join ${schema}.lanes l on l.id = x.lane
      where d.id = x.id and d.queue = $4 and (l.queue, l.stage, l.name) = (d.queue, d.stage, d.lane)
        and (d.redriven_at is null or d.redriven_to = x.position)
      returning d.id::text`,
    // The body goes from one table to the other, and not to the client and back.
    appendLetters: `
      insert into ${schema}.messages (segment, lane, position, epoch, key, headers, body)
      select $4, x.lane, x.position, $5, d.key, (coalesce(d.headers, '{}') - '${delayHeader}') || jsonb_build_object($6::text, x.id::text), d.body
      from ${places} join ${schema}.dead_letters d using (id)
      on conflict do nothing`,
    placedLetters: `
      select from ${places} join ${schema}.messages m using (lane, position) where m.headers ->> $4 = x.id::text`,
    // The key moves on with its message, unless another message has it by now: the dead one's segment may be long gone.
    moveKeys: `
      update ${schema}.message_keys k set segment = $4, position = x.position
      from ${places} join ${schema}.dead_letters d using (id)
      where k.queue = d.queue and k.key = d.key and k.lane = x.lane and k.position = d.position`,
    addKeys: `
      insert into ${schema}.message_keys (queue, segment, key, lane, position)
      select d.queue, $4, d.key, x.lane, x.position from ${places} join ${schema}.dead_letters d using (id)
      where d.key is not null order by x.id
      on conflict do nothing`,
  } as const;
}
