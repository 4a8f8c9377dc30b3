/** What a message can be looked for by, in the order in which it goes through them. */
export const shownStatuses = ["received", "routed", "processed", "sent", "filtered", "unrouted", "error"] as const;
