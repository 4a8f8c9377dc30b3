import type { Client } from "pg";

/** Messages in the store as the engine leaves them, loaded in bulk. */
export interface LoadedMessages {
  readonly count: number;
  readonly connections: number;
  /** How many of the newest wait to be routed. */
  readonly received: number;
  /** Whose leader works on the engine's queue. */
  readonly role: string;
}

/** What can be looked for in them. Each message is of connection `feed-<n>` and of one of these types. */
export const loadedTypes = ["ADT^A01", "ADT^A03", "ADT^A08", "ORU^R01", "ORM^O01", "SIU^S12", "MDM^T02"] as const;
const slice = 50_000;

/**
 * Of every hundred messages 75 are processed and sent, 20 filtered, 4 unrouted, and one of them is in error. Patients have one of
 * 1,000 family names, so `family7` is in one message of a thousand; `hosp` is in all of them; control ids are `C<id>`.
 */
export async function loadMessages(client: Client, load: LoadedMessages): Promise<void> {
  const { count, connections, received, role } = load;
  await client.query("insert into holdfast.queues (name, role) values ('engine', $1) on conflict do nothing", [role]);
  const { rows } = await client.query<{ segment: number }>("select holdfast.open_segment('engine') as segment");
  const segment = rows[0]?.segment ?? 0;
  for (let end = 0; end <= count; end += 1_000_000) await client.query("select holdfast.open_engine_partition()");
  await client.query(
    `insert into holdfast.lanes (queue, stage, name, done_segment)
     select 'engine', 'ingress', 'feed-' || n, $2::integer from generate_series(0, $1::integer - 1) n
     union all select 'engine', 'outbound', 'lab', $2::integer`,
    [connections, segment],
  );
  for (let first = 1; first <= count; first += slice) {
    const last = Math.min(count, first + slice - 1);
    await client.query(bodies, [first, last, connections, segment]);
    await client.query(journal, [first, last, connections, segment, loadedTypes]);
    await client.query(steps, [first, Math.min(last, count - received)]);
  }
  await client.query(letters, [count - received, connections]);
  await client.query(
    `update holdfast.lanes l set done = coalesce((
       select max(e.position) from holdfast.engine_messages e where e.connection = l.name and e.id <= $1), 0)
     where queue = 'engine' and stage = 'ingress'`,
    [count - received],
  );
  for (const table of ["lanes", "messages", "engine_messages", "engine_steps", "dead_letters"]) {
    await client.query(`vacuum analyze holdfast.${table}`);
  }
}

const bodies = `
  insert into holdfast.messages (segment, lane, position, epoch, headers, body)
  select $4::integer, l.id, (n - 1) / $3::bigint + 1, 1,
    jsonb_build_object('id', n::text, 'connection', l.name, 'control_id', 'C' || n), convert_to(format(
      E'MSH|^~\\\\&|SEND%1$s|HOSP|RECV|LAB|20260101%2$s||ADT^A01|C%2$s|P|2.5.1\\r'
      'EVN|A01|20260101%2$s|||OPERATOR%1$s^DESK\\r'
      'PID|1||%3$s^^^HOSP^MR~%4$s^^^NATIONAL^NI||FAMILY%5$s^GIVEN%6$s^MIDDLE||19%7$s0101|F|||%8$s MAIN STREET^^TOWN%1$s^^%4$s^DE||555%2$s\\r'
      'PV1|1|I|WARD%7$s^ROOM%8$s^BED%1$s|||DOC%6$s^ATTENDING^PHYSICIAN|||MED||||ADM|||DOC%8$s^ADMITTING|INP|V%2$s|SELF\\r'
      'NK1|1|FAMILY%5$s^NEXT^OF^KIN|SPOUSE|%8$s MAIN STREET^^TOWN%1$s|5550%3$s\\r'
      'OBX|1|NM|29463-7^BODY WEIGHT^LN||%7$s|kg|||||F\\r'
      'OBX|2|NM|8302-2^BODY HEIGHT^LN||1%7$s|cm|||||F\\r'
      'AL1|1|DA|PENICILLIN^ALLERGY TO PENICILLIN|MO|RASH AND FEVER AFTER ADMINISTRATION\\r'
      'DG1|1||I10^ESSENTIAL PRIMARY HYPERTENSION^ICD10||20260101|A\\r'
      'IN1|1|PLAN%8$s|INSURANCE%7$s|HEALTH INSURANCE COMPANY NUMBER %7$s\\r',
      n % $3::bigint, n, n % 200000, (n * 7919) % 100000, n % 1000, n % 777, 10 + n % 90, n % 500), 'UTF8')
  from generate_series($1::bigint, $2::bigint) n
  join holdfast.lanes l on (l.queue, l.stage, l.name) = ('engine', 'ingress', 'feed-' || n % $3::bigint)`;

const journal = `
  insert into holdfast.engine_messages (id, received_at, connection, type, control_id, lane, position, segment, size, ack)
  select n, timestamptz '2026-01-01' + n * interval '1 second', l.name, ($5::text[])[1 + n * 31 % 7], 'C' || n, l.id, (n - 1) / $3::bigint + 1,
    $4::integer, 1000, convert_to('MSH|^~\\&|RECV|LAB|SEND|HOSP|||ACK|C' || n || '|P|2.5.1' || E'\\r' || 'MSA|AA|C' || n, 'UTF8')
  from generate_series($1::bigint, $2::bigint) n
  join holdfast.lanes l on (l.queue, l.stage, l.name) = ('engine', 'ingress', 'feed-' || n % $3::bigint)`;

const steps = `
  insert into holdfast.engine_steps (id, kind, at, stage, lane, position)
  select n, x.kind, timestamptz '2026-01-01' + n * interval '1 second', x.stage, x.lane, n
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
