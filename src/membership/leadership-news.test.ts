import { expect, it } from "vitest";
import type { LeaseView } from "../election/core/lease.js";
import { LeadershipNews } from "./leadership-news.js";

const lease = (role: string, holder: string | null, epoch: bigint, remainingMs = 5_000): LeaseView =>
  ({ role, holder, epoch, remainingMs, expiresAt: Math.random() }) as unknown as LeaseView;

it("tells of a role that changed hands, and not of a lease that was renewed", async () => {
  const news = new LeadershipNews();
  let told = 0;
  const watching = news.watch(() => {
    told += 1;
  });
  const hear = async (...leases: LeaseView[]): Promise<number> => {
    told = 0;
    news.hear(leases);
    await Promise.resolve();
    return told;
  };
  expect(await hear(lease("a", "n1", 1n), lease("b", "n2", 4n))).toBe(1);
  expect(await hear(lease("b", "n2", 4n), lease("a", "n1", 1n, 4_000))).toBe(0);
  expect(await hear(lease("a", "n3", 2n), lease("b", "n2", 4n))).toBe(1);
  expect(await hear(lease("a", "n3", 2n), lease("b", "n2", 4n, 0))).toBe(1);
  expect(await hear(lease("a", "n3", 2n), lease("b", null, 4n, 0))).toBe(1);
  watching[Symbol.dispose]();
  expect(await hear(lease("a", "n1", 9n))).toBe(0);
});

it("tells after the election's own step", async () => {
  const news = new LeadershipNews();
  const order: string[] = [];
  news.watch(() => order.push("told"));
  news.tell();
  order.push("elected");
  await Promise.resolve();
  expect(order).toEqual(["elected", "told"]);
});
