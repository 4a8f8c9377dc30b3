import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "../support/command.js";
import { ConfigFiles, hospital } from "../support/config-folder.js";

describe("holdfast config check DIR", () => {
  it("shows the graph of a folder that is sound", async () => {
    await using folder = await ConfigFiles.write({
      ...hospital,
      "spare.ts": `
        import { defineOutbound } from "holdfast/engine";
        export const spare = defineOutbound({ name: "spare", transport: { kind: "http", url: "http://archive:8080/adt" } });
      `,
    });
    const { code, stdout, stderr } = await runHere(["config", "check", folder.path]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.trimEnd().split("\n");
    expect(lines.slice(0, -1)).toEqual([
      "kind      name    file      transport                leads to",
      "inbound   adt-in  adt.ts    mllp :2575               adt",
      "router    adt     adt.ts                             to-lab",
      "handler   to-lab  adt.ts                             lab",
      "outbound  lab     lab.mjs   mllp 10.0.0.9:6661",
      "outbound  spare   spare.ts  http://archive:8080/adt",
      "",
      "warning: spare.ts: outbound spare is not in use: no handler names it.",
    ]);
    expect(lines.at(-1)).toMatch(
      /^This graph is sound: 1 inbound, 1 handler, 2 outbounds\. Its hash is [0-9a-f]{12}\.$/,
    );
  });

  it("finds the folder from where it runs, and answers as JSON", async () => {
    await using folder = await ConfigFiles.write({});
    await folder.write(
      Object.fromEntries(Object.entries(hospital).map(([name, text]) => [join("config", name), text])),
    );
    const { code, stdout } = await runHere(["config", "check", "config", "--json"], { cwd: folder.path });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      ok: true,
      folder: join(folder.path, "config"),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      definitions: [
        { kind: "inbound", name: "adt-in", file: "adt.ts", transport: "mllp :2575", leads_to: ["adt"] },
        { kind: "router", name: "adt", file: "adt.ts", transport: null, leads_to: ["to-lab"] },
        { kind: "handler", name: "to-lab", file: "adt.ts", transport: null, leads_to: ["lab"] },
        { kind: "outbound", name: "lab", file: "lab.mjs", transport: "mllp 10.0.0.9:6661", leads_to: [] },
      ],
      warnings: [],
    });
  });

  it("says all that is wrong, a line each, and exits with 2", async () => {
    await using folder = await ConfigFiles.write({
      ...hospital,
      "more.js": `
        import { defineInbound } from "holdfast/engine";
        export const one = defineInbound({ name: "one", router: "atd", transport: { kind: "mllp", port: 7400 } });
      `,
    });
    const problems = [
      'more.js: inbound one.router names "atd", and there is no such router: did you mean "adt"?',
      "more.js: inbound one listens on port 7400, which the node's API has already: choose another.",
    ];
    expect(await runHere(["config", "check", folder.path])).toEqual({
      code: 2,
      stdout: "",
      stderr: problems.map((problem) => `holdfast: ${problem} [BAD_SETTINGS]\n`).join(""),
    });
    const asJson = await runHere(["config", "check", folder.path, "--json"]);
    expect(asJson).toMatchObject({ code: 2, stderr: "" });
    expect(JSON.parse(asJson.stdout)).toEqual({ ok: false, folder: folder.path, problems });
  });

  it("looks at the API's port as the settings have it", async () => {
    await using folder = await ConfigFiles.write(hospital);
    const { code, stderr } = await runHere(["config", "check", folder.path], { env: { HOLDFAST_API_PORT: "2575" } });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        "holdfast: adt.ts: inbound adt-in listens on port 2575, which the node's API has already: choose another. [BAD_SETTINGS]\n",
    });
  });

  it("says where there is no folder", async () => {
    expect(await runHere(["config", "check", "missing"])).toEqual({
      code: 2,
      stdout: "",
      stderr: "holdfast: The config folder /nowhere/missing is not there: make it, or name another. [BAD_SETTINGS]\n",
    });
  });
});
