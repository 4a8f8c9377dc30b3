import { parseRole } from "../election/core/names.js";

/** Whose leader forgets what is older than it has to be kept. */
export const compactorRole = parseRole("log_compactor");
/** Whose leader keeps the metrics of the whole cluster. */
export const aggregatorRole = parseRole("metrics_aggregator");
