import type { FastifyReply, FastifyRequest } from "fastify";
import Type from "typebox";
import { kindOfBody } from "../engine/body-text.js";
import { missingMessage, rowOfMessage } from "../engine/message-lookup.js";
import { HoldfastError } from "../errors.js";
import { fromDatabase } from "./database-wait.js";
import { exactly, noQuery } from "./fields.js";
import {
  accountSchema,
  filterFields,
  filterOf,
  messageId,
  messageSchema,
  showAccount,
  showMessage,
} from "./message-answers.js";
import { exactPage, pageQuery, pageSchema } from "./page.js";
import { type RouteApp, type RouteParts, read, routesOf } from "./routes.js";
import { charsetOfConnection } from "./running-graph.js";
import type { ServedNode } from "./served-node.js";

const params = exactly({ id: messageId });
const tags = ["messages"];
const flag = Type.Enum(["true", "false"]);
const rawBody = {
  description: "The bytes as they are, under application/hl7-v2, text/plain or application/octet-stream",
  content: { "application/octet-stream": { schema: Type.String({ format: "binary" }) } },
};

const config = { permission: "monitoring:read" } as const;

/** The messages that the engine has taken in, and what became of them. Every node shows them, with or without a graph. */
export const messageRoutes = routesOf(searchMessages, oneMessage, messageBody);

function searchMessages(app: RouteApp, parts: RouteParts): void {
  const { book } = parts.node.engine;

  app.get(
    "/messages",
    {
      config,
      schema: {
        tags,
        summary: "Messages, newest first. A page may hold fewer than asked for, even none, while there are more",
        querystring: exactly({ ...filterFields, ...pageQuery }),
        response: { 200: pageSchema(messageSchema) },
      },
    },
    async ({ caller, query: { limit, cursor, ...filter } }) => {
      const page = exactPage({
        ...(limit === undefined ? {} : { limit }),
        ...(cursor === undefined ? {} : { cursor }),
      });
      const { items, next } = await read(parts, book.search(filterOf(filter, caller), page));
      return { items: items.map(showMessage), next_cursor: next };
    },
  );
}

function oneMessage(app: RouteApp, parts: RouteParts): void {
  app.get(
    "/messages/:id",
    {
      config,
      schema: {
        tags,
        summary: "One message and all that became of it; never what it says",
        params,
        querystring: noQuery,
        response: { 200: accountSchema },
      },
    },
    async ({ params: { id } }) => showAccount(await read(parts, accountOf(parts.node.engine.book, id))),
  );
}

function messageBody(app: RouteApp, { node, limits }: RouteParts): void {
  app.get(
    "/messages/:id/body",
    {
      // Running a cluster gives no right to read what its customers write, and whoever does leaves a trace.
      config: { permission: "messages:read", audited: true },
      preValidation: nameTarget,
      schema: {
        tags,
        summary: "What a message says, as it came or as a step has sent it. Each view is a line in the audit",
        params,
        querystring: exactly({
          step: Type.Optional(
            Type.Integer({ minimum: 1, maximum: 1_000_000, description: "A step of kind sent: what went out" }),
          ),
          download: Type.Optional(flag),
        }),
        response: { 200: rawBody },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const { step, download } = request.query;
      const { book } = node.engine;
      const shown = await fromDatabase(
        limits.bodyWaitMs,
        step === undefined ? received(book, id) : sent(book, id, step),
      );
      const charset = charsetOfConnection(node, shown.connection);
      const name = step === undefined ? `message-${id}` : `message-${id}-step-${step}`;
      return sendBody(reply, shown.body, { charset, name: download === "true" ? name : null });
    },
  );
}

/** Before the line of the audit is begun, and so before the query is known to be right. */
async function nameTarget(request: FastifyRequest): Promise<void> {
  const { id } = request.params as { readonly id: string };
  const { step } = request.query as { readonly step?: unknown };
  if (typeof step === "string" && /^\d{1,7}$/.test(step)) request.auditTarget = `${id} step ${step}`;
  await Promise.resolve();
}

type EngineBook = ServedNode["engine"]["book"];

interface ShownBody {
  readonly connection: string;
  readonly body: Buffer;
}

async function accountOf(book: EngineBook, id: string) {
  const account = await book.message(id);
  if (account === null) throw await missingMessage(book, id);
  return account;
}

async function received(book: EngineBook, id: string): Promise<ShownBody> {
  const { connection } = await rowOfMessage(book, id);
  return { connection, body: (await book.bodyOf(id)) ?? gone(`The body of message ${id}`) };
}

async function sent(book: EngineBook, id: string, step: number): Promise<ShownBody> {
  const { connection, steps } = await accountOf(book, id);
  const kind = steps.find((one) => one.step === step)?.kind;
  if (kind === undefined) throw new HoldfastError("NOT_FOUND", `Message ${id} has no step ${step}.`);
  if (kind !== "sent") {
    const text = `Step ${step} of message ${id} is "${kind}", and nothing went out by it: ask for one that is "sent".`;
    throw new HoldfastError("NOT_FOUND", text);
  }
  return { connection, body: (await book.sentBodyOf(id, step)) ?? gone(`What step ${step} of message ${id} sent`) };
}

function gone(what: string): never {
  throw new HoldfastError("GONE", `${what} is kept no more (retention.bodies_days).`);
}

/** No browser takes it for anything but what it is: it came from outside, and may be anything. */
function sendBody(
  reply: FastifyReply,
  body: Buffer,
  { charset, name }: { readonly charset: string | undefined; readonly name: string | null },
): FastifyReply {
  const { contentType, extension } = kindOfBody(body, charset);
  reply.header("content-security-policy", "default-src 'none'; sandbox");
  if (name !== null) reply.header("content-disposition", `attachment; filename="${name}.${extension}"`);
  return reply.type(contentType).send(body);
}
