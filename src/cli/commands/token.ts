import { Command, InvalidArgumentError, Option } from "commander";
import type { TokenWish } from "../../access/access.js";
import { accessRoles, type Grant, grantable } from "../../access/permission.js";
import { checkTokenWish, type TokenRow } from "../../access/token.js";
import type { Duration } from "../../config/duration.js";
import { HoldfastError } from "../../errors.js";
import type { ListAnswer } from "../../server/page.js";
import type { CreatedTokenAnswer, TokenAnswer } from "../../server/token-answers.js";
import type { CommandLine } from "../command-line.js";
import { type DatabaseOptions, localActor, withDatabaseOptions, withMaintenance } from "../database-options.js";
import { formatAgo, formatMoment } from "../elapsed.js";
import { asDuration, clientOf, type NodeOptions, withNodeOptions } from "../node-options.js";
import { oneLine } from "../paint.js";
import { lookOf, printJson, printLines } from "../print.js";
import { type Column, renderTable } from "../table.js";

interface TokenOptions extends NodeOptions, DatabaseOptions {
  readonly direct?: boolean;
  readonly json?: boolean;
}

export function tokenCommand(cli: CommandLine): Command {
  return new Command("token")
    .description("who may do what")
    .addCommand(createCommand(cli))
    .addCommand(listCommand(cli))
    .addCommand(revokeCommand(cli));
}

/** Through a node, or past all of them: that is how the first token is made, and how a lost one is replaced. */
function withTokenOptions(command: Command): Command {
  return withDatabaseOptions(withNodeOptions(command))
    .option("--direct", "straight in the database, by the settings: for the first token, and where no node answers")
    .option("--json", "print the answer as JSON");
}

interface CreateOptions extends TokenOptions {
  readonly name: string;
  readonly role: (typeof accessRoles)[number];
  readonly grant?: readonly Grant[];
  readonly expires?: Duration;
}

function createCommand(cli: CommandLine): Command {
  return withTokenOptions(new Command("create"))
    .description("make a token; its secret is printed once, alone on standard output")
    .requiredOption("--name <name>", "who will use it; the audit shows it")
    .addOption(new Option("--role <role>", "what it may do").choices(accessRoles).makeOptionMandatory())
    .option("--grant <permission>", `beside the role: ${grantable.join(" or ")} (repeatable)`, asGrant)
    .option("--expires <duration>", 'after so long, such as "30d"; never by default', asDuration)
    .action(async (options: CreateOptions) => {
      const { name, role, grant: grants = [], expires } = options;
      const wish = { name, role, grants, lifetimeMs: expires?.ms ?? null };
      checkTokenWish(wish);
      const make = options.direct === true ? createDirectly : createThroughNode;
      const created = await make(cli, options, wish);
      if (options.json === true) return printJson(cli, created);
      const { id, expires_at: until } = created.token;
      const end = until === null ? "never expires" : `expires ${formatMoment(until)}`;
      cli.stderr.write(`Token ${id} of "${oneLine(name)}" (${role}) ${end}. This is its secret; it is shown once:\n`);
      cli.stdout.write(`${created.secret}\n`);
    });
}

async function createDirectly(cli: CommandLine, options: TokenOptions, wish: TokenWish): Promise<CreatedTokenAnswer> {
  const showToken = await loadShowing();
  return await withMaintenance(cli, options, async (maintenance) => {
    const { token, secret } = await maintenance.createToken(wish, localActor());
    return { token: showToken(token), secret };
  });
}

async function createThroughNode(
  cli: CommandLine,
  options: TokenOptions,
  { lifetimeMs, ...wish }: TokenWish,
): Promise<CreatedTokenAnswer> {
  const lifetime = lifetimeMs === null ? {} : { expires_in_seconds: Math.round(lifetimeMs / 1000) };
  const client = clientOf(cli, options);
  return await hintingAtDirect(() => client.post<CreatedTokenAnswer>("/tokens", { body: { ...wish, ...lifetime } }));
}

/** As a node would answer. Its schemas are loaded only by whoever goes straight to the database. */
async function loadShowing(): Promise<(token: TokenRow) => TokenAnswer> {
  return (await import("../../server/token-answers.js")).showToken;
}

async function hintingAtDirect<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "NODE_AWAY") throw error;
    throw new HoldfastError("NODE_AWAY", `${error.message} Without a node: --direct.`, { cause: error });
  }
}

function listCommand(cli: CommandLine): Command {
  return withTokenOptions(new Command("list"))
    .description("every token, revoked and expired ones too; never a secret")
    .action(async (options: TokenOptions) => {
      const answer = await readTokens(cli, options);
      if (options.json === true) return printJson(cli, answer);
      const { now, ...look } = lookOf(cli);
      const lines =
        answer.items.length === 0 ? ["There is no token."] : renderTable(columnsAt(now), answer.items, look);
      printLines(cli, lines);
    });
}

async function readTokens(cli: CommandLine, options: TokenOptions): Promise<ListAnswer<TokenAnswer>> {
  if (options.direct === true) {
    const showToken = await loadShowing();
    const tokens = await withMaintenance(cli, options, (maintenance) => maintenance.tokens());
    return { items: tokens.toReversed().map(showToken), next_cursor: null };
  }
  const client = clientOf(cli, options);
  return await hintingAtDirect(() => client.get<ListAnswer<TokenAnswer>>("/tokens?limit=1000"));
}

function columnsAt(now: number): readonly Column<TokenAnswer>[] {
  const stateOf = (token: TokenAnswer): "valid" | "revoked" | "expired" => {
    if (token.revoked_at !== null) return "revoked";
    return token.expires_at !== null && token.expires_at <= now ? "expired" : "valid";
  };
  return [
    { title: "id", cell: (token) => token.id, whole: true },
    { title: "name", cell: (token) => token.name },
    { title: "role", cell: (token) => token.role, whole: true },
    { title: "grants", cell: (token) => token.grants.join(", ") || "-" },
    { title: "state", cell: stateOf, tone: (token) => (stateOf(token) === "valid" ? "good" : "dim"), whole: true },
    { title: "expires", cell: (token) => formatMoment(token.expires_at) },
    { title: "created", cell: (token) => formatAgo(token.created_at, now) },
    { title: "by", cell: (token) => token.created_by },
  ];
}

function revokeCommand(cli: CommandLine): Command {
  return withTokenOptions(new Command("revoke"))
    .description("take a token back; every node knows within one beat")
    .argument("<id>", 'the token\'s id, as "holdfast token list" shows it')
    .action(async (id: string, options: TokenOptions) => {
      const token = await (options.direct === true
        ? revokeDirectly(cli, id, options)
        : revokeThroughNode(cli, id, options));
      if (options.json === true) printJson(cli, { token });
      else printLines(cli, [`Token ${token.id} of "${oneLine(token.name)}" is revoked.`]);
    });
}

async function revokeDirectly(cli: CommandLine, id: string, options: TokenOptions): Promise<TokenAnswer> {
  const showToken = await loadShowing();
  return await withMaintenance(cli, options, async (maintenance) =>
    showToken(await maintenance.revokeToken(id, localActor())),
  );
}

async function revokeThroughNode(cli: CommandLine, id: string, options: TokenOptions): Promise<TokenAnswer> {
  const client = clientOf(cli, options);
  const path = `/tokens/${encodeURIComponent(id)}`;
  return (await hintingAtDirect(() => client.delete<{ readonly token: TokenAnswer }>(path))).token;
}

function asGrant(text: string, before: readonly Grant[] = []): readonly Grant[] {
  const grant = grantable.find((each) => each === text);
  if (grant === undefined) throw new InvalidArgumentError(`It must be ${grantable.join(" or ")}.`);
  return [...new Set([...before, grant])];
}
