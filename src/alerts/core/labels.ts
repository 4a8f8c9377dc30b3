/** The labels of a series by name, sorted; the metric's name among them as `__name__`. No value is empty. */
export type Labels = ReadonlyMap<string, string>;

export const metricName = "__name__";
