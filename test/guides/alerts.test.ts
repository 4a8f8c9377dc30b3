import { createHmac } from "node:crypto";
import { expect, it } from "vitest";
import { blocksOf, Guide, patience, readerSettings, servesAsLeader } from "../support/guide.js";
import { NotificationReceiver } from "../support/notification-receiver.js";
import { createTestDatabase } from "../support/postgres.js";

const block = blocksOf("alerts");

it(
  "a test tells every target of the rule that the guide shows, and a webhook gets what it says",
  patience,
  async () => {
    await using database = await createTestDatabase();
    await using receiver = await NotificationReceiver.start();
    await using guide = await Guide.open("alerts", {
      ...(await readerSettings(database.url)),
      HOLDFAST_NOTIFY_SLACK_WEBHOOK_URL: `${receiver.url}/slack`,
      HOLDFAST_NOTIFY_PAGERDUTY_ROUTING_KEY: "key",
      HOLDFAST_NOTIFY_PAGERDUTY_URL: `${receiver.url}/pagerduty`,
      HOLDFAST_NOTIFY_WEBHOOK_SECRET: "secret",
      HOLDFAST_NOTIFY_WEBHOOK_ALLOW: "127.0.0.1",
    });
    // The one thing that cannot be as it is printed: that address is nobody's.
    const settings = block("holdfast.toml").text;
    await guide.write(
      "holdfast.toml",
      settings.replace("https://hooks.example.com/holdfast", `${receiver.url}/webhook`),
    );
    await servesAsLeader(guide.project.command(["holdfast", "serve"]));

    const { stdout } = await guide.run("test");
    expect(stdout).toMatch(/^no_scheduler_leader +.*critical/m);
    expect(stdout).not.toMatch(/^node_dead/m);
    expect(new Set(receiver.posts.map(({ path }) => path))).toEqual(new Set(["/slack", "/pagerduty", "/webhook"]));

    const post = receiver.posts.find(({ path }) => path === "/webhook");
    const told = JSON.parse(post?.text ?? "") as Record<string, unknown>;
    const shown = JSON.parse(block("webhook").text) as Record<string, unknown>;
    expect(Object.keys(told).sort()).toEqual(Object.keys(shown).sort());
    const { name, condition, cluster } = shown;
    expect(told).toMatchObject({ kind: "test", severity: "info", name, condition, cluster });
    expect(told["summary"]).toMatch(/^This is a test\./);
    const signed = `${post?.headers["x-holdfast-timestamp"] as string}.${post?.text ?? ""}`;
    const signature = createHmac("sha256", "secret").update(signed).digest("hex");
    expect(post?.headers["x-holdfast-signature"]).toBe(`v1=${signature}`);
  },
);
