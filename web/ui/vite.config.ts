import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [precompress()],
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
