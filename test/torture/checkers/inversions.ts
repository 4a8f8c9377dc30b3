/** Something that was taken in between two moments; never known to be where nobody was told so. */
export interface Sending {
  readonly name: string;
  /** When it was first asked for. */
  readonly from: number;
  /** When it was known to be committed; infinite where it never was. */
  readonly to: number;
}

export interface Arrival {
  readonly sending: Sending;
  readonly at: number;
}

/**
 * What was known to be committed before another was asked for lies before it. Going through first arrivals in their order, the one that
 * was asked for latest is all that needs to be known of those before.
 */
export function firstInversion(arrivals: readonly Arrival[]): { readonly at: number; readonly text: string } | null {
  let latest: Sending | undefined;
  for (const { sending, at } of arrivals) {
    if (latest !== undefined && sending.to < latest.from) {
      return { at, text: `${sending.name} came after ${latest.name}, which was sent when it had been acknowledged` };
    }
    if (latest === undefined || sending.from > latest.from) latest = sending;
  }
  return null;
}
