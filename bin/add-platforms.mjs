/**
 * Adds the native libraries of all platforms to dist/, before `npm pack`. Fetches those that npm did not install on
 * this machine, checks them against package-lock.json, and copies them. Skips libraries that are already there.
 */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { extract } from "tar-stream";
import { copyKoffi, FETCHED, koffiFolders } from "./build/koffi.mjs";

/** Maximum size of an unpacked package, in bytes. The largest has 2.4 MB. */
const MAX_BYTES = 32 << 20;
const FETCH_LIMIT_MS = 120_000;

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const locked = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;

/** Returns the package's tarball, which npm takes from its cache or the registry. */
function fetchPackage(name, version, folder) {
  const options = ["--json", "--prefer-offline", "--loglevel=error", "--fetch-retries=1", "--pack-destination", folder];
  const npm = process.env.npm_execpath;
  const [command, before] = /npm-cli\.c?js$/.test(npm ?? "") ? [process.execPath, [npm]] : ["npm", []];
  const output = execFileSync(command, [...before, "pack", ...options, `${name}@${version}`], {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    timeout: FETCH_LIMIT_MS,
    // A dry run of the npm that runs this script must not turn the fetch into a dry run.
    env: { ...process.env, npm_config_dry_run: "false" },
  });
  return readFileSync(join(folder, JSON.parse(output)[0].filename));
}

function checkDigest(name, bytes, integrity) {
  const digest = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  if (digest !== integrity) throw new Error(`${name} is not what package-lock.json says: ${digest}`);
}

/** Returns `[path, content]` of each file, without the folder `package` that contains them all. */
async function filesIn(bytes) {
  const files = [];
  const archive = extract();
  archive.end(gunzipSync(bytes, { maxOutputLength: MAX_BYTES }));
  for await (const entry of archive) {
    const chunks = [];
    for await (const chunk of entry) chunks.push(chunk);
    const path = entry.header.name.replace(/^package\//, "");
    if (path.split("/").includes("..")) throw new Error(`a package has a file outside of its folder: ${path}`);
    if (entry.header.type === "file") files.push([path, Buffer.concat(chunks)]);
  }
  return files;
}

async function addPackage(name) {
  const { version, integrity } = locked[`node_modules/${name}`];
  const place = join(root, FETCHED, name);
  mkdirSync(dirname(place), { recursive: true });
  const unfinished = mkdtempSync(`${place}-`);
  try {
    const bytes = fetchPackage(name, version, unfinished);
    checkDigest(name, bytes, integrity);
    const files = await filesIn(bytes);
    rmSync(unfinished, { recursive: true });
    for (const [path, content] of files) {
      mkdirSync(dirname(join(unfinished, path)), { recursive: true });
      writeFileSync(join(unfinished, path), content);
    }
    rmSync(place, { recursive: true, force: true });
    renameSync(unfinished, place);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

try {
  for (const { name, folder } of koffiFolders(root)) {
    if (folder === undefined) await addPackage(name);
  }
  copyKoffi(root);
} catch (error) {
  process.stderr.write(
    `add-platforms: the native libraries of all platforms could not be put together: ${error.message}\n` +
      "Start again where npm reaches its registry, or where its cache has the packages.\n",
  );
  process.exitCode = 1;
}
