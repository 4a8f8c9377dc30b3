import { describe, expect, it } from "vitest";
import { loadText, refusalOf } from "../../test/support/settings.js";
import { resolveConfig } from "./config.js";

const refused = (toml: string): string => refusalOf(() => loadText(toml)).message;

describe("[[crons]]", () => {
  const cron = (rest: string): string => `[[crons]]\nname = "nightly"\nschedule = "0 2 * * *"\nop = "report"\n${rest}`;

  it("fire in UTC, coalesce what was missed and carry no payload, unless they say otherwise", () => {
    expect(loadText(cron("")).config.crons).toEqual([
      {
        name: "nightly",
        schedule: "0 2 * * *",
        timeZone: "UTC",
        op: "report",
        payload: null,
        missed: "coalesce",
        catchUpMax: 100,
      },
    ]);
  });

  it("need a name, a schedule and an op", () => {
    expect(refused("[[crons]]").split("\n")).toEqual([
      "crons[0].name is missing.",
      "crons[0].schedule is missing.",
      "crons[0].op is missing.",
    ]);
  });

  it.each(["0 2 * * *", "*/15 0 2 * * MON-FRI", "0 2 L * ?", "5,10 0-3 1 JAN MON#2"])(
    "take the schedule %s",
    (schedule) => {
      const crons = [{ name: "a", op: "x", schedule }];
      expect(resolveConfig({ crons }, false).crons[0]?.schedule).toBe(schedule);
    },
  );

  it.each([
    ["0 25 * * *", "Hour: 25 is not between 0 and 23."],
    ["0 2 * * $(rm)", 'Day of the week: "$(RM)" is not understood.'],
    ["0 0 30 2 *", "There is no such day in any year."],
  ])("tell what is wrong with a field of the schedule %j", (schedule, hint) => {
    const toml = `[[crons]]\nname = "a"\nop = "x"\nschedule = ${JSON.stringify(schedule)}`;
    expect(refused(toml)).toBe(
      `crons[0].schedule must be five or six fields like "0 2 * * *", not ${JSON.stringify(schedule)}. ${hint}`,
    );
  });

  it.each(["0 2 * *", "0 0 2 * * * *", "", "daily"])("refuse the schedule %j", (schedule) => {
    const toml = `[[crons]]\nname = "a"\nop = "x"\nschedule = ${JSON.stringify(schedule)}`;
    expect(refused(toml)).toBe(
      `crons[0].schedule must be five or six fields like "0 2 * * *", not ${JSON.stringify(schedule)}.`,
    );
  });

  it.each([
    [
      'time_zone = "Europe/Atlantis"',
      'crons[0].time_zone must be a time zone like "Europe/Berlin", not "Europe/Atlantis".',
    ],
    ['missed = "forget"', 'crons[0].missed must be one of "skip", "coalesce", "catch_up", not "forget".'],
    ["catch_up_max = 0", "crons[0].catch_up_max must be a whole number from 1 to 10000, not 0."],
    ["payload = 1979-05-27", "crons[0].payload must be what JSON can hold, at most 32 levels deep."],
    ["payload = { a = [inf] }", "crons[0].payload must be what JSON can hold, at most 32 levels deep."],
    ["payload = { a = 9007199254740993 }", "crons[0].payload must be what JSON can hold, at most 32 levels deep."],
    ["timezone = 1", "crons[0].timezone is not a setting. Did you mean crons[0].time_zone?"],
  ])("refuse %s", (line, said) => {
    expect(refused(cron(line))).toBe(said);
  });

  it("have names of their own", () => {
    expect(refused(`${cron("")}\n${cron("")}`)).toBe('crons[1].name ("nightly") is used twice: give each its own.');
    expect(refused('[[crons]]\nname = "a/b"\nschedule = "* * * * *"\nop = "x"')).toContain(
      "crons[0].name must be 1 to 100",
    );
  });

  it("are a list of tables", () => {
    expect(refused('crons = "nightly"')).toBe("crons must be a list of tables.");
    expect(refused("crons = [1]").split("\n")[0]).toBe("crons[0] must be a section of settings.");
  });
});

describe("[[alerts]]", () => {
  const alert = (rest: string): string => `[[alerts]]\nname = "down"\ncondition = "up == 0"\n${rest}`;

  it("warn nobody at once, unless they say otherwise", () => {
    expect(loadText(alert("")).config.alerts).toEqual([
      {
        name: "down",
        enabled: true,
        condition: "up == 0",
        for: { written: "0s", ms: 0 },
        severity: "warning",
        labels: {},
        summary: "",
        notify: [],
      },
    ]);
  });

  it("say whom to tell", () => {
    const { config } = loadText(
      alert('notify = ["pagerduty", "slack", "slack:#ops", "webhook:https://a.example/x?k=1", "log"]'),
    );
    const [first, second, third, fourth, fifth] = config.alerts[0]?.notify ?? [];
    expect([first, second, third, fifth]).toEqual([
      { kind: "pagerduty" },
      { kind: "slack", channel: null },
      { kind: "slack", channel: "#ops" },
      { kind: "log" },
    ]);
    expect(fourth?.kind === "webhook" && fourth.url.reveal()).toBe("https://a.example/x?k=1");
  });

  it.each(["email:a@b", "slack:", "slack:ops", "webhook:", "webhook:ftp://a", "webhook:https://", "pager", ""])(
    "do not know how to tell %j",
    (target) => {
      expect(refused(alert(`notify = [${JSON.stringify(target)}]`))).toBe(
        'alerts[0].notify must be a list of "pagerduty", "slack", "slack:#channel", "webhook:https://..." and "log", each at most once.',
      );
    },
  );

  it.each([
    ['for = "soon"', 'alerts[0].for must be a duration like "500ms", "5s" or "1m", not "soon".'],
    ['severity = "bad"', 'alerts[0].severity must be one of "info", "warning", "critical", not "bad".'],
    [
      'labels = { severity = "x" }',
      'alerts[0].labels must be a table of at most 20 labels (A-Z, a-z, 0-9 and "_"; not alertname, severity or __x), each a text of 1 to 200, not a section.',
    ],
    [
      'summary = "two\\nlines"',
      'alerts[0].summary must be at most 500 printable characters on one line, not "two\\nlines".',
    ],
  ])("refuse %s", (line, said) => {
    expect(refused(alert(line))).toBe(said);
  });

  it("need a name and a condition, and have names of their own", () => {
    expect(refused("[[alerts]]").split("\n")).toEqual([
      "alerts[0].name is missing.",
      "alerts[0].condition is missing.",
    ]);
    expect(refused(`${alert("")}\n${alert("")}`)).toBe('alerts[1].name ("down") is used twice: give each its own.');
  });

  it("have labels of their own, and a sentence for whoever is told", () => {
    const { config } = loadText(alert('labels = { team = "ops" }\nsummary = "{{ $labels.node }} is down"'));
    expect(config.alerts[0]).toMatchObject({ labels: { team: "ops" }, summary: "{{ $labels.node }} is down" });
    expect(refused(alert('summary = "{{ humanize $value }}"'))).toContain(
      'Between "{{" and "}}" only $value and $labels.name may stand.',
    );
  });

  it("have a condition that can be evaluated; where not, the place is marked", () => {
    const toml = (condition: string): string => `[[alerts]]\nname = "a"\ncondition = ${JSON.stringify(condition)}`;
    const [said, line, mark] = refused(toml("sum(up) == 0 &&")).split("\n");
    expect(said).toMatch(/^alerts\[0\]\.condition is refused: .+\.$/);
    expect(line).toBe("sum(up) == 0 &&");
    expect(mark).toBe(`${" ".repeat(13)}^`);
    expect(refused(toml("1 + 1"))).toContain("alerts[0].condition is refused: it gives a mere number");
  });

  it("need no condition where they only turn a rule off", () => {
    const { config } = loadText('[[alerts]]\nname = "node_dead"\nenabled = false');
    expect(config.alerts[0]).toMatchObject({ name: "node_dead", enabled: false, condition: "" });
  });
});

describe("[alerting]", () => {
  it("is on, every 5 s, with the rules that come with Holdfast, and tells the log", () => {
    expect(loadText("").config.alerting).toEqual({
      enabled: true,
      defaults: true,
      interval: { written: "5s", ms: 5_000 },
      notify: [],
    });
  });

  it.each(["0s", "200ms", "61s"])("is not done every %s", (interval) => {
    expect(refused(`[alerting]\ninterval = "${interval}"`)).toBe(
      `alerting.interval (${interval}) must be from 250ms to 1m.`,
    );
  });
});

describe("[notify.webhook]", () => {
  it("names whom webhooks may reach although they are not public", () => {
    const allow = ["hooks.internal", "10.0.0.0/8", "127.0.0.1", "fd00::/8"];
    expect(loadText(`[notify.webhook]\nallow = ${JSON.stringify(allow)}`).config.notify.webhook.allow).toEqual(allow);
  });

  it.each(["10.0.0.0/33", "http://a", "a/8", "", "-a"])("does not know the host %j", (host) => {
    expect(refused(`[notify.webhook]\nallow = [${JSON.stringify(host)}]`)).toContain(
      'notify.webhook.allow must be a list of names of hosts, addresses, and networks like "10.0.0.0/8"',
    );
  });

  it("takes its secret from the environment alone", () => {
    expect(refused('[notify.webhook]\nsecret = "x"')).toBe(
      "notify.webhook.secret is a secret and has no place in a file: set HOLDFAST_NOTIFY_WEBHOOK_SECRET in the environment.",
    );
  });
});
