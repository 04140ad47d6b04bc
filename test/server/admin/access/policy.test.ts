/** Policy decisions by Cedar's rules, for every operation and any characters in names. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type ActionGroup, OPERATIONS, type Operation, TABLES } from "../../../../src/admin-api/index.ts";
import { permittedTables } from "../../../../src/server/admin/access/permitted-tables.ts";
import { loadPolicy } from "../../../../src/server/admin/access/policy.ts";
import type { Access, AccessQuestion, Resource } from "../../../../src/server/admin/access/types.ts";
import { localPrincipal, type Principal } from "../../../../src/server/admin/principal.ts";

async function accessOf(text: string): Promise<Access> {
  const outcome = await loadPolicy(text);
  assert.equal(outcome.kind, "loaded", JSON.stringify(outcome));
  return outcome.kind === "loaded" ? outcome.access : assert.fail();
}

const user = (subject: string, roles: readonly string[] = [], issuer = "corp"): Principal => ({
  issuer,
  subject,
  roles,
});
const ANN = user("ann", ["staff"]);

const operations = Object.entries<Operation>(OPERATIONS);

function question(
  principal: Principal,
  action = "list_keys",
  resource: Resource = { kind: "Table", name: "keys" },
): AccessQuestion {
  const group = operations.find(([id]) => id === action)?.[1].group ?? "read";
  return { principal, action, group, resource };
}

/** Every operation on a resource of its type. */
const questions = (principal: Principal): readonly AccessQuestion[] =>
  operations.map(([action, { group, resource }]) => ({
    principal,
    action,
    group,
    resource: { kind: resource.kind, name: "name" in resource ? resource.name : "some" },
  }));

const allowed = (access: Access, principal: Principal): readonly string[] =>
  questions(principal)
    .filter((it) => access.decide(it).isAllowed)
    .map(({ action }) => action);

/** Returns a Cedar string literal. */
const literal = (text: string): string =>
  `"${[...text].map((it) => `\\u{${it.codePointAt(0)?.toString(16)}}`).join("")}"`;

const wellFormed = fc.string({ unit: "binary", maxLength: 40 });
const nasty = fc.oneof(
  wellFormed,
  fc.constantFrom('"', '\\"', '", action, resource); permit(principal', "a\nb", "\u0000", "💥", "__proto__", "//", "é"),
);

test("without a permitting policy everything is denied", async () => {
  const access = await accessOf('permit(principal == User::"corp/bob", action, resource);');
  assert.deepEqual(access.decide(question(ANN)), { isAllowed: false, policies: [], failed: [] });
  assert.deepEqual(allowed(await accessOf(""), localPrincipal(0)), []);
});

test("the specification's permit for local callers permits them everything, and nobody else anything", async () => {
  const access = await accessOf('permit(principal in Role::"local", action, resource);');
  assert.equal(allowed(access, localPrincipal(1000)).length, operations.length);
  assert.deepEqual(allowed(access, { issuer: "local", subject: "loopback", roles: ["loopback"] }), []);
  assert.deepEqual(allowed(access, ANN), []);
});

test("a token cannot grant a role reserved for callers without a token", async () => {
  const access = await accessOf(
    'permit(principal in Role::"local", action, resource); permit(principal in Role::"loopback", action, resource);',
  );
  assert.deepEqual(allowed(access, user("ann", ["local", "loopback"])), []);
});

test("a caller with a token is never a local caller, whatever its name", async () => {
  const access = await accessOf('permit(principal == Local::"unix:0", action, resource);');
  assert.equal(access.decide(question(localPrincipal(0))).isAllowed, true);
  assert.equal(access.decide(question(user("unix:0", ["local"]))).isAllowed, false);
});

for (const group of ["read", "write", "dangerous"] as const satisfies readonly ActionGroup[]) {
  test(`a policy for the group ${group} covers exactly its operations`, async () => {
    const access = await accessOf(`permit(principal, action in Action::"${group}", resource);`);
    const expected = operations.filter(([, operation]) => operation.group === group).map(([id]) => id);
    assert.ok(expected.length > 0);
    assert.deepEqual(allowed(access, ANN), expected);
  });
}

test("each operation can be permitted alone", async () => {
  for (const [id] of operations) {
    const access = await accessOf(`permit(principal, action == Action::"${id}", resource);`);
    assert.deepEqual(allowed(access, ANN), [id]);
  }
});

test("a forbid overrides every permit and is named as the deciding policy", async () => {
  const access = await accessOf(`
    @id("all") permit(principal, action, resource);
    @id("not the keyring") forbid(principal, action, resource == Secret::"keyring");
    permit(principal in Role::"staff", action, resource);
  `);
  const ask = (name: string) => access.decide(question(ANN, "put_secret", { kind: "Secret", name }));
  assert.deepEqual(ask("other"), { isAllowed: true, policies: ["all", "policy2"], failed: [] });
  assert.deepEqual(ask("keyring"), { isAllowed: false, policies: ["not the keyring"], failed: [] });
});

test("policies without an id are named by their position, also beyond the tenth", async () => {
  const access = await accessOf(
    Array.from({ length: 25 }, (_, at) => `permit(principal == User::"corp/u${at}", action, resource);`).join("\n"),
  );
  for (let at = 0; at < 25; at++) {
    assert.deepEqual(access.decide(question(user(`u${at}`))).policies, [`policy${at}`]);
  }
});

test("a policy that cannot be evaluated does not apply and is named", async () => {
  const access = await accessOf(`
    @id("broken") forbid(principal, action, resource) when { principal.department == "x" };
    @id("rest") permit(principal, action, resource);
  `);
  assert.deepEqual(access.decide(question(ANN)), { isAllowed: true, policies: ["rest"], failed: ["broken"] });
});

test("a policy can read issuer and subject of a token's caller", async () => {
  const access = await accessOf(
    'permit(principal is User, action, resource) when { principal.issuer == "corp" && principal.subject like "a*" };',
  );
  assert.equal(access.decide(question(ANN)).isAllowed, true);
  assert.equal(access.decide(question(user("bob"))).isAllowed, false);
  assert.equal(access.decide(question(user("ann", [], "other"))).isAllowed, false);
});

test("default deny, forbid over permit, and roles match a reference model", async () => {
  const roles = ["a", "b", "c"] as const;
  const actions = operations.map(([id]) => id);
  const rule = fc.record({
    effect: fc.constantFrom("permit", "forbid"),
    role: fc.constantFrom(...roles, undefined),
    action: fc.constantFrom(...actions, undefined),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(rule, { maxLength: 6 }),
      fc.subarray([...roles]),
      fc.constantFrom(...actions),
      async (rules, held, action) => {
        const text = rules.map(
          (it) =>
            `${it.effect}(principal${it.role ? ` in Role::"${it.role}"` : ""}, action${it.action ? ` == Action::"${it.action}"` : ""}, resource);`,
        );
        const decision = (await accessOf(text.join("\n"))).decide(question(user("x", held), action));
        const applying = rules.flatMap((it, at) =>
          (it.role === undefined || held.includes(it.role)) && (it.action === undefined || it.action === action)
            ? [{ ...it, at }]
            : [],
        );
        const forbidding = applying.filter(({ effect }) => effect === "forbid");
        assert.equal(decision.isAllowed, applying.length > 0 && forbidding.length === 0);
        const deciding = forbidding.length > 0 ? forbidding : applying;
        assert.deepEqual(decision.policies, deciding.map(({ at }) => `policy${at}`).sort());
      },
    ),
    { numRuns: 80 },
  );
});

test("a name is compared as a plain text, whatever characters it has", async () => {
  await fc.assert(
    fc.asyncProperty(nasty, nasty, nasty, async (subject, role, name) => {
      const access = await accessOf(
        `@id("it") permit(principal == User::${literal(`corp/${subject}`)}, action, resource == Key::${literal(name)});
         @id("role") permit(principal in Role::${literal(role)}, action, resource);`,
      );
      const ask = (who: Principal, key: string) =>
        access.decide(question(who, "get_key", { kind: "Key", name: key })).policies;
      assert.deepEqual(ask(user(subject), name), ["it"]);
      assert.deepEqual(ask(user(`${subject}x`), name), []);
      assert.deepEqual(ask(user(subject), `${name}x`), []);
      assert.deepEqual(ask(user(`${subject}x`, [role]), `${name}x`), role === "local" ? [] : ["role"]);
      assert.deepEqual(ask(user(`${subject}x`, [`${role}x`]), `${name}x`), []);
    }),
    { numRuns: 100 },
  );
});

test("callers of different issuers are never the same entity", async () => {
  const slashed = fc.string({ unit: fc.constantFrom("a", "/", "%", "2", "F"), minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(slashed, slashed, slashed, slashed, async (issuer, subject, otherIssuer, otherSubject) => {
      fc.pre(issuer !== otherIssuer || subject !== otherSubject);
      const name = issuer.replaceAll("%", "%25").replaceAll("/", "%2F");
      const access = await accessOf(`permit(principal == User::${literal(`${name}/${subject}`)}, action, resource);`);
      assert.equal(access.decide(question(user(subject, [], issuer))).isAllowed, true);
      assert.equal(access.decide(question(user(otherSubject, [], otherIssuer))).isAllowed, false);
    }),
    { numRuns: 100 },
  );
});

for (const [what, asked] of [
  ["subject", question(user("a\ud800"))],
  ["role", question(user("a", ["\udc00"]))],
  ["resource", question(ANN, "get_key", { kind: "Key", name: "\ud800" })],
] as const) {
  test(`a ${what} that is not valid Unicode is denied under any policy`, async () => {
    const access = await accessOf("permit(principal, action, resource);");
    assert.deepEqual(access.decide(asked), { isAllowed: false, policies: [], failed: [] });
  });
}

test("a caller may query the tables that it may list", async () => {
  const access = await accessOf(`
    permit(principal, action == Action::"list_keys", resource);
    permit(principal in Role::"staff", action in Action::"read", resource == Table::"budgets");
    permit(principal, action == Action::"run_query", resource);
  `);
  assert.deepEqual(permittedTables(access, ANN), ["keys", "budgets"]);
  assert.deepEqual(permittedTables(access, user("bob")), ["keys"]);
  const all = await accessOf("permit(principal, action, resource);");
  assert.deepEqual([...permittedTables(all, ANN)], Object.keys(TABLES));
});

test("two policy files are evaluated separately", async () => {
  const one = await accessOf('@id("one") permit(principal, action, resource);');
  const two = await accessOf('@id("two") forbid(principal, action, resource);');
  assert.deepEqual(one.decide(question(ANN)).policies, ["one"]);
  assert.deepEqual(two.decide(question(ANN)).policies, ["two"]);
});
