import assert from "node:assert/strict";
import { chmodSync, chownSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import fc from "fast-check";
import { formatEntry, parseEntry, type SignIn } from "../../../src/cli/sign-in/sign-in-entry.ts";
import { SignInError } from "../../../src/cli/sign-in/sign-in-errors.ts";
import { openSignInStore } from "../../../src/cli/sign-in/sign-in-store.ts";
import { bufferIo } from "../buffer-io.ts";
import { makeHome, signInOf } from "./temporary-home.ts";

const URL_A = "https://a.example";
const isRoot = process.geteuid?.() === 0;

test("a stored sign-in is read back and is private to the user", (t) => {
  const home = makeHome(t);
  const signIn = signInOf(URL_A, { refreshToken: "refresh", resource: "https://api.example" });
  home.write(signIn);
  assert.deepEqual(home.read(URL_A), signIn);
  assert.equal(statSync(home.directory).mode & 0o777, 0o700);
  assert.equal(statSync(home.path(URL_A)).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(home.directory).length, 1, "no temporary file stays");
});

test("every sign-in survives a round trip", () => {
  const text = fc.string({ unit: "grapheme", minLength: 1 });
  const fields = {
    url: text,
    issuerName: text,
    issuer: text,
    clientId: text,
    tokenKind: fc.constantFrom<SignIn["tokenKind"]>("id", "access"),
    resource: fc.option(text, { nil: undefined }),
    token: fc.stringMatching(/^[\x21-\x7e]{1,80}$/),
    expiresAt: fc.option(fc.integer({ min: 0, max: 8.64e15 }), { nil: undefined }),
    refreshToken: fc.option(text, { nil: undefined }),
    callerName: text,
  };
  const entry: fc.Arbitrary<SignIn> = fc.record(fields, { noNullPrototype: true });
  fc.assert(
    fc.property(entry, (signIn) => {
      assert.deepEqual(parseEntry(formatEntry(signIn)), { kind: "sign-in", signIn });
    }),
  );
});

test("a damaged file is not a sign-in, whatever its bytes", (t) => {
  const home = makeHome(t);
  home.write(signInOf(URL_A));
  const whole = readFileSync(home.path(URL_A));
  const store = openSignInStore(home.io());
  for (let length = 0; length < whole.length - 2; length += 1) {
    writeFileSync(home.path(URL_A), whole.subarray(0, length));
    const stored = store.read(URL_A);
    assert.equal(stored.kind === "unreadable" ? stored.reason : stored.kind, "it is damaged", `${length} bytes`);
  }
});

const BROKEN: readonly (readonly [name: string, change: Record<string, unknown>, words: string])[] = [
  ["another version", { version: 2 }, "it was written by another version of this program (format 2)"],
  ["no version", { version: undefined }, "it is damaged"],
  ["a token with a line break", { token: "a\r\nx: y" }, "it is damaged"],
  ["a token that is not text", { token: 7 }, "it is damaged"],
  ["an unknown kind of token", { token_kind: "refresh" }, "it is damaged"],
  ["a time out of range", { expires_at_ms: 1e300 }, "it is damaged"],
  ["an issuer without a URL", { issuer: { name: "x" } }, "it is damaged"],
  ["another gateway's URL", { url: "https://b.example" }, "it belongs to another gateway"],
];
for (const [name, change, message] of BROKEN) {
  test(`a file with ${name} is not a sign-in`, (t) => {
    const home = makeHome(t);
    home.write(signInOf(URL_A));
    const path = home.path(URL_A);
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...change }));
    assert.deepEqual(openSignInStore(home.io()).read(URL_A), { kind: "unreadable", path, reason: message });
  });
}

test("a file that others can read is refused", (t) => {
  const home = makeHome(t);
  home.write(signInOf(URL_A));
  const path = home.path(URL_A);
  for (const mode of [0o640, 0o604, 0o620]) {
    chmodSync(path, mode);
    const text = `other users have access to it (mode ${mode.toString(8)})`;
    assert.deepEqual(openSignInStore(home.io()).read(URL_A), { kind: "unsafe", path, reason: text });
  }
});

test("a file of another user is refused", { skip: !isRoot && "only root can give a file away" }, (t) => {
  const home = makeHome(t);
  home.write(signInOf(URL_A));
  chownSync(home.path(URL_A), 65_534, 65_534);
  const stored = openSignInStore(home.io()).read(URL_A);
  assert.equal(stored.kind === "unsafe" ? stored.reason : "", "it belongs to user 65534, and you are user 0");
});

test("a symbolic link is refused", (t) => {
  const home = makeHome(t);
  home.write(signInOf(URL_A));
  symlinkSync(home.path(URL_A), home.path("https://b.example"));
  assert.equal(openSignInStore(home.io()).read("https://b.example").kind, "unsafe");
});

test("nothing is written to a directory that others may write to", (t) => {
  const home = makeHome(t);
  home.write(signInOf(URL_A));
  chmodSync(home.directory, 0o777);
  assert.throws(() => home.write(signInOf("https://b.example")), SignInError);
  assert.equal(readdirSync(home.directory).length, 1);
});

test("leftovers of an interrupted write are removed with the next write and with the sign-in", (t) => {
  const home = makeHome(t);
  home.write(signInOf(URL_A));
  const left = `${home.path(URL_A)}.0123456789ab.tmp`;
  writeFileSync(left, "half");
  home.write(signInOf(URL_A));
  assert.equal(readdirSync(home.directory).length, 1);
  writeFileSync(left, "half");
  assert.equal(openSignInStore(home.io()).remove(home.path(URL_A)), true);
  assert.deepEqual(readdirSync(home.directory), []);
});

test("the list is sorted by URL and names unreadable files", (t) => {
  const home = makeHome(t);
  for (const url of ["https://c.example", URL_A, "https://b.example"]) home.write(signInOf(url));
  writeFileSync(home.path("https://b.example"), "{");
  const listed = openSignInStore(home.io()).list();
  assert.deepEqual(
    listed.map(({ stored }) => (stored.kind === "sign-in" ? stored.signIn.url : stored.kind)),
    [URL_A, "https://c.example", "unreadable"],
  );
});

test("the location is XDG_STATE_HOME if absolute, else .local/state in the home", () => {
  const directoryWith = (env: Record<string, string>) => openSignInStore(bufferIo({ env })).directory;
  assert.equal(directoryWith({ XDG_STATE_HOME: "/state", HOME: "/h" }), join("/state", "gateway"));
  assert.equal(directoryWith({ XDG_STATE_HOME: "state", HOME: "/h" }), join("/h", ".local", "state", "gateway"));
  assert.equal(directoryWith({ HOME: "/h" }), join("/h", ".local", "state", "gateway"));
});
