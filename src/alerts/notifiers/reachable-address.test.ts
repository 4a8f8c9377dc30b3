import { describe, expect, it } from "vitest";
import { reachOf } from "./reachable-address.js";

describe("a webhook", () => {
  const reach = reachOf([]);

  it.each(["93.184.216.34", "8.8.8.8", "2606:2800:220:1::1", "::ffff:8.8.8.8"])("reaches %s", (address) => {
    expect(reach("a.example", address)).toBe(true);
  });

  it.each([
    "127.0.0.1",
    "127.9.9.9",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "198.18.0.1",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:a9fe:a9fe",
    "::7f00:1",
    "64:ff9b::7f00:1",
    "fe80::1",
    "fe80::1%eth0",
    "fc00::1",
    "fd12:3456::1",
    "ff02::1",
    "2002:7f00:1::",
    "2001:0:4136:e378::",
    "fec0::1",
    "not-an-address",
    "",
  ])("does not reach %j", (address) => {
    expect(reach("a.example", address)).toBe(false);
  });

  it("reaches what is allowed by its name, its address or its network, and nothing beside it", () => {
    const allowing = reachOf(["hooks.internal", "10.1.0.0/16", "127.0.0.1", "fd00::/8"]);
    expect(allowing("hooks.internal", "192.168.0.9")).toBe(true);
    expect(allowing("HOOKS.internal", "192.168.0.9")).toBe(true);
    expect(allowing("a.example", "192.168.0.9")).toBe(false);
    expect(allowing("a.example", "10.1.255.1")).toBe(true);
    expect(allowing("a.example", "10.2.0.1")).toBe(false);
    expect(allowing("a.example", "127.0.0.1")).toBe(true);
    expect(allowing("a.example", "::ffff:127.0.0.1")).toBe(true);
    expect(allowing("a.example", "127.0.0.2")).toBe(false);
    expect(allowing("a.example", "fd00::9")).toBe(true);
    expect(allowing("a.example", "8.8.8.8")).toBe(true);
  });
});
