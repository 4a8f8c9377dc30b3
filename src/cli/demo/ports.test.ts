import { createServer, type Server } from "node:net";
import { afterEach, expect, it } from "vitest";
import { claimPorts } from "./ports.js";
import { spellingOf } from "./spelling.js";

const servers: Server[] = [];
const plainly = spellingOf({});

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

/** A port that is taken, by a program that listens on all addresses, as most do. */
async function take(): Promise<number> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  return (server.address() as { port: number }).port;
}

it("names the ports that are taken, and others to take", async () => {
  const port = await take();
  await expect(claimPorts(port, 1, plainly)).rejects.toMatchObject({
    code: "ADDRESS_IN_USE",
    exitCode: 2,
    message: expect.stringMatching(
      new RegExp(
        `^Port ${port} on 127\\.0\\.0\\.1 is taken by another program: stop that one, or choose other ports with --port( \\d+)?\\.$`,
      ),
    ),
    details: { ports: [port] },
  });
});

it("names them as npm takes them where npm runs the demo", async () => {
  const port = await take();
  const refusal: unknown = await claimPorts(port, 1, spellingOf({ npm_lifecycle_event: "start" })).catch(String);
  expect(refusal).toMatch(/ with npm start -- --port( \d+)?\.$/);
});

it("gives so many in a row, and leaves them free", async () => {
  const taken = await take();
  const refusal: unknown = await claimPorts(taken, 2, plainly).catch((error: unknown) => error);
  const free = Number(/--port (\d+)/.exec(String(refusal))?.[1]);
  expect(await claimPorts(free, 2, plainly)).toEqual([free, free + 1]);
  expect(await claimPorts(free, 2, plainly)).toEqual([free, free + 1]);
});

it("refuses ports beyond the last one", async () => {
  await expect(claimPorts(65_534, 3, plainly)).rejects.toMatchObject({ code: "USAGE" });
});
