/** `gateway check` of certificate files. */
import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { writeFiles } from "../../e2e/support/config.ts";
import type { Owner } from "../../e2e/support/wait.ts";
import { type Pair, testAuthority } from "../../server/tls/support/authority.ts";
import { bufferIo } from "../buffer-io.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const authority = await testAuthority();
const now = Date.now();
const valid = await authority.issue();

/** Returns the status, and the lines about the certificate; the folder is written as `DIR`. */
async function check(owner: Owner, { chain, key }: Pair, mode = 0o600) {
  const tls = { cert_file: "tls.crt", key_file: "tls.key" };
  const files = await writeFiles(owner, {}, { tls });
  await Promise.all([writeFile(join(files.dir, "tls.crt"), chain), writeFile(join(files.dir, "tls.key"), key)]);
  await chmod(join(files.dir, "tls.key"), mode);
  const io = bufferIo({});
  const status = await execute(["check", "-config", files.nodePath, "-timeout", "5s"], io);
  const lines = io.out().replaceAll(files.dir, "DIR").split("\n");
  return { status, lines: lines.filter((line) => /^.{6}certificate: /.test(line)), key };
}

const CASES: readonly (readonly [string, () => Promise<Pair>, number, readonly RegExp[]])[] = [
  [
    "a valid one is shown with its names, issuer and end",
    async () => valid,
    0,
    [
      /^ok {4}certificate: DIR\/tls\.crt: for localhost, 127\.0\.0\.1, issued by test intermediate, valid until \d{4}-\d\d-\d\d \(\d\d days\)$/,
    ],
  ],
  [
    "one that has expired fails",
    () => authority.issue({ notBefore: now - 90 * DAY_MS, notAfter: now - DAY_MS }),
    1,
    [/^fail {2}certificate: DIR\/tls\.crt: it expired on .* UTC$/],
  ],
  [
    "one of tomorrow fails",
    () => authority.issue({ notBefore: now + DAY_MS }),
    1,
    [/^fail {2}certificate: DIR\/tls\.crt: it is valid from .*; is the clock of this machine right\?$/],
  ],
  [
    "one that ends in five days is noted",
    () => authority.issue({ notBefore: now - 85 * DAY_MS, notAfter: now + 5 * DAY_MS + 60_000 }),
    0,
    [/^ok /, /^note {2}certificate: expires in 5 days: renew it$/],
  ],
  [
    "a key of another fails",
    async () => ({ chain: valid.chain, key: (await authority.issue()).key }),
    1,
    [/^fail {2}certificate: DIR\/tls\.key: the key does not belong to the certificate in DIR\/tls\.crt$/],
  ],
  [
    "a chain without its intermediate is noted",
    () => authority.issueLeaf(),
    0,
    [/^ok /, /^note {2}certificate: the chain contains only the server's certificate/],
  ],
];

for (const [what, pair, status, message] of CASES) {
  test(what, async (t) => {
    const result = await check(t, await pair());
    assert.equal(result.status, status, result.lines.join("\n"));
    assert.equal(result.lines.length, message.length, result.lines.join("\n"));
    for (const [at, each] of message.entries()) assert.match(result.lines[at] ?? "", each);
    assert.ok(!result.lines.join("\n").includes(result.key.slice(40, 80)));
  });
}

test("a world-readable key is noted", async (t) => {
  const { status, lines } = await check(t, valid, 0o644);
  assert.equal(status, 0);
  assert.equal(
    lines[1],
    "note  certificate: every user of this machine can read DIR/tls.key: run `chmod o-r DIR/tls.key`",
  );
});
