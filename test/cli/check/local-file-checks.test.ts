/** `gateway check -offline` over the files of a node file that a start reads. Source: design decisions, section 20. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { type Document, type Files, writeFiles } from "../../e2e/support/config.ts";
import { bufferIo } from "../buffer-io.ts";

const DEAD = "http://127.0.0.1:9";

/** Returns the status, and the lines about failures. */
async function check(files: Files): Promise<{ readonly status: number; readonly failures: readonly string[] }> {
  const io = bufferIo();
  const status = await execute(["check", "-config", files.nodePath, "-offline"], io);
  const failures = io
    .out()
    .split("\n")
    .filter((line) => line.startsWith("fail"));
  return { status, failures };
}

const trusting = (policy_file: string): Document => ({
  issuers: [{ name: "corp", url: DEAD }],
  admin: { listen: "127.0.0.1:0", issuers: [{ issuer: "corp", audience: "gateway-admin" }], policy_file },
});

const CLUSTER = { node_id: "n1", data_dir: "data", secret: "a-secret-that-is-long-enough-for-tests", bootstrap: true };

/** Invalid things at the path of a file. */
const UNSOUND: Readonly<Record<string, (path: string) => Promise<void> | void>> = {
  nothing: () => undefined,
  "a directory": (path) => mkdir(path),
  "a named pipe": (path) => {
    assert.equal(spawnSync("mkfifo", [path]).status, 0);
  },
  "an empty file": (path) => writeFile(path, "", { mode: 0o600 }),
  "bytes that are not text": (path) => writeFile(path, Buffer.from([0xff, 0xfe, 0x00, 0x80]), { mode: 0o600 }),
  "a dangling link": (path) => symlink("nowhere", path),
};

/** Files of a node file that a start reads: their keys, and their descriptions. */
const LOCAL_FILES: Readonly<Record<string, (path: string) => Document>> = {
  "admin policy": (path) => trusting(path),
  "cluster.kek_file": (path) => ({ cluster: { ...CLUSTER, kek_file: path } }),
  "issuer corp": (path) => ({ issuers: [{ name: "corp", url: DEAD, ca_file: path }] }),
  tls: (path) => ({ tls: { cert_file: path, key_file: path } }),
  catalog_overlay_paths: (path) => ({ catalog_overlay_paths: [path] }),
  deployment: (path) => ({ deployment: path }),
};

for (const [subject, naming] of Object.entries(LOCAL_FILES)) {
  test(`${subject}: -offline names anything that is not a valid file, and waits for nothing`, async (t) => {
    for (const [what, put] of Object.entries(UNSOUND)) {
      // An empty document and an empty policy are valid.
      if (what === "an empty file" && ["deployment", "catalog_overlay_paths", "admin policy"].includes(subject))
        continue;
      const files = await writeFiles(t, {}, naming("f"));
      await put(join(files.dir, "f"));
      const { status, failures } = await check(files);
      assert.equal(status, 1, what);
      assert.ok(
        failures.some((line) => /\bf\b/.test(line)),
        `${what}: ${failures.join("\n")}`,
      );
    }
  });
}

test("-offline names a secrets folder that is not a directory", async (t) => {
  for (const [what, put] of Object.entries(UNSOUND)) {
    if (what === "a directory") continue;
    const files = await writeFiles(t, {}, { secrets_dir: "f" });
    await put(join(files.dir, "f"));
    const { failures } = await check(files);
    assert.match(failures[0] ?? "", /^fail {2}secrets_dir: .*\/f is not a directory/, what);
  }
});
