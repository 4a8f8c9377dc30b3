import { defineConfig } from "vitest/config";

/** For `npm run check`: the tests that only read sources, without the database that the other tests share. */
export default defineConfig({
  test: {
    include: ["test/tidy/*.test.ts"],
    exclude: ["test/tidy/build.test.ts", "test/tidy/gates.test.ts", "test/tidy/model.test.ts"],
  },
});
