import { defineConfig } from "vitest/config";

/** For `npm run check`: the tests that only read sources, without the database that the other tests share. */
export default defineConfig({
  test: {
    include: ["test/tidy/*.test.ts"],
    // They read every source; on a busy machine that takes a while.
    testTimeout: 60_000,
    exclude: ["bench", "build", "gates", "model"].map((name) => `test/tidy/${name}.test.ts`),
  },
});
