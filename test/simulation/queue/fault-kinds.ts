/** Every way in which the queue's simulator breaks and disturbs things. */
export const faultKinds = [
  "crash",
  "crash at a step",
  "freeze",
  "long freeze",
  "cut off",
  "step down",
  "shut gate",
  "unaware",
  "outage",
  "rough network",
  "clock back",
  "clock forward",
  "pause",
  "resume",
  "skip",
  "redrive",
] as const;

export type FaultKind = (typeof faultKinds)[number];
