import { expect, test } from "vitest";
import { Guide } from "../support/guide.js";
import { amountsIn, billingDatabase, secondRefused, writeTwice } from "./fenced-writer.js";
import { linkPrisma } from "./prisma-client.js";

test("Prisma: what a leader wrote that was deposed before its COMMIT is refused with HF001", async () => {
  await using database = await billingDatabase(1);
  await using guide = await Guide.open("fencing", { DATABASE_URL: database.url });
  await linkPrisma(guide.project.directory);
  const twice = await writeTwice(guide.project, database, {
    name: "Prisma",
    file: "fenced-prisma.mjs",
    imports: ['import { PrismaPg } from "@prisma/adapter-pg";', 'import client from "./client/index.js";'],
    open: "new client.PrismaClient({ adapter: new PrismaPg({ connectionString: url }) })",
    insert: "await tx.invoice.create({ data: { amount } })",
    waitForLock: "tx.$executeRaw`select pg_advisory_xact_lock(4711)`",
    close: "db.$disconnect()",
  });
  expect(twice).toEqual(secondRefused);
  expect(await amountsIn(database)).toEqual([1]);
}, 480_000);
