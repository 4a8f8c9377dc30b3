import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "dashboard/src/**/*.test.{ts,tsx}", "test/**/*.test.ts"],
    // Processes and not threads: tests send signals, and an embedded server ends with the thread that started it.
    pool: "forks",
    // Most tests wait for processes and leases more than they compute.
    maxWorkers: "100%",
    globalSetup: ["test/support/global-setup.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A condition that comes true is waited for as long as a busy machine may take; the test's own limit is above it.
    expect: { poll: { timeout: 15_000 } },
  },
});
