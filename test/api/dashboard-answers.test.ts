import { describe, expect, expectTypeOf, test } from "vitest";
import * as page from "../../dashboard/src/api/access-answers.js";
import type { Alert, AlertRule, TestedTargets } from "../../dashboard/src/api/alert-answers.js";
import type {
  ClusterNode,
  ClusterNodes,
  NodeRequest,
  RoleLeader,
  Transition,
} from "../../dashboard/src/api/cluster.js";
import * as jobPage from "../../dashboard/src/api/job-answers.js";
import type {
  Account,
  ConfigVersion,
  Connection,
  Message,
  Reload,
  Replays,
  Sent,
  SteeredConnection,
} from "../../dashboard/src/api/message-answers.js";
import { messageStatuses } from "../../dashboard/src/api/message-answers.js";
import type { Permission as PagePermission } from "../../dashboard/src/api/permission.js";
import * as queuePage from "../../dashboard/src/api/queue-answers.js";
import { accessRoles, grantable, type Permission } from "../../src/access/permission.js";
import { shownStatuses } from "../../src/engine/message-status.js";
import { jobStates } from "../../src/jobs/core/job.js";
import { laneStates } from "../../src/queue/seen-lane.js";
import type { AuditAnswer } from "../../src/server/access-routes.js";
import type { AgentAnswer } from "../../src/server/agent-routes.js";
import type { AlertAnswer, RuleAnswer, TestedAnswer } from "../../src/server/alert-answers.js";
import type {
  LeaderAnswer,
  NodeAnswer,
  NodesAnswer,
  RequestAnswer,
  TransitionAnswer,
} from "../../src/server/cluster-answers.js";
import type { ReloadAnswer, VersionAnswer } from "../../src/server/config-routes.js";
import type { ConnectionAnswer, SteeredAnswer } from "../../src/server/connection-routes.js";
import type { CronAnswer, TickAnswer, TriggeredAnswer } from "../../src/server/cron-answers.js";
import type { JobView } from "../../src/server/job-answers.js";
import type { AccountAnswer, MessageAnswer } from "../../src/server/message-answers.js";
import type { ReplayedAnswer } from "../../src/server/message-replay-routes.js";
import type { SentAnswer } from "../../src/server/message-send-routes.js";
import type {
  LaneAnswer,
  LetterAnswer,
  LetterBodyAnswer,
  RedrivenAnswer,
  StageAnswer,
} from "../../src/server/queue-answers.js";
import type { CreatedTokenAnswer, TokenAnswer } from "../../src/server/token-answers.js";

/** The page is compiled without the server, so its types are its own: here they are held beside the server's, by the compiler. */
describe("the dashboard reads answers as the server writes them", () => {
  test("of the cluster, as far as it is shown", () => {
    expectTypeOf<NodeAnswer>().toExtend<ClusterNode>();
    expectTypeOf<NodesAnswer>().toExtend<ClusterNodes>();
    expectTypeOf<LeaderAnswer>().toExtend<RoleLeader>();
    expectTypeOf<TransitionAnswer>().toExtend<Transition>();
    expectTypeOf<RequestAnswer>().toExtend<NodeRequest>();
    expectTypeOf<PagePermission>().toEqualTypeOf<Permission>();
  });

  test("of queues", () => {
    expect(queuePage.laneStates).toEqual(laneStates);
    expectTypeOf<queuePage.Lane>().toEqualTypeOf<LaneAnswer>();
    expectTypeOf<queuePage.Stage>().toEqualTypeOf<StageAnswer>();
    expectTypeOf<queuePage.Letter>().toEqualTypeOf<LetterAnswer>();
    expectTypeOf<queuePage.LetterBody>().toEqualTypeOf<LetterBodyAnswer>();
    expectTypeOf<queuePage.Redriven>().toEqualTypeOf<RedrivenAnswer>();
  });

  test("of messages, connections and the configuration", () => {
    expect(messageStatuses).toEqual(shownStatuses);
    expectTypeOf<Message>().toEqualTypeOf<MessageAnswer>();
    expectTypeOf<Account>().toEqualTypeOf<AccountAnswer>();
    expectTypeOf<Sent>().toEqualTypeOf<SentAnswer>();
    expectTypeOf<Replays>().toEqualTypeOf<ReplayedAnswer>();
    expectTypeOf<Connection>().toEqualTypeOf<ConnectionAnswer>();
    expectTypeOf<SteeredConnection>().toEqualTypeOf<SteeredAnswer>();
    expectTypeOf<Reload>().toEqualTypeOf<ReloadAnswer>();
    expectTypeOf<ConfigVersion>().toEqualTypeOf<VersionAnswer>();
  });

  test("of jobs, agents and crons", () => {
    expect(jobPage.jobStates).toEqual(jobStates);
    expectTypeOf<jobPage.Job>().toEqualTypeOf<JobView>();
    expectTypeOf<jobPage.Agent>().toEqualTypeOf<AgentAnswer>();
    expectTypeOf<jobPage.Cron>().toEqualTypeOf<CronAnswer>();
    expectTypeOf<jobPage.Tick>().toEqualTypeOf<TickAnswer>();
    expectTypeOf<jobPage.Triggered>().toEqualTypeOf<TriggeredAnswer>();
  });

  test("of tokens and the audit", () => {
    expect(page.accessRoles).toEqual(accessRoles);
    expect(page.grantable).toEqual(grantable);
    expectTypeOf<page.Token>().toEqualTypeOf<TokenAnswer>();
    expectTypeOf<page.CreatedToken>().toEqualTypeOf<CreatedTokenAnswer>();
    expectTypeOf<page.AuditLine>().toEqualTypeOf<AuditAnswer>();
  });

  test("of alerts", () => {
    expectTypeOf<Alert>().toEqualTypeOf<AlertAnswer>();
    expectTypeOf<AlertRule>().toEqualTypeOf<RuleAnswer>();
    expectTypeOf<TestedTargets>().toEqualTypeOf<TestedAnswer>();
  });
});
