import { fileURLToPath } from "node:url";
import { defineConfig, loadEnv } from "vite";

const here = fileURLToPath(new URL(".", import.meta.url));

/** While one works on the pages, `npx vite dashboard` serves them and asks the node at HOLDFAST_URL for everything else. */
export default defineConfig(({ mode }) => {
  const { HOLDFAST_URL: node = "http://127.0.0.1:7400" } = loadEnv(mode, here, "HOLDFAST_");
  return {
    root: here,
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: {
      outDir: fileURLToPath(new URL("../dist/dashboard", import.meta.url)),
      emptyOutDir: true,
      target: "es2022",
      // The content security policy allows no `data:` beyond images, and no script but our own files.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
    },
    server: {
      proxy: {
        "^/(alerts|audit|cluster|config|connections|dead-letters|health|healthz|messages|metrics|queue|ready|role|session|tokens|v1)\\b":
          { target: node, changeOrigin: true, headers: { origin: node } },
      },
    },
  };
});
