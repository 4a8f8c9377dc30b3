import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import pg from "pg";
import { afterEach, expect, it } from "vitest";
import { GuardedClient } from "./guarded-client.js";

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

function message(kind: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(5, kind);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const int = (value: number): Buffer => Buffer.from([value >>> 24, value >>> 16, value >>> 8, value]);
const signedIn = message("R", int(0));
const ready = message("Z", Buffer.from("I"));

/** A server that says one thing after the other, each as soon as it is spoken to. */
async function serverSaying(...words: readonly Buffer[]) {
  const server = createServer((socket) => {
    const left = [...words];
    socket.on("error", () => undefined);
    socket.on("data", () => socket.write(left.shift() ?? Buffer.alloc(0)));
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { host: "127.0.0.1", port: (server.address() as AddressInfo).port, user: "u", password: "p", database: "d" };
}

it("fails to connect, and no more than that, where a server asks for a way of signing in that nobody knows", async () => {
  const place = await serverSaying(message("R", int(7)));
  await expect(new GuardedClient(place).connect()).rejects.toThrow("Unknown authenticationOk message type 7");
  const pool = new pg.Pool({ ...place, Client: GuardedClient });
  await expect(pool.connect()).rejects.toThrow("Unknown authenticationOk message type 7");
  await pool.end();
});

it("fails the question, and the connection with it, where the answer cannot be read", async () => {
  // A row of one column, which ends before its length.
  const torn = message("D", Buffer.from([0, 1]), Buffer.from([0, 0]));
  const client = new GuardedClient(await serverSaying(Buffer.concat([signedIn, ready]), torn));
  await client.connect();
  const ended = new Promise<void>((resolve) => client.once("end", () => resolve()));
  await expect(client.query("select 1")).rejects.toThrow(RangeError);
  await ended;
  await expect(client.query("select 1")).rejects.toThrow("not queryable");
});
