import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { build, type Plugin } from "vite";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [precompress(), serviceWorker()],
  build: {
    target: "es2022",
    // The daemon lets everything under /assets/ be kept for a year; the hashes in the names make that safe.
    assetsDir: "assets",
    modulePreload: { polyfill: false },
  },
  test: {
    environment: "node",
    include: ["src/**/*.test.ts"],
  },
});

/** Lays a compressed copy beside each asset (RFC 7932), so that the daemon never compresses while it serves. */
function precompress(): Plugin {
  let folder = "";
  return {
    name: "precompress",
    apply: "build",
    configResolved({ root, build }) {
      folder = join(root, build.outDir, build.assetsDir);
    },
    closeBundle() {
      for (const name of readdirSync(folder)) {
        const path = join(folder, name);
        if (!name.endsWith(".br")) writeFileSync(`${path}.br`, brotliCompressSync(readFileSync(path)));
      }
    },
  };
}

/**
 * Names the build, in the page and in the service worker, and makes that of `src/worker`: with the list of files that it keeps,
 * at an address that never changes.
 */
function serviceWorker(): Plugin {
  let folder = "";
  return {
    name: "service-worker",
    apply: "build",
    configResolved(config) {
      folder = join(config.root, config.build.outDir);
    },
    async closeBundle() {
      const page = join(folder, "index.html");
      const files = readdirSync(join(folder, "assets")).filter((name) => !name.endsWith(".br")).sort();
      // The names of the assets hold what is in them.
      const name = createHash("sha256").update(readFileSync(page)).update(files.join()).digest("hex").slice(0, 16);
      writeFileSync(page, readFileSync(page, "utf8").replace('content="unbuilt"', `content="${name}"`));
      await build({
        configFile: false,
        logLevel: "warn",
        define: { BUILD: JSON.stringify(name), FILES: JSON.stringify(files.map((file) => `/assets/${file}`)) },
        build: {
          outDir: folder,
          emptyOutDir: false,
          copyPublicDir: false,
          target: "es2022",
          rolldownOptions: {
            input: fileURLToPath(new URL("src/worker/worker.ts", import.meta.url)),
            output: { format: "iife", entryFileNames: "sw.js" },
          },
        },
      });
    },
  };
}
