/** Whose leader runs the graph. */
export const engineRole = "engine";
