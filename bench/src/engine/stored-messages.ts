import type pg from "pg";

const slice = 50_000;
const connections = 20;

/**
 * A journal as the engine leaves it, loaded in bulk: of every hundred messages 75 are processed and sent, 20 filtered, 4 unrouted, and
 * one is in error. They came one a second. `HOSP` is in all of them, `FAMILY7` in one of a thousand, and control ids are `C<id>`.
 */
export async function storeMessages(session: pg.Client, count: number, firstAt: Date): Promise<void> {
  await session.query("insert into holdfast.queues (name, role) values ('engine', 'engine') on conflict do nothing");
  const { rows } = await session.query<{ segment: number }>("select holdfast.open_segment('engine') as segment");
  const segment = rows[0]?.segment ?? 0;
  for (let end = 0; end <= count; end += 1_000_000) await session.query("select holdfast.open_engine_partition()");
  await session.query(
    `insert into holdfast.lanes (queue, stage, name, done_segment)
     select 'engine', 'ingress', 'feed-' || n, $2::integer from generate_series(0, $1::integer - 1) n`,
    [connections, segment],
  );
  for (let first = 1; first <= count; first += slice) {
    const last = Math.min(count, first + slice - 1);
    await session.query(bodies, [first, last, connections, segment]);
    await session.query(journal, [first, last, connections, segment, firstAt]);
    await session.query(steps, [first, last, firstAt]);
  }
  await session.query(letters, [count, connections]);
  await session.query(
    `update holdfast.lanes l set done = holdfast.lane_tail(l) where queue = 'engine' and stage = 'ingress'`,
  );
  for (const table of ["lanes", "messages", "engine_messages", "engine_steps", "dead_letters"]) {
    await session.query(`vacuum analyze holdfast.${table}`);
  }
}

const numbers = `
  generate_series($1::bigint, $2::bigint) n
  join holdfast.lanes l on (l.queue, l.stage, l.name) = ('engine', 'ingress', 'feed-' || n % $3::bigint)`;

const bodies = `
  insert into holdfast.messages (segment, lane, position, epoch, headers, body)
  select $4::integer, l.id, (n - 1) / $3::bigint + 1, 1, jsonb_build_object('id', n::text, 'connection', l.name),
    convert_to(format(
      E'MSH|^~\\\\&|SEND%1$s|HOSP|HUB|LAB|20260101%2$s||ADT^A01|C%2$s|P|2.5.1\\r'
      'PID|1||%3$s^^^HOSP^MR||FAMILY%4$s^GIVEN%5$s^M||19%6$s0101|F|||%7$s MAIN STREET^^TOWN%1$s^^%3$s^DE||555%2$s\\r'
      'NK1|1|FAMILY%4$s^NEXT^OF^KIN|SPOUSE|%7$s MAIN STREET^^TOWN%1$s|5550%3$s\\r'
      'PV1|1|I|WARD%6$s^ROOM%7$s^BED%1$s|||DOC%5$s^ATTENDING^PHYSICIAN|||MED||||ADM|||DOC%7$s^ADMITTING|INP|V%2$s|SELF\\r'
      'OBX|1|NM|29463-7^BODY WEIGHT^LN||%6$s|kg|||||F\\rOBX|2|NM|8302-2^BODY HEIGHT^LN||1%6$s|cm|||||F\\r'
      'AL1|1|DA|PENICILLIN^ALLERGY TO PENICILLIN|MO|RASH AND FEVER AFTER ADMINISTRATION\\r'
      'DG1|1||I10^ESSENTIAL PRIMARY HYPERTENSION^ICD10||20260101|A\\r'
      'IN1|1|PLAN%7$s|INSURANCE%6$s|HEALTH INSURANCE COMPANY NUMBER %6$s\\r',
      n % $3::bigint, n, n % 200000, n % 1000, n % 777, 10 + n % 90, n % 500), 'UTF8')
  from ${numbers}`;

const journal = `
  insert into holdfast.engine_messages (id, received_at, connection, type, control_id, lane, position, segment, size, ack)
  select n, $5::timestamptz + n * interval '1 second', l.name,
    (array['ADT^A01', 'ADT^A03', 'ADT^A08', 'ORU^R01', 'ORM^O01', 'SIU^S12', 'MDM^T02'])[1 + n * 31 % 7], 'C' || n, l.id,
    (n - 1) / $3::bigint + 1, $4::integer, 1000, convert_to('MSA|AA|C' || n, 'UTF8')
  from ${numbers}`;

const steps = `
  insert into holdfast.engine_steps (id, kind, at, stage, lane, position)
  select n, x.kind, $3::timestamptz + n * interval '1 second', x.stage, x.lane, n
  from generate_series($1::bigint, $2::bigint) n cross join lateral (
    select 'processed' as kind, 'routed' as stage, 'feed/to-lab' as lane where n % 100 < 75
    union all select 'sent', 'outbound', 'lab' where n % 100 < 75
    union all select 'filtered', 'routed', 'feed/to-lab' where n % 100 between 75 and 94
    union all select 'unrouted', 'ingress', 'feed' where n % 100 between 95 and 98
  ) x`;

const letters = `
  insert into holdfast.dead_letters (queue, stage, lane, position, headers, body, reason, attempts, reclaims)
  select 'engine', 'routed', 'feed-' || n % $2::bigint || '/to-lab', n,
    jsonb_build_object('id', n::text, 'connection', 'feed-' || n % $2::bigint), ''::bytea, 'the handler failed', 1, 0
  from generate_series(99, $1::bigint, 100) n`;
