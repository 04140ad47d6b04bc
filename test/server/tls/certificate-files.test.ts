/**
 * Certificate files that change under a running node: manually, half-written, and by replaced links of an orchestrator.
 */
import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { createLogger } from "../../../src/base/index.ts";
import { openCertificateFilePair, readCertificateFiles } from "../../../src/server/tls/index.ts";
import { testAuthority } from "./support/authority.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const start = Date.now();
const authority = await testAuthority(start);
const first = await authority.issue();
const second = await authority.issue();
const dir = await mkdtemp(join(tmpdir(), "gateway-certificates-"));
after(() => rm(dir, { recursive: true }));

async function opened(t: TestContext, pair = first) {
  const here = await mkdtemp(join(dir, "case-"));
  const certFile = join(here, "tls.crt");
  const keyFile = join(here, "tls.key");
  const write = async (cert: string | undefined, key: string | undefined): Promise<void> => {
    if (cert !== undefined) await writeFile(certFile, cert);
    if (key !== undefined) await writeFile(keyFile, key);
  };
  await write(pair.chain, pair.key);
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ stream, isTerminal: false, level: "info", now: () => 0 });
  const clock = { at: start, now: () => clock.at };
  const results: string[] = [];
  const files = await openCertificateFilePair({
    certFile,
    keyFile,
    clock,
    log,
    onRead: (result) => results.push(result),
  });
  t.after(() => files.close());
  /** Content found twice is judged. */
  const look = async (): Promise<void> => {
    await files.reread();
    await files.reread();
  };
  return { here, certFile, keyFile, write, files, look, clock, lines, results };
}

test("a new pair is loaded and reported, and listeners are called once", async (t) => {
  const { files, write, look, results, lines } = await opened(t);
  let calls = 0;
  const end = files.onChange(() => calls++);
  await look();
  assert.equal(calls, 0);
  await write(second.chain, second.key);
  await look();
  await look();
  assert.equal(calls, 1);
  assert.equal(files.current()?.chain, second.chain);
  assert.deepEqual(results, ["taken", "taken"]);
  assert.match(lines.at(-1) ?? "", /"new certificate in use".*"serial":"[0-9A-F]{32}"/);
  end();
});

test("a transient state between two writes is not reported", async (t) => {
  const { files, write, look, results } = await opened(t);
  await write(second.chain, undefined);
  await files.reread();
  await write(undefined, second.key);
  await look();
  assert.deepEqual(results, ["taken", "taken"]);
  assert.equal(files.status().failure, undefined);
});

const BAD: readonly (readonly [string, string | undefined, string | undefined, string, RegExp])[] = [
  [
    "half a certificate",
    second.chain.slice(0, 400),
    second.key,
    "unreadable_certificate",
    /tls\.crt: the certificate is incomplete/,
  ],
  [
    "the certificate alone",
    second.chain,
    undefined,
    "wrong_key",
    /tls\.key: the key does not belong to the certificate in .*tls\.crt$/,
  ],
  ["an emptied key", undefined, "", "empty", /tls\.key: the key is empty$/],
];

for (const [what, cert, key, reason, message] of BAD) {
  test(`${what} keeps the last good pair, is reported once, and recovers when the rest arrives`, async (t) => {
    const { files, write, look, results, lines } = await opened(t);
    await write(cert, key);
    await look();
    await look();
    assert.equal(files.current()?.chain, first.chain);
    assert.deepEqual(results, ["taken", reason]);
    assert.equal(files.status().failure?.reason, reason);
    assert.match(files.status().failure?.message ?? "", message);
    assert.equal(
      lines.filter((line) => line.includes("the new certificate was rejected; the previous one stays in use")).length,
      1,
    );
    await write(second.chain, second.key);
    await look();
    assert.equal(files.current()?.chain, second.chain);
    assert.deepEqual([files.status().failure, files.status().failures], [undefined, 0]);
  });
}

test("an expired pair does not replace a valid one; when the old one is restored all is well", async (t) => {
  const { files, write, look, results } = await opened(t);
  const expired = await authority.issue({ notBefore: start - 9 * DAY_MS, notAfter: start - DAY_MS });
  await write(expired.chain, expired.key);
  await look();
  assert.equal(files.current()?.chain, first.chain);
  assert.match(files.status().failure?.message ?? "", /tls\.crt: it expired on /);
  await write(first.chain, first.key);
  await look();
  assert.equal(files.status().failure, undefined);
  assert.deepEqual(results, ["taken", "expired", "taken"]);
});

test("a pair valid from tomorrow is loaded tomorrow", async (t) => {
  const { files, write, look, clock } = await opened(t);
  const next = await authority.issue({ notBefore: start + DAY_MS });
  await write(next.chain, next.key);
  await look();
  assert.equal(files.current()?.chain, first.chain);
  assert.match(files.status().failure?.message ?? "", /it is valid from .*; is the clock of this machine right\?$/);
  clock.at += DAY_MS + 1_000;
  await look();
  assert.equal(files.current()?.chain, next.chain);
});

test("without a better one an expired pair is served and reported as expired", async (t) => {
  const expired = await authority.issue({ notBefore: start - 9 * DAY_MS, notAfter: start - DAY_MS });
  const { files, lines } = await opened(t, expired);
  assert.equal(files.current()?.chain, expired.chain);
  assert.equal(files.status().failure?.reason, "expired");
  assert.match(lines.join("\n"), /"level":"error".*is used.*it expired on/);
});

test("a pair that expires while it serves is reported as expired", async (t) => {
  const { files, clock } = await opened(t);
  assert.equal(files.status().failure, undefined);
  clock.at += 91 * DAY_MS;
  assert.match(files.status().failure?.message ?? "", /it expired on/);
});

test("replaced links, as orchestrators mount secrets, are followed", async (t) => {
  const { here, certFile, keyFile, files, look } = await opened(t);
  const fill = async (name: string, { chain, key }: typeof first) => {
    await mkdir(join(here, name));
    await writeFile(join(here, name, "tls.crt"), chain);
    await writeFile(join(here, name, "tls.key"), key);
  };
  await fill("..2026_01", first);
  await fill("..2026_02", second);
  await symlink("..2026_01", join(here, "..data"));
  for (const [file, name] of [
    [certFile, "tls.crt"],
    [keyFile, "tls.key"],
  ] as const) {
    await rm(file);
    await symlink(`..data/${name}`, file);
  }
  await look();
  assert.equal(files.current()?.chain, first.chain);
  await symlink("..2026_02", join(here, "..data_tmp"));
  await rename(join(here, "..data_tmp"), join(here, "..data"));
  await look();
  assert.equal(files.current()?.chain, second.chain);
});

test("missing files and invalid paths are named", async () => {
  const here = await mkdtemp(join(dir, "none-"));
  const certFile = join(here, "tls.crt");
  const keyFile = join(here, "tls.key");
  const readProblem = async (): Promise<string> => {
    const read = await readCertificateFiles({ certFile, keyFile }, start);
    return read.kind === "problem" ? read.message : "";
  };
  assert.equal(await readProblem(), `${certFile}: there is no such file`);
  await mkdir(certFile);
  assert.equal(await readProblem(), `${certFile}: is a directory`);
  await rm(certFile, { recursive: true });
  await writeFile(certFile, first.chain);
  await symlink("/dev/null", keyFile);
  assert.equal(await readProblem(), `${keyFile}: is not a regular file`);
  await rm(keyFile);
  await writeFile(keyFile, "x".repeat(300 << 10));
  assert.equal(await readProblem(), `${keyFile}: is larger than 262144 bytes`);
  await writeFile(keyFile, first.key);
  await chmod(keyFile, 0);
  if (process.getuid?.() !== 0) {
    assert.equal(await readProblem(), `${keyFile}: is not readable for the user that the gateway runs as (EACCES)`);
  }
});
