import Type from "typebox";
import {
  alertId,
  alertSchema,
  ruleName,
  ruleSchema,
  showAlert,
  shownState,
  showRule,
  showTested,
  testedSchema,
} from "./alert-answers.js";
import { toDatabase } from "./database-wait.js";
import { exactly, noBody, noQuery } from "./fields.js";
import { cut, pageQuery, pageSchema } from "./page.js";
import { type RouteApp, type RouteParts, read, routesOf } from "./routes.js";
import { withoutBodyIsEmpty } from "./validator.js";

const tags = ["alerts"];
const acts = {
  acknowledge: "Somebody looks after it: whoever is told of it hears so",
  resolve: "It is over, and stays quiet until its condition has not held once",
} as const;

/** Alerts: every node shows them, and every node takes what is done to them by hand. */
export const alertRoutes = routesOf(listAlerts, listRules, testTargets, actOnAlert);

function listAlerts(app: RouteApp, parts: RouteParts): void {
  const { node } = parts;
  app.get(
    "/alerts",
    {
      config: { permission: "monitoring:read" },
      schema: {
        tags,
        summary: "Alerts: those that fire first, then those that may, then what is over, the latest first",
        querystring: exactly({ ...pageQuery, state: Type.Optional(shownState) }),
        response: { 200: pageSchema(alertSchema) },
      },
    },
    async ({ query: { state, ...page } }) => {
      const alerts = await read(parts, node.alerts.list());
      const wanted = state === undefined ? alerts : alerts.filter((alert) => alert.state === state);
      return cut(page, wanted, ({ id }) => id, showAlert);
    },
  );
}

function listRules(app: RouteApp, parts: RouteParts): void {
  const { node } = parts;
  app.get(
    "/alerts/rules",
    {
      config: { permission: "monitoring:read" },
      schema: {
        tags,
        summary: "Every rule of this node, and whether it holds; those that do not are inactive",
        querystring: exactly(pageQuery),
        response: { 200: pageSchema(ruleSchema) },
      },
    },
    async ({ query }) => cut(query, await read(parts, node.alerts.watched()), ({ rule }) => rule.name, showRule),
  );
}

function testTargets(app: RouteApp, { node }: RouteParts): void {
  app.post(
    "/alerts/test",
    {
      config: { permission: "control" },
      preValidation: withoutBodyIsEmpty,
      schema: {
        tags,
        summary: "Tells every target of a rule, or of all, that this is a test, and answers what happened to each",
        querystring: noQuery,
        body: exactly({ rule: Type.Optional(ruleName) }),
        response: { 200: testedSchema },
      },
    },
    async ({ body }) => showTested(await node.alerts.test(body.rule ?? null)),
  );
}

function actOnAlert(app: RouteApp, { node, limits }: RouteParts): void {
  for (const [act, summary] of Object.entries(acts) as [keyof typeof acts, string][]) {
    app.post(
      `/alerts/:id/${act}`,
      {
        config: { permission: "control" },
        preValidation: withoutBodyIsEmpty,
        schema: {
          tags,
          summary,
          params: exactly({ id: alertId }),
          querystring: noQuery,
          body: noBody,
          response: { 200: alertSchema },
        },
      },
      async ({ params: { id }, caller }) =>
        showAlert(
          await toDatabase(node, limits.databaseWaitMs, () => node.alerts.act(act, id, caller?.name ?? "unknown")),
        ),
    );
  }
}
