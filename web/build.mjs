// Makes dist/ from src/: one script, one style sheet, one page, the same bytes on every machine.
import { build } from "esbuild";
import { copyFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");

await build({
  absWorkingDir: here,
  entryPoints: { app: "src/app.tsx" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
});
for (const file of ["index.html", "icon.svg"]) copyFileSync(join(here, "src", file), join(out, file));
