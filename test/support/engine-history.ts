/**
 * What senders and receivers of a message graph saw while its leaders were killed, frozen and cut off, and the judgement on it:
 * nothing acknowledged is lost (G4), what shares a lane keeps its order, and what comes twice was in flight at a fault (G5).
 * Pure: the history comes in, violations come out. It knows nothing of epochs: a receiver sees connections, and from where.
 */
export interface SentMessage {
  readonly controlId: string;
  readonly inbound: string;
  /** What lanes by key go by. */
  readonly key: string;
  /** The outbounds that it is meant for. */
  readonly goesTo: readonly string[];
  /** When it was first written, and when its acknowledgement was read, in milliseconds of one clock; null if it never was. */
  readonly sentAt: number;
  readonly ackedAt: number | null;
}

/** A connection that a node made to a receiver. They are numbered in the order in which they were accepted. */
export interface ReceiverLink {
  readonly id: number;
  readonly outbound: string;
  /** Where the node runs. After a restart another process is in its place. */
  readonly place: number;
  readonly openedAt: number;
}

export interface ArrivedMessage {
  readonly controlId: string;
  readonly link: ReceiverLink;
  readonly at: number;
  /** Whether it was byte by byte what is to be delivered there. */
  readonly intact: boolean;
}

export interface Fault {
  readonly kind: "kill" | "freeze" | "cut_from_database" | "cut_off";
  /** Whose node led, and was hit. */
  readonly place: number;
  readonly at: number;
}

export interface EngineHistory {
  readonly sent: ReadonlyMap<string, SentMessage>;
  /** In the order in which they were read. */
  readonly arrived: readonly ArrivedMessage[];
  /** In the order of time. */
  readonly faults: readonly Fault[];
  /** By outbound: how many lanes it has, each with a connection; those of more than one go by key. */
  readonly lanes: ReadonlyMap<string, number>;
}

export interface EngineViolation {
  readonly kind: /** Acknowledged, and not delivered wherever it was meant for. */
    | "lost"
    /** Its sender gave up waiting: it is not known to be taken in, though everything was whole in the end. */
    | "unanswered"
    /** Delivered, and never sent, or not meant for there. */
    | "invented"
    /** Not what was sent. */
    | "altered"
    /** Delivered for the first time before one of its lane that had been acknowledged before it was sent. */
    | "inverted"
    /** Delivered again, though it was not in flight at a fault. */
    | "repeated"
    /** More than one message a lane was repeated for one fault. */
    | "beyond_bound"
    /** Written by a leader that was hit by a fault, after its successor had begun. */
    | "stale";
  readonly text: string;
}

/** A delivery that came again, and the fault that explains it. */
export interface Repetition {
  readonly fault: Fault;
  readonly outbound: string;
  readonly controlId: string;
}

/** Empty where the history keeps every promise. */
export function violationsOf(history: EngineHistory): readonly EngineViolation[] {
  const { explained, unexplained } = repetitionsOf(history);
  return [
    ...missing(history),
    ...foreign(history),
    ...inverted(history),
    ...unexplained,
    ...beyondBound(explained, history),
    ...stale(history),
  ];
}

function missing({ sent, arrived }: EngineHistory): readonly EngineViolation[] {
  const seen = new Set(arrived.map(({ controlId, link }) => placeOf(link.outbound, controlId)));
  return [...sent.values()].flatMap(({ controlId, goesTo, ackedAt }): EngineViolation[] => {
    if (ackedAt === null) return [{ kind: "unanswered", text: `${controlId} was never acknowledged` }];
    return goesTo
      .filter((outbound) => !seen.has(placeOf(outbound, controlId)))
      .map((outbound) => ({ kind: "lost", text: `${controlId} was acknowledged, and did not come to ${outbound}` }));
  });
}

function foreign({ sent, arrived }: EngineHistory): readonly EngineViolation[] {
  return arrived.flatMap(({ controlId, link, intact }): EngineViolation[] => {
    const message = sent.get(controlId);
    if (message === undefined || !message.goesTo.includes(link.outbound)) {
      return [{ kind: "invented", text: `${controlId} came to ${link.outbound}, and was not sent there` }];
    }
    return intact ? [] : [{ kind: "altered", text: `${controlId} came to ${link.outbound} as something else` }];
  });
}

/**
 * What was acknowledged before another was sent lies before it in every lane that they share. Going backwards, the earliest
 * acknowledgement among those that arrived later is all that needs to be known.
 */
function inverted({ sent, arrived, lanes }: EngineHistory): readonly EngineViolation[] {
  const found: EngineViolation[] = [];
  const seen = new Set<string>();
  const firsts = arrived.filter(({ controlId, link }) => {
    const place = placeOf(link.outbound, controlId);
    return !seen.has(place) && seen.add(place);
  });
  const earliest = new Map<string, SentMessage & { readonly ackedAt: number }>();
  for (const { controlId, link } of firsts.toReversed()) {
    const message = sent.get(controlId);
    if (message === undefined) continue;
    const { inbound, key, sentAt, ackedAt } = message;
    const lane = `${inbound} -> ${link.outbound}${(lanes.get(link.outbound) ?? 1) > 1 ? `/${key}` : ""}`;
    const later = earliest.get(lane);
    if (later !== undefined && later.ackedAt < sentAt) {
      found.push({ kind: "inverted", text: `${lane}: ${controlId} came before ${later.controlId}` });
    }
    if (ackedAt !== null && ackedAt < (later?.ackedAt ?? Number.POSITIVE_INFINITY)) {
      earliest.set(lane, { ...message, ackedAt });
    }
  }
  return found;
}

/**
 * A message in flight is the last one that a leader wrote to its connection, and the first one that the next leader writes to
 * its own: whatever else comes twice was finished, or had not been begun.
 */
export function repetitionsOf({ arrived, faults }: EngineHistory): {
  readonly explained: readonly Repetition[];
  readonly unexplained: readonly EngineViolation[];
} {
  const ends = endsOf(arrived);
  const explained: Repetition[] = [];
  const unexplained: EngineViolation[] = [];
  for (const deliveries of groupBy(arrived, ({ controlId, link }) => placeOf(link.outbound, controlId)).values()) {
    const ordered = deliveries.toSorted((one, other) => one.link.id - other.link.id);
    for (const [index, again] of ordered.entries()) {
      const before = ordered[index - 1];
      if (before === undefined) continue;
      const { controlId, link } = again;
      const fault = faults.findLast(
        ({ place, at }) => place === before.link.place && at >= before.link.openedAt && at < link.openedAt,
      );
      const wasInFlight = ends.get(before.link.id)?.last === before && ends.get(link.id)?.first === again;
      const told = `${controlId} came to ${link.outbound} by connection ${before.link.id} and by ${link.id}`;
      if (fault === undefined) unexplained.push({ kind: "repeated", text: `${told}, and there was no fault between` });
      else if (!wasInFlight) unexplained.push({ kind: "repeated", text: `${told}, and was not in flight between` });
      else explained.push({ fault, outbound: link.outbound, controlId });
    }
  }
  return { explained, unexplained };
}

function beyondBound(explained: readonly Repetition[], { faults, lanes }: EngineHistory): readonly EngineViolation[] {
  const counted = groupBy(explained, ({ fault, outbound }) => `${faults.indexOf(fault)} ${outbound}`);
  return [...counted.values()].flatMap((repetitions): EngineViolation[] => {
    const [first] = repetitions;
    if (first === undefined || repetitions.length <= (lanes.get(first.outbound) ?? 1)) return [];
    const told = `${first.outbound}: ${repetitions.map(({ controlId }) => controlId).join(", ")}`;
    return [
      { kind: "beyond_bound", text: `the ${first.fault.kind} at ${first.fault.at} repeated too many to ${told}` },
    ];
  });
}

/**
 * A freeze can fall between the question whether one leads and the write that follows; that message is in flight, and comes
 * again. Anything else that a leader writes after its successor has begun is what the fence is there to prevent.
 */
function stale({ arrived, faults }: EngineHistory): readonly EngineViolation[] {
  const counts = new Map<string, number>();
  for (const { controlId, link } of arrived) {
    const place = placeOf(link.outbound, controlId);
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  /** By outbound: the connection of the youngest leader that has written. */
  const youngest = new Map<string, ReceiverLink>();
  return arrived.flatMap(({ controlId, link }): EngineViolation[] => {
    const known = youngest.get(link.outbound);
    if (known === undefined || known.openedAt < link.openedAt) youngest.set(link.outbound, link);
    if (known === undefined || counts.get(placeOf(link.outbound, controlId)) !== 1) return [];
    const isDeposed = faults.some(
      ({ place, at }) => place === link.place && place !== known.place && at >= link.openedAt && at < known.openedAt,
    );
    if (!isDeposed) return [];
    const told = `${controlId} came to ${link.outbound} by connection ${link.id}, after its successor's ${known.id}`;
    return [{ kind: "stale", text: told }];
  });
}

function endsOf(arrived: readonly ArrivedMessage[]) {
  const ends = new Map<number, { readonly first: ArrivedMessage; last: ArrivedMessage }>();
  for (const one of arrived) {
    const known = ends.get(one.link.id);
    if (known === undefined) ends.set(one.link.id, { first: one, last: one });
    else known.last = one;
  }
  return ends;
}

function placeOf(outbound: string, controlId: string): string {
  return `${outbound} ${controlId}`;
}

function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
