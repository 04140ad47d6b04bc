// tier: long
/**
 * `npm run release -- VERSION --dry-run --skip-tests` on a clone of this commit: two builds are equal, the files are
 * complete, and they agree with each other. A tree that is not ready is refused with every reason.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { peer } from "../../peers/index.ts";
import { openCycloneDx } from "./support/cyclonedx.ts";
import { ROOT } from "./support/install.ts";

const LIMIT_MS = 600_000;
const VERSION = "9.8.7";
const run = promisify(execFile);

const CHECK = join(import.meta.dirname, "support/check-provenance.py");
const inToto = await peer("in-toto");
const dir = await mkdtemp(join(tmpdir(), "gateway-release-test-"));
after(() => rm(dir, { recursive: true, force: true }));
const clone = join(dir, "clone");
const git = async (...args: readonly string[]) => (await run("git", args, { cwd: clone })).stdout.trim();
const release = (...args: readonly string[]) =>
  run(process.execPath, ["--import", "tsx", "bin/release/main.ts", ...args], {
    cwd: clone,
    timeout: LIMIT_MS,
    maxBuffer: 16 << 20,
  });

async function edit(path: string, change: (text: string) => string): Promise<void> {
  await writeFile(join(clone, path), change(await readFile(join(clone, path), "utf8")));
}

await run("git", ["clone", "--quiet", "--shared", ROOT, clone]);
await cp(join(ROOT, "node_modules"), join(clone, "node_modules"), { recursive: true, verbatimSymlinks: true });

test("a tree that is not ready for release is refused with every reason and remedy", async () => {
  await writeFile(join(clone, "new.txt"), "");
  await assert.rejects(release(VERSION, "--dry-run"), ({ code, stderr }: { code: number; stderr: string }) => {
    assert.equal(code, 1);
    assert.match(stderr, /^- 1 files are not committed, such as `new\.txt`/m);
    assert.match(stderr, /^- package\.json says [\d.]+: run `npm version 9\.8\.7 --no-git-tag-version`/m);
    assert.match(stderr, /^- CHANGELOG\.md has no section `## 9\.8\.7`/m);
    assert.match(stderr, /^- test\/LONG\.md has /m);
    return true;
  });
  await rm(join(clone, "new.txt"));
});

test("two builds are equal, and checksums, SBOM and provenance match the tarball", async (t) => {
  const version = JSON.parse(await readFile(join(clone, "package.json"), "utf8")).version as string;
  for (const path of ["package.json", "package-lock.json"]) {
    await edit(path, (text) => text.replaceAll(`"version": "${version}"`, `"version": "${VERSION}"`));
  }
  await edit("CHANGELOG.md", (text) => {
    const [head = "", ...rest] = text.replace("## Unreleased", "## Before").split(/^(?=## )/m);
    return [head, `## ${VERSION}\n\n- Released.\n\n`, ...rest].join("");
  });
  const naming = await git(
    "grep",
    "-lE",
    `gateway-${version.replaceAll(".", "\\.")}\\.tgz`,
    "--",
    "*.md",
    "examples",
  ).catch(() => "");
  for (const path of naming.split("\n").filter((it) => it !== "")) {
    await edit(path, (text) => text.replaceAll(`gateway-${version}.tgz`, `gateway-${VERSION}.tgz`));
  }
  await git("-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--quiet", "-a", "-m", "a release");

  const { stdout } = await release(VERSION, "--dry-run", "--skip-tests");
  assert.match(stdout, /both builds are equal to the byte/);
  assert.match(stdout, /WARNING: SKIPPED npm test/);
  assert.match(stdout, /dry run: nothing was tagged/);
  assert.equal(await git("tag"), "");

  const out = join(clone, "release", VERSION);
  const base = `gateway-${VERSION}`;
  assert.deepEqual((await readdir(out)).sort(), [
    "RELEASE_NOTES.md",
    "SHA256SUMS",
    `${base}.cdx.json`,
    `${base}.provenance.json`,
    `${base}.tgz`,
  ]);
  await run("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: out });
  const tarball = await readFile(join(out, `${base}.tgz`));
  const provenance = JSON.parse(await readFile(join(out, `${base}.provenance.json`), "utf8"));
  assert.equal(provenance.subject[0].digest.sha256, createHash("sha256").update(tarball).digest("hex"));
  assert.equal(
    provenance.predicate.buildDefinition.externalParameters.source.digest.gitCommit,
    await git("rev-parse", "HEAD"),
  );
  if (inToto.missing === false) {
    const checked = await run(inToto.path, [CHECK, join(out, `${base}.provenance.json`)]);
    assert.ok(Number(checked.stdout) > 200, checked.stdout);
  } else {
    t.diagnostic(inToto.missing);
  }
  const sbom = JSON.parse(await readFile(join(out, `${base}.cdx.json`), "utf8"));
  assert.equal(sbom.metadata.component.version, VERSION);
  const cycloneDx = await openCycloneDx();
  if (cycloneDx.missing === false) assert.deepEqual(cycloneDx.validate(sbom), []);
  assert.equal(await readFile(join(out, "RELEASE_NOTES.md"), "utf8"), "- Released.\n");
});
