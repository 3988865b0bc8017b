// Builds every src/*.js into static/*.js (one self-contained ES module each) with the licences of what it bundles, and
// the widget of the tests beside its source.
// `node build.mjs --check` builds into a temporary folder and compares with static/ byte by byte.
import { build, transform } from "esbuild";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const STATIC = join(HERE, "static");
const DEMO = join(HERE, "..", "..", "tests", "widgets", "demo_widget.src.js");
const DEMO_BUILT = DEMO.replace(".src.js", ".js");
const LIMIT_BYTES = 100_000; // a view has 2 s to load its module (anywidget gives up after that)

/** Returns the licence texts of the packages that went into a bundle. */
function licences(inputs) {
  const names = new Set();
  for (const input of inputs) {
    const match = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
    if (match) names.add(match[1]);
  }
  return [...names].sort().map((name) => {
    const folder = join(HERE, "node_modules", name);
    const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name} ships no licence text`);
    return { name, text: `${name} ${version}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n` };
  });
}

/** Returns the text of one bundle, and the names of the files in it. */
async function bundle(entry) {
  const result = await build({
    absWorkingDir: HERE,
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    minify: true,
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    loader: { ".css": "text" },
    metafile: true,
    write: false,
    logLevel: "warning",
  });
  const text = result.outputFiles[0].text;
  const size = Buffer.byteLength(text);
  if (size > LIMIT_BYTES) throw new Error(`${entry} is ${size} bytes, more than ${LIMIT_BYTES}`);
  console.log(`${basename(entry)}: ${size} bytes`);
  return { text, inputs: Object.keys(result.metafile.inputs) };
}

/** Builds every entry and style sheet into `folder` and returns the names of the files written. */
async function buildAll(folder) {
  mkdirSync(folder, { recursive: true });
  const entries = readdirSync(join(HERE, "src")).filter((name) => name.endsWith(".js")).sort();
  const written = [];
  for (const entry of entries) {
    const { text, inputs } = await bundle(join("src", entry));
    writeFileSync(join(folder, entry), text);
    written.push(entry);
    for (const { name, text: licence } of licences(inputs)) {
      const file = `${basename(name)}.LICENSE.txt`;
      writeFileSync(join(folder, file), licence);
      written.push(file);
    }
  }
  // The style sheets are in the bundles already; pictures drawn without a browser need them as files.
  const styles = ["lib/theme.css", ...readdirSync(join(HERE, "src")).filter((name) => name.endsWith(".css"))];
  for (const style of styles) {
    const { code } = await transform(readFileSync(join(HERE, "src", style), "utf8"), { loader: "css", minify: true, target: "es2022" });
    writeFileSync(join(folder, basename(style)), code);
    written.push(basename(style));
  }
  return [...new Set(written)];
}

/** Compares static/ with what src/ builds. */
async function check() {
  const folder = mkdtempSync(join(tmpdir(), "widgets-"));
  try {
    const built = new Set(await buildAll(folder));
    const present = new Set(existsSync(STATIC) ? readdirSync(STATIC) : []);
    const wrong = [...new Set([...built, ...present])].filter((name) => {
      const [there, fresh] = [join(STATIC, name), join(folder, name)];
      return !existsSync(there) || !existsSync(fresh) || !readFileSync(there).equals(readFileSync(fresh));
    });
    if (existsSync(DEMO) && readFileSync(DEMO_BUILT, "utf8") !== (await bundle(DEMO)).text) wrong.push("the demo of the tests");
    if (wrong.length) throw new Error(`static/ is not what src/ builds: ${wrong.join(", ")}. Fix: npm run build`);
    console.log("static/ is what src/ builds");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (process.argv.includes("--check")) {
  await check();
} else {
  await buildAll(STATIC);
  if (existsSync(DEMO)) writeFileSync(DEMO_BUILT, (await bundle(DEMO)).text);
}
