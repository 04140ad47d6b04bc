import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { failureCode, printable, tlsHint } from "../../../src/cli/sign-in/sign-in-errors.ts";

test("the code of a network failure is found inside its wrappers, and a library's own code is ignored", () => {
  const coded = (code: string, cause?: unknown) => Object.assign(new Error("x", { cause }), { code });
  const table: readonly (readonly [error: unknown, code: string | undefined])[] = [
    [coded("ECONNREFUSED"), "ECONNREFUSED"],
    [new TypeError("fetch failed", { cause: coded("UND_ERR_CONNECT_TIMEOUT") }), "UND_ERR_CONNECT_TIMEOUT"],
    [new TypeError("fetch failed", { cause: new AggregateError([coded("ENETUNREACH")]) }), "ENETUNREACH"],
    [coded("OAUTH_INVALID_RESPONSE", coded("EAI_AGAIN")), "EAI_AGAIN"],
    [coded("OAUTH_INVALID_RESPONSE"), undefined],
    [coded("ERR_INVALID_ARG_TYPE"), undefined],
    [new Error("x"), undefined],
    ["x", undefined],
  ];
  for (const [error, code] of table) assert.equal(failureCode(error), code);
});

test("an untrusted certificate comes with its remedy", () => {
  for (const code of ["SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "DEPTH_ZERO_SELF_SIGNED_CERT"]) {
    assert.equal(failureCode(Object.assign(new Error("x"), { code })), code);
    assert.match(tlsHint(code), /NODE_EXTRA_CA_CERTS/);
  }
  assert.equal(tlsHint("ECONNREFUSED"), "");
  assert.equal(tlsHint(undefined), "");
});

test("printed text is one line of limited length without terminal escapes", () => {
  assert.equal(printable("a\u001b[2J\u202eb\n"), "a\\u001b[2J\\u202eb\\n");
  assert.equal(printable("x".repeat(500), 10), `${"x".repeat(10)}...`);
});

test("libraries for signing in and renewing are loaded only then", () => {
  const folder = new URL("../../../src/cli/sign-in/", import.meta.url);
  const names = readdirSync(folder);
  assert.ok(names.includes("openid-provider.ts"));
  for (const name of names) {
    const text = readFileSync(new URL(name, folder), "utf8");
    assert.doesNotMatch(text, /^(?:import|export) (?!type )[^;]*from "(?:openid-client|open|node:https?)"/m, name);
  }
});
