/**
 * A row is one search: a model with some switches, a property, and what the search must come to.
 *
 * @typedef {object} Row
 * @property {string} id
 * @property {string} model The file, beside the one that lists the rows.
 * @property {string} property The name of an ltl formula in the model, which CHECK_<name> compiles.
 * @property {readonly string[]} defines The switches, as the head of the model describes them.
 * @property {"holds" | "fails"} expect
 * @property {string} says What the outcome shows, and which rule it speaks of.
 * @property {boolean} [liveness] The property needs fairness and a search for cycles.
 */

/** The two verbs with which the rows of a model are written. */
export function rowsOf(model) {
  const row = (expect) => (id, property, defines, says) => ({
    id,
    model,
    property,
    defines,
    expect,
    says,
    liveness: property === "l1",
  });
  return { holds: row("holds"), fails: row("fails") };
}
