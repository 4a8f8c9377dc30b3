/** So many messages of the same size, in batches, over so many lanes. Every queue under test gets exactly these. */
export interface QueueLoad {
  readonly messages: number;
  /** Messages go round the lanes in turn. Null: in no order at all. */
  readonly lanes: number | null;
  /** How many stages each message goes through. */
  readonly stages: number;
}

export const batchSize = 500;
const bodyBytes = 1_000;
/** So many batches are on their way into a queue at the same time. */
const usualCallers = 4;

/** A queue, as far as it takes to measure one. */
export interface QueueUnderTest {
  /** Whether batches keep their order that are on their way at the same time. Where they do not, one goes after another. */
  readonly ordersCalls: boolean;
  /** Takes a batch in; durable when it returns. */
  enqueue(numbers: readonly number[], load: QueueLoad): Promise<unknown>;
  /** Begins to work, and tells of each message. What it answers with waits until all that was handled is settled. */
  process(load: QueueLoad, handled: Handled): Promise<() => Promise<void>>;
  /** How many messages are not finished, as the database says. Asked when the clock has stopped. */
  unfinished(): Promise<number>;
}

/** In a lane the places count up in the order in which messages were taken in. */
export type Handled = (lane: string | null, place: number) => void;

export interface Timing {
  readonly enqueueMs: number;
  readonly processMs: number;
  /** Messages that came after a later one of their lane. */
  readonly inversions: number;
}

/**
 * First all are taken in, then all are worked off: so each has the same backlog, and nobody polls in vain. In between the
 * server may look at what is there: with the statistics of an empty table some work ten times slower, and others do not.
 */
export async function measure(
  queue: QueueUnderTest,
  load: QueueLoad,
  analyze: () => Promise<unknown>,
): Promise<Timing> {
  const enqueueMs = await timed(() => enqueueAll(queue, load));
  await analyze();
  let inversions = 0;
  const processMs = await timed(async () => {
    inversions = await processAll(queue, load);
  });
  const left = await queue.unfinished();
  if (left !== 0) throw new Error(`${left} messages are not finished, though all were handled`);
  return { enqueueMs, processMs, inversions };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

export async function enqueueAll(
  queue: Pick<QueueUnderTest, "enqueue" | "ordersCalls">,
  load: QueueLoad,
): Promise<void> {
  const { messages, lanes } = load;
  const callers = lanes === null || queue.ordersCalls ? usualCallers : 1;
  let next = 0;
  const call = async (): Promise<void> => {
    while (next < messages) {
      const first = next;
      next = Math.min(first + batchSize, messages);
      const numbers = Array.from({ length: next - first }, (_, place) => first + place);
      await queue.enqueue(numbers, load);
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
}

async function processAll(queue: QueueUnderTest, load: QueueLoad): Promise<number> {
  const last = new Map<string, number>();
  let inversions = 0;
  let handled = 0;
  let allHandled: () => void = () => undefined;
  const done = new Promise<void>((resolve) => {
    allHandled = resolve;
  });
  const settled = await queue.process(load, (lane, place) => {
    if (lane !== null) {
      if (place <= (last.get(lane) ?? -1)) inversions += 1;
      last.set(lane, place);
    }
    handled += 1;
    if (handled === load.messages) allHandled();
  });
  await done;
  await settled();
  if (handled !== load.messages) throw new Error(`${handled} deliveries of ${load.messages} messages`);
  return inversions;
}

/** Made once and used in turn, so that making them is no part of what is measured. */
const bodies = Array.from({ length: 1_000 }, (_, number) => makeBody(number));

export function bodyOf(number: number): string {
  return bodies[number % bodies.length] as string;
}

export function laneOf(number: number, lanes: number): string {
  return `lane-${number % lanes}`;
}

/** Letters from a generator with a fixed seed: the same in every process, and nothing that compresses well. */
function makeBody(number: number): string {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  let state = number + 1;
  const text = Array.from({ length: bodyBytes }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return letters[state >>> 26];
  });
  return text.join("");
}
