/** How a token is made, as the command line takes it: through a node, which takes a token, and with the database alone. */
export const tokenHints = {
  throughNode: "holdfast token create --name NAME --role viewer",
  direct: "holdfast token create --name NAME --role viewer --direct",
} as const;
