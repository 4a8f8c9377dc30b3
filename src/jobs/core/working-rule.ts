/** What decides whether a node works on jobs itself. */
export interface WorkingSituation {
  /** It leads the jobs' role, or is about to give it up. */
  readonly isLeader: boolean;
  /** It takes no more work of any kind. */
  readonly isDraining: boolean;
  /** How many nodes are active, this one included; 0 while that is not known. */
  readonly activeNodes: number;
  readonly leaderWorks: boolean;
}

/** The leader's time is the cluster's: it works on jobs itself only where nobody else is there, or where it is told to. */
export function mayWork({ isLeader, isDraining, activeNodes, leaderWorks }: WorkingSituation): boolean {
  if (isDraining) return false;
  return !isLeader || leaderWorks || activeNodes <= 1;
}
