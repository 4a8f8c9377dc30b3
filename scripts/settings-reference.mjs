/** Renders docs/reference/settings.md from the catalogue of settings; scripts/reference.mjs writes it. */

const settingColumns = ["setting", "in code", "in the environment", "default", "must be", "meaning"];

/** `settings` is what src/config says of itself: its catalogue, the names from elsewhere, and how it names and shows things. */
export function renderSettings(settings, { note, table }) {
  const sections = sectionsOf(settings, settings.catalogue).map(
    ({ heading, doc, head = settingColumns, rows }) => `### \`${heading}\`\n\n${doc}${table(head, rows)}`,
  );
  const foreign = Object.entries(settings.foreignNames).map(([theirs, ours]) => [`\`${theirs}\``, `\`${ours}\``]);
  return `${note}

# Settings

\`holdfast serve\` reads \`holdfast.toml\` in the current directory, or the file that \`--service-config\` or
\`HOLDFAST_SERVICE_CONFIG\` names, and then the environment, which overrides the file. [An example](../../examples/holdfast.toml)
has every key. \`holdfast config check\` shows what a node would use, and where each value came from.

\`createNode\` takes the same settings as an object of sections, in camelCase, and reads no file and no environment:

\`\`\`js
await createNode({ store: { url, poolSize: 10 }, cluster: { enabled: true, leaderElection: { takeover: "lease" } } });
\`\`\`

- An unknown key is an error that names the nearest one; a wrong value is an error that says what it must be. All of them are
  told at once, a line each, as one \`BAD_SETTINGS\`, before anything is opened. Errors name a setting as the first column does,
  or by its variable where it came from there.
- In the environment lists are separated by commas, flags are \`true\`, \`false\`, \`1\` or \`0\`, and tables are JSON. A variable that
  starts with \`HOLDFAST_\` and is no setting is an error, but for \`HOLDFAST_URL\`, \`HOLDFAST_TOKEN\`, \`HOLDFAST_SERVICE_CONFIG\`,
  \`HOLDFAST_TEST_*\`, and what Kubernetes sets for a service that is called holdfast.
- Numbers ending in \`_seconds\` are seconds; other durations are written \`"500ms"\`, \`"5s"\`, \`"1m"\`, \`"24h"\`, \`"7d"\`.
- Secrets are never printed, logged or put into an error. The password, the webhook and the routing key are not taken from a
  file at all; a URL with a password in it is.

## All of them

${sections.join("\n\n")}

\`createNode\` also takes \`store.pool\` (a \`pg.Pool\` of yours for fenced transactions and reads), \`logger\` (pino) and
\`registry\` (prom-client).

## What serving needs

A node that binds a port, and \`holdfast config check\`, refuse further:

- \`api.host\` off loopback without \`api.tls_cert\`, unless \`api.insecure_http = true\`.
- A certificate, key or \`store.tls_ca\` that cannot be read.
- An alert that notifies Slack or PagerDuty without the secret for it.

Where \`api.public_url\` is empty, it is \`http(s)://hostname:port\`; where \`api.host\` is a loopback address, that address.

## Timings that must fit together

They are checked when a node starts, and the error says which one to change:

- heartbeat < fence timeout < lease TTL.
- The TTL outlasts the fence timeout by enough for clocks whose rates differ by 1 %, and 20 ms: with a fence timeout of 3.5 s
  it is at least 3.591 s.
- Between the latest beat (the heartbeat and its jitter of 20 %) and the fence timeout there is room for a renewal and one
  retry, of at least 100 ms each. Half of that room, but at most 5 s, is how long a request may take before its session is given up.
- The node timeout is above the heartbeat.
- An evidence grace is 0 or at least 100 ms, and below the fence timeout.

A crash costs milliseconds with \`takeover = "evidence"\`, and what is left of the lease otherwise. A stall or a partition
always costs the TTL. Shorter timings make both shorter, and make a slow database or a busy process lose the role sooner.

## Connections that a node needs

${table(
  ["connections", "how many", "when"],
  [
    ["lock session", "1", "always: beats, renewals and the locks that tell a crash"],
    ["witness session", "1", "always, but not behind a pooler"],
    [
      "campaign sessions",
      "1 for each role that the node is heir of",
      "while another node leads; a standby that is not the heir opens one when a lease is open, until it is decided",
    ],
    [
      "pool",
      "up to `store.pool_size`",
      "opened when used: fenced transactions, `verify`, reads, the start; or your own pool in its place",
    ],
  ],
)}

Whoever opens the jobs (\`holdfast serve\` with the role \`scheduler\`, or \`createJobs\`) contends for three roles: \`scheduler\`,
\`log_compactor\` and \`metrics_aggregator\`.

So a node that contends for R roles needs at most **2 + R + pool_size** connections, and a node that leads all of its roles
2 + pool_size. Each role has one heir: N nodes with R roles need 2N + R, and their pools, while nothing happens. Give the
server room for 2N + N·R and the pools, because every standby may ask when a leader is gone. The first three kinds go to
\`store.election_url\` where that is set.

A pool of your own needs a listener for \`error\`, as the driver asks of everybody: a connection that breaks while it is idle ends
the process otherwise.

## Names from elsewhere

Other systems call these things otherwise. Their names are not accepted; the error says ours.

${table(["theirs", "ours"], foreign)}
`;
}

/** Sections in the order of the catalogue; a section within one follows it. */
function sectionsOf(settings, section, path = [], codePath = []) {
  const entries = Object.entries(section);
  const own = entries.filter(([, entry]) => isSetting(entry));
  const rows = own.map(([key, setting]) =>
    settingRow(settings, setting, [...path, settings.snakeCase(key)], [...codePath, key]),
  );
  const inner = entries
    .filter(([, entry]) => !isSetting(entry))
    .flatMap(([key, entry]) => innerSections(settings, entry, [...path, settings.snakeCase(key)], [...codePath, key]));
  return rows.length > 0 ? [{ heading: `[${path.join(".")}]`, doc: "", rows }, ...inner] : inner;
}

function innerSections(settings, entry, path, codePath) {
  const name = path.join(".");
  const code = codePath.join(".");
  if (entry.kind === "tables") {
    const [{ rows }] = sectionsOf(settings, entry.columns, [`${name}[]`], [`${code}[]`]);
    const variable = `All of them as JSON in \`${settings.environmentName(name)}\`, with the names of the first column.`;
    const doc = `${entry.doc} ${variable}\n\n`;
    const withoutVariable = (cells) => cells.toSpliced(2, 1);
    const head = withoutVariable(settingColumns);
    return [{ heading: `[[${name}]]`, doc, head, rows: rows.map(withoutVariable) }];
  }
  if (entry.kind === "named") {
    const [{ rows }] = sectionsOf(settings, entry.each, [name, entry.placeholder], [`${code}[role]`]);
    return [{ heading: `[${name}.${entry.placeholder}]`, doc: `${entry.doc}\n\n`, rows }];
  }
  return sectionsOf(settings, entry, path, codePath);
}

function settingRow({ environmentName, showValue }, setting, path, codePath) {
  const name = path.join(".");
  const fallback = showValue(setting, setting.fallback);
  return [
    `\`${name}\``,
    `\`${codePath.join(".")}\``,
    `\`${environmentName(name)}\``,
    setting.required ? "none" : fallback === "(not set)" ? "not set" : `\`${fallback}\``,
    mustBe(setting),
    setting.doc,
  ];
}

function isSetting(entry) {
  return typeof entry.read === "function";
}

/** What a setting accepts is what it says of a value that nothing accepts. */
function mustBe(setting) {
  const read = setting.read(Symbol("nothing accepts this"));
  if (!("mustBe" in read)) throw new Error("a setting accepts a symbol");
  return read.mustBe.replaceAll(/"([^"]*)"/g, '`"$1"`');
}
