import type { RoleAnswer } from "../../server/health-answers.js";

/** What is known of one node of the demo. */
export type Condition =
  | { readonly kind: "starting" }
  | { readonly kind: "waking" }
  | { readonly kind: "leads"; readonly epoch: number }
  | { readonly kind: "stands_by" }
  | { readonly kind: "drains" }
  /** It lives, but does not answer. */
  | { readonly kind: "silent" }
  | { readonly kind: "frozen" }
  | { readonly kind: "dead"; readonly how: string };

export interface DemoNode {
  readonly id: string;
  readonly url: string;
  /** 0 before its first start. */
  readonly pid: number;
  readonly condition: Condition;
}

/** What befell the leader. `at` is by performance.now(). */
export interface Blow {
  readonly nodeId: string;
  readonly deed: "killed" | "frozen" | "died";
  readonly at: number;
}

export interface Takeover {
  readonly from: string;
  /** Null where nobody struck: the role was handed over. */
  readonly deed: Blow["deed"] | null;
  readonly to: string;
  readonly epoch: number;
  /** From the blow to the moment when the new leader said so. */
  readonly tookMs: number | null;
  /** How long the role had no leader, as far as the database can tell; null until it was asked. */
  readonly databaseMs: number | null;
}

export interface DemoState {
  readonly nodes: readonly DemoNode[];
  /** Who led last, and under which epoch. */
  readonly lastLeader: { readonly nodeId: string; readonly epoch: number } | null;
  /** Waits for somebody to take over. */
  readonly blow: Blow | null;
  /** Newest first. */
  readonly takeovers: readonly Takeover[];
  readonly notice: string | null;
}

export type DemoEvent =
  | { readonly kind: "started"; readonly nodeId: string; readonly pid: number }
  | { readonly kind: "answered"; readonly nodeId: string; readonly answer: RoleSaid; readonly at: number }
  | { readonly kind: "unanswered"; readonly nodeId: string }
  | { readonly kind: "struck"; readonly nodeId: string; readonly deed: "killed" | "frozen"; readonly at: number }
  | { readonly kind: "woken"; readonly nodeId: string }
  | { readonly kind: "ended"; readonly nodeId: string; readonly how: string; readonly at: number }
  | { readonly kind: "accounted"; readonly epoch: number; readonly databaseMs: number | null }
  | { readonly kind: "noticed"; readonly notice: string };

/** What a node says of itself on `GET /role`, as far as it matters here. */
type RoleSaid = Pick<RoleAnswer, "role" | "leader_epoch">;

const takeoversKept = 20;

export function initialState(nodes: readonly { readonly id: string; readonly url: string }[]): DemoState {
  return {
    nodes: nodes.map(({ id, url }) => ({ id, url, pid: 0, condition: { kind: "starting" } })),
    lastLeader: null,
    blow: null,
    takeovers: [],
    notice: null,
  };
}

export function leaderOf({ nodes }: DemoState): DemoNode | null {
  return nodes.find(({ condition }) => condition.kind === "leads") ?? null;
}

/** The state after an event. Nothing else changes it. */
export function stateAfter(state: DemoState, event: DemoEvent): DemoState {
  switch (event.kind) {
    case "started":
      return {
        ...state,
        nodes: state.nodes.map((node) =>
          node.id === event.nodeId ? { ...node, pid: event.pid, condition: { kind: "starting" } } : node,
        ),
      };
    case "answered":
      return answered(state, event);
    case "unanswered":
      return isAnswering(state, event.nodeId) ? withCondition(state, event.nodeId, { kind: "silent" }) : state;
    case "struck":
      return struck(state, event);
    case "woken":
      return { ...withCondition(state, event.nodeId, { kind: "waking" }), notice: null };
    case "ended":
      return ended(state, event);
    case "accounted":
      return {
        ...state,
        takeovers: state.takeovers.map((takeover) =>
          takeover.epoch === event.epoch ? { ...takeover, databaseMs: event.databaseMs } : takeover,
        ),
      };
    case "noticed":
      return { ...state, notice: event.notice };
  }
}

function answered(state: DemoState, { nodeId, answer, at }: DemoEvent & { kind: "answered" }): DemoState {
  const node = state.nodes.find(({ id }) => id === nodeId);
  // Said before it was killed or frozen, and heard after.
  if (node === undefined || node.condition.kind === "dead" || node.condition.kind === "frozen") return state;
  const { role, leader_epoch: epoch } = answer;
  if (role !== "LEADER" || epoch === null) {
    return withCondition(state, nodeId, { kind: role === "DRAINING" ? "drains" : "stands_by" });
  }
  const last = state.lastLeader;
  // Said before somebody else took over, and heard after.
  if (last !== null && epoch < last.epoch) return state;
  const leading = withCondition(state, nodeId, { kind: "leads", epoch });
  if (last?.epoch === epoch) return state.blow?.nodeId === nodeId ? kept(leading, nodeId, epoch) : leading;
  return takenOver(leading, { nodeId, epoch, at });
}

/** The leader woke up before its lease had run out. */
function kept(state: DemoState, nodeId: string, epoch: number): DemoState {
  return { ...state, blow: null, notice: `${nodeId} woke up before its lease ran out: it leads on, epoch ${epoch}.` };
}

function takenOver(state: DemoState, { nodeId, epoch, at }: { nodeId: string; epoch: number; at: number }): DemoState {
  const { lastLeader, blow } = state;
  const leads = { ...state, lastLeader: { nodeId, epoch }, blow: null, notice: null };
  if (lastLeader === null) return leads;
  const takeover: Takeover = {
    from: blow?.nodeId ?? lastLeader.nodeId,
    deed: blow?.deed ?? null,
    to: nodeId,
    epoch,
    tookMs: blow === null ? null : at - blow.at,
    databaseMs: null,
  };
  const others = leads.nodes.map(
    (node): DemoNode =>
      node.condition.kind === "leads" && node.id !== nodeId ? { ...node, condition: { kind: "stands_by" } } : node,
  );
  return { ...leads, nodes: others, takeovers: [takeover, ...state.takeovers].slice(0, takeoversKept) };
}

function struck(state: DemoState, { nodeId, deed, at }: DemoEvent & { kind: "struck" }): DemoState {
  const led = leaderOf(state)?.id === nodeId;
  const condition: Condition = deed === "frozen" ? { kind: "frozen" } : { kind: "dead", how: "SIGKILL" };
  const after = withCondition(state, nodeId, condition);
  return { ...after, blow: led ? { nodeId, deed, at } : state.blow, notice: null };
}

function ended(state: DemoState, { nodeId, how, at }: DemoEvent & { kind: "ended" }): DemoState {
  const led = state.lastLeader?.nodeId === nodeId;
  const after = withCondition(state, nodeId, { kind: "dead", how });
  // Its successor may be heard before its end is: then nobody handed anything over.
  const takeovers = state.takeovers.map((takeover, index) =>
    index === 0 && takeover.from === nodeId && takeover.deed === null
      ? { ...takeover, deed: "died" as const }
      : takeover,
  );
  return { ...after, takeovers, blow: led ? { nodeId, deed: "died", at } : state.blow };
}

function isSame(one: Condition, other: Condition): boolean {
  if (one.kind === "leads" && other.kind === "leads") return one.epoch === other.epoch;
  if (one.kind === "dead" && other.kind === "dead") return one.how === other.how;
  return one.kind === other.kind;
}

function isAnswering(state: DemoState, nodeId: string): boolean {
  const kind = state.nodes.find(({ id }) => id === nodeId)?.condition.kind;
  return kind === "leads" || kind === "stands_by" || kind === "drains";
}

/** The very same state where nothing is new: most answers are. */
function withCondition(state: DemoState, nodeId: string, condition: Condition): DemoState {
  const known = state.nodes.find(({ id }) => id === nodeId)?.condition;
  if (known !== undefined && isSame(known, condition)) return state;
  return { ...state, nodes: state.nodes.map((node) => (node.id === nodeId ? { ...node, condition } : node)) };
}
