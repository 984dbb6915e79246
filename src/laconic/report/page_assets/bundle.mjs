// Makes charts.min.js, with all licences at its head, from the packages in a folder: node bundle.mjs FOLDER.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const folder = resolve(process.argv[2]);
const here = import.meta.dirname;
const { build } = createRequire(join(folder, "package.json"))("esbuild");
const made = await build({
  stdin: { contents: readFileSync(join(here, "charts-entry.js"), "utf8"), resolveDir: folder },
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "Charts",
  target: "es2020",
  legalComments: "none",
  metafile: true,
  write: false,
});
const used = new Set();
for (const output of Object.values(made.metafile.outputs)) {
  for (const [file, { bytesInOutput }] of Object.entries(output.inputs)) {
    const name = file.match(/.*node_modules\/((?:@[^/]+\/)?[^/]+)\//);
    if (bytesInOutput && name) used.add(name[1]);
  }
}
// Packages with the same terms are listed above one copy of them.
const terms = new Map();
for (const name of Array.from(used).sort()) {
  const place = join(folder, "node_modules", name);
  const { version } = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
  const file = readdirSync(place).find((one) => /^licen[cs]e/i.test(one));
  const lines = readFileSync(join(place, file), "utf8").trim().split("\n");
  const first = lines.findIndex((line) => /^copyright/i.test(line.trim()));
  const [owner] = lines.splice(first, 1);
  const text = lines.join("\n").trim().replaceAll("*/", "* /");
  terms.set(text, [...(terms.get(text) ?? []), `${name} ${version}: ${owner.trim()}`]);
}
const head = Array.from(terms, ([text, names]) => `${names.join("\n")}\n\n${text}`).join("\n\n");
const script = `/*\n${head}\n*/\n${made.outputFiles[0].text}`;
if (/<\/script|<!--/i.test(script)) throw new Error("The bundle holds text that would end a script in HTML.");
writeFileSync(join(here, "charts.min.js"), script);
