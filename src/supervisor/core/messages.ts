/** The two children of a node-controller. */
export type ChildName = "controller" | "agent";

/** What a controller says of itself for the role `scheduler`. */
export type ControllerRole = "LEADER" | "STANDBY" | "DRAINING";

/** How a process ended: by itself, by a signal, or, with neither, it could not be started. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** Where a controller serves, and under which id. */
export interface Place {
  readonly nodeId: string;
  readonly url: string;
}

/** What happened. `run` tells the processes of one child apart: news of an earlier one change nothing. */
export type Input =
  | { readonly kind: "start" }
  | { readonly kind: "serving"; readonly run: number; readonly place: Place }
  | { readonly kind: "role"; readonly run: number; readonly role: ControllerRole }
  | { readonly kind: "exited"; readonly child: ChildName; readonly run: number; readonly exit: Exit }
  /** In order: the agent first, then the controller, each with its time. */
  | { readonly kind: "stop" }
  | { readonly kind: "stopAtOnce" }
  | { readonly kind: "tick" };

/** What is worth a line in the log. */
export type Notice =
  | {
      readonly kind: "restart";
      readonly child: ChildName;
      readonly exit: Exit;
      readonly failures: number;
      readonly inMs: number;
    }
  | { readonly kind: "crashLoop"; readonly child: ChildName; readonly exit: Exit; readonly failures: number }
  | { readonly kind: "settled"; readonly child: ChildName }
  | { readonly kind: "agentOff"; readonly because: ControllerRole | "controller_gone" }
  | { readonly kind: "overdue"; readonly child: ChildName; readonly afterMs: number }
  | { readonly kind: "givenUp"; readonly exit: Exit; readonly failures: number };

/** What is to be done. */
export type Effect =
  | { readonly kind: "spawnController"; readonly run: number }
  | { readonly kind: "spawnAgent"; readonly run: number; readonly beside: Place }
  | {
      readonly kind: "signal";
      readonly child: ChildName;
      readonly run: number;
      readonly signal: "SIGTERM" | "SIGKILL";
    }
  | { readonly kind: "tell"; readonly notice: Notice }
  /** No child is left. */
  | { readonly kind: "end"; readonly exitCode: number };
