import { createServer } from "node:net";
import { expect, it } from "vitest";
import { freePort, freePorts } from "./free-ports.js";

it("no port is given twice, though none of them is opened", async () => {
  const given = [];
  for (let index = 0; index < 500; index++) given.push(await freePort());
  expect(new Set(given).size).toBe(500);
});

it("ports in a row are free, and nobody else is given one of them", async () => {
  const first = await freePorts(3);
  expect(await freePort()).not.toBeOneOf([first, first + 1, first + 2]);
});

it("a port that is taken is passed over", async () => {
  const port = await freePort();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen({ host: "127.0.0.1", port }, resolve));
  for (let index = 0; index < 600; index++) expect(await freePort()).not.toBe(port);
  await new Promise((resolve) => server.close(resolve));
});
