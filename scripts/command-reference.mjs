/** Renders docs/reference/cli.md from the commands themselves; scripts/reference.mjs writes it. */

export function renderCommands(program, { note, table }) {
  const commands = leavesOf(program, []);
  return `${note}

# Commands

\`holdfast\` runs a node, looks at a cluster, and steers it. Every command takes \`--help\`, and \`--verbose\`, which adds the stack
to errors.

## What they have in common

- Exit codes: 0 done, 1 failed, 2 called wrongly or settings that are wrong, 3 not leader, 4 no node or no database that
  answers.
- An error is one line on standard error, with the way out and its code: \`holdfast: ... [NODE_AWAY]\`. [Errors](errors.md) has
  them all.
- Commands that talk to a node find it by \`--url\`, or \`HOLDFAST_URL\`, or at \`http://127.0.0.1:7400\`. The token comes from
  \`HOLDFAST_TOKEN\`, or from the file that \`--token-file\` names; it is never an argument, since every process of a machine can
  read those of the others. A certificate of your own authority is trusted by Node.js's \`NODE_EXTRA_CA_CERTS\`.
- Commands that go straight to the database find it by the settings of a node: \`--service-config\`, or \`holdfast.toml\` where
  they run, and the environment. See [Settings](settings.md).
- \`--json\` prints what the node answered, as it did. Tables are cut to the width of a terminal, and whole elsewhere; colour is
  for terminals, and not where \`NO_COLOR\` is set.

## All of them

${table(
  ["command", "what it does"],
  commands.map(({ path, command }) => [`[\`holdfast ${path}\`](#${anchorOf(path)})`, command.description()]),
)}

${commands.map((leaf) => renderCommand(leaf, table)).join("\n\n")}

## When a node is told to stop

\`holdfast serve\` drains at SIGTERM and at SIGINT: it is no longer ready and admits no work, finishes what is under way for at most
\`shutdown.drain_timeout_seconds\`, gives up its roles, leaves the registry, closes its port and exits with 0. A second signal
stops it at once, with 1. An error that nobody caught is logged, and the node stops with 1; a node that another process has taken
the place of stops with the exit code of that error. \`holdfast controller\` does the same, and \`holdfast supervise\` passes it on:
the agent stops first, then the controller; a second signal kills both. See [the guide](../guides/node-controller.md).

## What a drill does

\`drill clean\` is a step-down by the API. \`drill crash\` sends SIGKILL to the leader's process and \`drill stall\` SIGSTOP, so these run on
the leader's host, as its user or as root; a pid is checked against the registry before anything is sent to it. They refuse where no
other node stands by, unless \`--force\` says that an outage is meant. Time is counted from the signal until another node answers
\`LEADER\` under a higher epoch, as its clients would see it; what the database says of the gap stands beside it. A frozen leader is
woken by SIGCONT after the takeover, and however else the drill ends; then it has to answer as a standby. A crashed one stays
dead until somebody starts it again.
`;
}

/** The commands that do something, with the words that lead to them. */
function leavesOf(command, path) {
  const inner = command.commands.filter((each) => each.name() !== "help");
  if (inner.length === 0) return [{ path: path.join(" "), command }];
  return inner.flatMap((each) => leavesOf(each, [...path, each.name()]));
}

function renderCommand({ path, command }, table) {
  const args = command.registeredArguments;
  const usage = ["holdfast", path, ...args.map((each) => `<${each.name()}>`)].join(" ");
  const rows = command.options
    .filter(({ long, hidden }) => long !== "--verbose" && !hidden)
    .map((option) => [`\`${option.flags}\``, meaningOf(option), defaultOf(option)]);
  const given = args.map((each) => `- \`<${each.name()}>\`: ${each.description}`);
  return [
    `### \`holdfast ${path}\``,
    `${sentence(command.description())}`,
    `\`\`\`\n${usage}${rows.length > 0 ? " [options]" : ""}\n\`\`\``,
    ...(given.length > 0 ? [given.join("\n")] : []),
    ...(rows.length > 0 ? [table(["option", "meaning", "default"], rows)] : []),
  ].join("\n\n");
}

function meaningOf({ description, mandatory, argChoices }) {
  const choices = argChoices === undefined ? "" : `: ${argChoices.map((each) => `\`${each}\``).join(", ")}`;
  // A bare <word> would be taken for HTML.
  const said = description.replaceAll(/<\w+>/g, "`$&`");
  return `${said}${choices}${mandatory ? " (has to be given)" : ""}`;
}

function defaultOf({ defaultValue, defaultValueDescription, negate }) {
  if (negate || defaultValue === undefined) return "";
  return `\`${defaultValueDescription ?? defaultValue}\``;
}

function sentence(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** As GitHub names a heading. */
function anchorOf(path) {
  return `holdfast-${path.replaceAll(" ", "-")}`;
}
