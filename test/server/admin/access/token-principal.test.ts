/** The admin API principal of a bearer token. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { nullLog } from "../../../../src/base/index.ts";
import {
  createTokenPrincipals,
  type TokenBinding,
  type TokenPrincipal,
} from "../../../../src/server/admin/access/token-principal.ts";
import type { TokenVerdict, TokenVerifier, VerifiedToken } from "../../../../src/server/auth/index.ts";
import { goodClaims, sign, startIssuer, testKey } from "../../auth/support/issuer.ts";
import { recordedLog, testVerifier } from "../../auth/support/verify.ts";

const EXPIRES_AT = 1_800_000_000_000;

/** The text of a token is its verdict; token verification is tested elsewhere. */
const verifier: Pick<TokenVerifier, "verify"> = {
  verify: async (text, signal) => {
    signal.throwIfAborted();
    return JSON.parse(text) as TokenVerdict;
  },
};

function verified(claims: Readonly<Record<string, unknown>> = {}, changes: Partial<VerifiedToken> = {}): VerifiedToken {
  return {
    kind: "verified",
    issuer: "corp",
    subject: "alice",
    displayName: "Alice A.",
    audiences: ["gateway"],
    expiresAt: EXPIRES_AT,
    claims,
    ...changes,
  };
}

function binding(roles: Partial<TokenBinding["roles"]> = {}, changes: Partial<TokenBinding> = {}): TokenBinding {
  return { issuer: "corp", audience: "gateway", roles: { claim: "groups", map: undefined, ...roles }, ...changes };
}

function identify(bindings: readonly TokenBinding[], verdict: TokenVerdict, log = nullLog): Promise<TokenPrincipal> {
  const principals = createTokenPrincipals(bindings, verifier, log);
  return principals.identify(JSON.stringify(verdict), new AbortController().signal);
}

async function rolesOf(roles: Partial<TokenBinding["roles"]>, claims: Readonly<Record<string, unknown>>) {
  const outcome = await identify([binding(roles)], verified(claims));
  assert.ok(outcome.kind === "principal");
  return outcome.principal.roles;
}

test("a valid token gives a principal with the issuer's name, roles, name and expiry", async () => {
  assert.deepEqual(await identify([binding()], verified({ groups: ["ops"] })), {
    kind: "principal",
    principal: { issuer: "corp", subject: "alice", roles: ["ops"], name: "Alice A.", expiresAt: EXPIRES_AT },
  });
});

test("roles are the distinct values of the claim, a text or a list", async () => {
  const rows: readonly [unknown, readonly string[]][] = [
    [undefined, []],
    [null, []],
    ["ops", ["ops"]],
    ["", []],
    ["ops dev", ["ops dev"]],
    [
      ["ops", "dev", "ops"],
      ["ops", "dev"],
    ],
    [["ops", 7, null, ["dev"], { name: "dev" }, ""], ["ops"]],
    [{ ops: true }, []],
    [7, []],
    [true, []],
    ["x".repeat(1_025), []],
  ];
  for (const [groups, roles] of rows) {
    assert.deepEqual(await rolesOf({}, { groups }), roles, JSON.stringify(groups)?.slice(0, 60));
  }
});

test("with a role map, a value outside the map grants nothing", async () => {
  const map = { "grp-1": ["ops", "viewer"], "grp-2": ["viewer"], "grp-3": [] };
  const rows: readonly [unknown, readonly string[]][] = [
    ["grp-1", ["ops", "viewer"]],
    [
      ["grp-2", "grp-1"],
      ["viewer", "ops"],
    ],
    [["ops", "viewer", "GRP-1", "grp-1 ", "grp-3"], []],
    [["constructor", "__proto__", "toString"], []],
    [undefined, []],
  ];
  for (const [groups, roles] of rows) {
    assert.deepEqual(await rolesOf({ map }, { groups }), roles, JSON.stringify(groups));
  }
  assert.deepEqual(await rolesOf({ map: {} }, { groups: ["ops"] }), [], "an empty map is a map");
});

test("the claim is a plain name, not a path and not an inherited property", async () => {
  const claims = { realm_access: { roles: ["ops"] }, "realm_access.roles": ["dotted"], "https://corp/roles": "url" };
  assert.deepEqual(await rolesOf({ claim: "realm_access.roles" }, claims), ["dotted"]);
  assert.deepEqual(await rolesOf({ claim: "realm_access.roles" }, { realm_access: claims.realm_access }), []);
  assert.deepEqual(await rolesOf({ claim: "https://corp/roles" }, claims), ["url"]);
  assert.deepEqual(await rolesOf({ claim: "toString" }, claims), []);
  assert.deepEqual(await rolesOf({ claim: "sub", map: { agent: ["ops"] } }, { sub: "agent" }), ["ops"]);
});

test("at most 256 values are read and at most 256 roles granted", async () => {
  const groups = Array.from({ length: 300 }, (_, at) => `g${at}`);
  assert.deepEqual(await rolesOf({}, { groups }), groups.slice(0, 256));
  assert.deepEqual(await rolesOf({ map: { g255: ["in"], g256: ["out"] } }, { groups }), ["in"]);
  assert.equal((await rolesOf({ map: { g0: groups } }, { groups })).length, 256);
});

test("no token grants the roles of callers without a token, mapped or not, and a warning is logged once", async () => {
  const log = recordedLog();
  const bindings = [binding(), binding({ map: { all: ["local", "ops", "loopback"] } }, { audience: "mapped" })];
  const principals = createTokenPrincipals(bindings, verifier, log);
  const rolesFor = async (verdict: VerifiedToken) => {
    const outcome = await principals.identify(JSON.stringify(verdict), new AbortController().signal);
    assert.ok(outcome.kind === "principal");
    return outcome.principal.roles;
  };
  assert.deepEqual(await rolesFor(verified({ groups: ["local", "dev"] })), ["dev"]);
  assert.deepEqual(await rolesFor(verified({ groups: "loopback" })), []);
  assert.deepEqual(await rolesFor(verified({ groups: "all" }, { audiences: ["mapped"] })), ["ops"]);
  // A different text is a different role, however similar it looks.
  assert.deepEqual(await rolesFor(verified({ groups: ["Local", "local "] })), ["Local", "local "]);
  assert.equal(log.lines.length, 1);
  assert.match(log.lines[0]?.text ?? "", /"issuer":"corp"/);
});

test("a token of another audience or of an unbound issuer is refused with its subject", async () => {
  const refused = { kind: "refused", issuer: "corp", subject: "alice" };
  for (const audiences of [[], ["Gateway"], ["gateway "], ["gateway-data", "other"]]) {
    assert.deepEqual(await identify([binding()], verified({}, { audiences })), { ...refused, fault: "audience" });
  }
  assert.deepEqual(await identify([binding({}, { issuer: "other" })], verified()), {
    ...refused,
    fault: "unbound_issuer",
  });
  assert.deepEqual(await identify([], verified()), { ...refused, fault: "unbound_issuer" });
});

test("among several bindings of an issuer the first with a matching audience decides the roles", async () => {
  const bindings = [
    binding({ map: { g: ["other"] } }, { issuer: "other" }),
    binding({ map: { g: ["cli"] } }, { audience: "cli" }),
    binding({ map: { g: ["api"] } }, { audience: "api" }),
    binding({ map: { g: ["late"] } }, { audience: "api" }),
  ];
  const rows: readonly [readonly string[], string][] = [
    [["cli"], "cli"],
    [["api"], "api"],
    [["api", "cli"], "cli"],
    [["x", "api"], "api"],
  ];
  for (const [audiences, role] of rows) {
    const outcome = await identify(bindings, verified({ groups: "g" }, { audiences }));
    assert.deepEqual(outcome.kind === "principal" && outcome.principal.roles, [role], audiences.join());
  }
});

test("a refusal of the verifier is passed on without a subject", async () => {
  for (const issuer of ["corp", undefined]) {
    const outcome = await createTokenPrincipals(
      [binding()],
      { verify: async () => ({ kind: "refused", fault: "expired", issuer }) },
      nullLog,
    ).identify("", new AbortController().signal);
    assert.deepEqual(outcome, { kind: "refused", fault: "expired", issuer, subject: undefined });
  }
});

test("a check whose caller disconnected is aborted", async () => {
  const principals = createTokenPrincipals([binding()], verifier, nullLog);
  await assert.rejects(principals.identify("{}", AbortSignal.abort(new Error("gone"))), /gone/);
});

test("an issuer cannot take the name of a local caller type", () => {
  assert.throws(() => createTokenPrincipals([binding({}, { issuer: "local" })], verifier, nullLog), /without a token/);
});

test("a trusted self-editable claim grants only what its map says", async () => {
  const key = await testKey("ES256", "k");
  await using issuer = await startIssuer({ keys: [key] });
  await using tokens = testVerifier([issuer.options({ subjectClaim: "email" })]);
  const principals = createTokenPrincipals(
    [binding({ claim: "email", map: { "alice@corp.example": ["ops"] } })],
    { verify: (text) => tokens.verify(text) },
    nullLog,
  );
  const outcomeOf = async (claims: Readonly<Record<string, unknown>>) => {
    const outcome = await principals.identify(
      await sign(key, goodClaims(issuer.url, claims)),
      new AbortController().signal,
    );
    return outcome.kind === "refused" ? outcome.fault : [outcome.principal.subject, ...outcome.principal.roles];
  };
  assert.deepEqual(await outcomeOf({ email: "alice@corp.example" }), ["alice@corp.example", "ops"]);
  assert.deepEqual(await outcomeOf({ email: "Alice@corp.example" }), ["Alice@corp.example"]);
  assert.equal(await outcomeOf({ email: "alice@corp.example", email_verified: false }), "email_not_verified");
  assert.equal(await outcomeOf({}), "no_subject");
});
