import { evidenceRows } from "./evidence-rows.mjs";
import { leaseRows } from "./lease-rows.mjs";

/** What each property says, in words. */
export const properties = {
  g1: "No transaction stamped with an epoch commits after a higher epoch has (G1).",
  g2: "Epochs only grow, and one epoch opens one term (G2).",
  g3: "At most one gate is open (G3).",
  own: "A release ends no lease but its own (R4).",
  over: "A released lease does not run again under its epoch (R4, R9).",
  l1: "Again and again a gate is open: leadership never stays vacant (G6).",
  patient: "Nobody takes over before the lease has run out.",
};

/**
 * What the models must come to. Most rows take a single rule away and say what is lost without it; a row that takes a rule
 * away and still holds is here because that is worth knowing too.
 *
 * @type {readonly import("./row.mjs").Row[]}
 */
export const rows = [...leaseRows, ...evidenceRows];
