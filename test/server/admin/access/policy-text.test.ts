/** Refused policy files with positions, warnings, and random texts that must not break the compiler. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { OPERATIONS, type Operation } from "../../../../src/admin-api/index.ts";
import { loadPolicy } from "../../../../src/server/admin/access/policy.ts";
import { adminPolicySchema } from "../../../../src/server/admin/access/policy-schema.ts";
import { MAX_POLICY_BYTES } from "../../../../src/server/admin/access/policy-text.ts";

const PERMIT = "permit(principal, action, resource);";
const when = (condition: string): string => `permit(principal, action, resource) when { ${condition} };`;

/** Returns `line:column message` of each. */
async function loadedPolicy(text: string): Promise<{ readonly kind: string; readonly problems: readonly string[] }> {
  const outcome = await loadPolicy(text);
  const problems = outcome.kind === "loaded" ? outcome.warnings : outcome.problems;
  return {
    kind: outcome.kind,
    problems: problems.map(({ line, column, message }) => `${line}:${column} ${message}`),
  };
}

const REFUSED: readonly (readonly [name: string, text: string, expected: RegExp])[] = [
  ["a misspelled keyword", `${PERMIT}\n  frbid(principal, action, resource);`, /^2:3 invalid policy effect: frbid/],
  ["an end in the middle", "permit(principal, action", /^1:25 unexpected end of input/],
  ["a fault after characters of several bytes", `// é💥\n${when('"é" == }')}`, /^2:51 /],
  ["a template", `${PERMIT}\npermit(principal == ?principal, action, resource);`, /^2:1 is a template/],
  ["an id that is empty", `${PERMIT} @id("") ${PERMIT}`, /^1:38 an `@id` has 1 to 128 printable characters/],
  ["an id with a line break", `@id("a\\nb") ${PERMIT}`, /^1:1 an `@id`/],
  ["an id that is long", `@id("${"a".repeat(129)}") ${PERMIT}`, /^1:1 an `@id`/],
  ["a duplicate annotation", `@id("a") @id("b") ${PERMIT}`, /^1:10 duplicate annotation/],
  ["nested brackets", when(`${"(".repeat(40)}true${")".repeat(40)}`), /^1:67 is nested deeper than 24/],
  ["a long chain", when(`true${" && true".repeat(300)}`), /^1:\d+ a policy has more than 64 operators/],
  ["too many policies", PERMIT.repeat(1_001), /^1:1 holds 1001 policies; the maximum is 1000/],
  ["too many bytes", `//${"é".repeat(MAX_POLICY_BYTES / 2)}`, /^1:1 is larger than 1048576 bytes/],
  ["invalid Unicode", "// \ud800", /^1:1 is not well-formed Unicode/],
];

for (const [name, text, expected] of REFUSED) {
  test(`${name} is refused with its position`, async () => {
    const outcome = await loadedPolicy(text);
    assert.equal(outcome.kind, "refused");
    assert.match(outcome.problems[0] ?? "", expected);
  });
}

test("every error of a policy is reported, not only the first", async () => {
  const { problems: faults } = await loadedPolicy("permit(principal, action, resource) when { 1 + };\n garbage");
  assert.equal(faults.length, 2, faults.join("\n"));
});

const WARNED: readonly (readonly [name: string, text: string, expected: RegExp])[] = [
  [
    "an unknown action",
    `// é\npermit(principal, action == Action::"lst_keys", resource);`,
    /^2:29 unrecognized action `Action::"lst_keys"`; did you mean `Action::"list_keys"`\?$/,
  ],
  [
    "an operation open to all",
    'forbid(principal, action == Action::"get_login", resource);',
    /^1:29 unrecognized action `Action::"get_login"`/,
  ],
  ["an unknown entity type", 'permit(principal in Rol::"a", action, resource);', /^1:21 unrecognized entity type/],
  ["an unknown table", 'permit(principal, action, resource == Table::"kys");', /^1:39 .*`"kys"` is not declared/],
  ["an unknown attribute", when("principal.email == 1"), /^1:44 attribute `email`/],
  [
    "a resource that the action does not apply to",
    'permit(principal, action == Action::"list_keys", resource is Key);',
    /^1:1 /,
  ],
  [
    "a duplicate id",
    `@id("a") ${PERMIT}\n  @id("a") ${PERMIT}`,
    /^2:3 a second policy has the id "a": records cannot tell them apart$/,
  ],
];

for (const [name, text, expected] of WARNED) {
  test(`${name} causes a warning with its position, and the policy is used`, async () => {
    const outcome = await loadedPolicy(text);
    assert.equal(outcome.kind, "loaded");
    assert.match(outcome.problems[0] ?? "", expected);
  });
}

const SOUND: readonly (readonly [name: string, text: string])[] = [
  ["the permit of the specification", 'permit(principal in Role::"local", action, resource);'],
  ["a byte order mark", `\ufeff${PERMIT}`],
  ["nothing", ""],
  ["comments with brackets and quotes", `// ${"(".repeat(100)}"\n${PERMIT} // ""`],
  ["strings with brackets and comments", when(`resource == Key::"${"(".repeat(100)}\\"//"`)],
  ["a long list", when(`resource in [${Array.from({ length: 5_000 }, (_, at) => `Key::"k${at}"`).join(", ")}]`)],
  ["carriage returns", `@id("a")\r\n${PERMIT}\r\n`],
];

for (const [name, text] of SOUND) {
  test(`${name} loads without a warning`, async () => {
    assert.deepEqual(await loadedPolicy(text), { kind: "loaded", problems: [] });
  });
}

test("each authorized operation is an action of the schema, in its group and on its resource type", () => {
  const { actions = {}, entityTypes = {} } = adminPolicySchema()[""] ?? {};
  for (const [id, { group, resource, isOpen }] of Object.entries<Operation>(OPERATIONS)) {
    const action = actions[id];
    assert.equal(action === undefined, isOpen === true, id);
    if (action === undefined) continue;
    assert.deepEqual(action.memberOf, [{ id: group }]);
    assert.deepEqual(action.appliesTo?.resourceTypes, [resource.kind]);
    assert.ok(entityTypes[resource.kind]);
  }
});

test("the most complex accepted policy is evaluated, also once the evaluator is optimized", async () => {
  const asked = {
    principal: { issuer: "local", subject: "unix:0", roles: [] },
    action: "list_keys",
    group: "read",
    resource: { kind: "Table", name: "keys" },
  } as const;
  for (const [left, right] of [
    ["(", ")"],
    ["[", "]"],
    ["{a:", "}"],
  ] as const) {
    for (const [chain, operators] of [
      ['["a"]', 1],
      ["+1", 1],
      [".contains(1)", 2],
      [" && true", 1],
    ] as const) {
      // Parentheses of the head, of `when`, and 22 more; then as many operands as are allowed.
      const links = Math.floor((64 - 24) / operators);
      const policy = when(`${left.repeat(22)}1${chain.repeat(links)}${right.repeat(22)} == 1`);
      const outcome = await loadPolicy(policy);
      if (outcome.kind === "refused") assert.fail(JSON.stringify(outcome.problems));
      for (let time = 0; time < 500; time++) assert.equal(outcome.access.decide(asked).isAllowed, false);
      const longer = policy.replace(" == 1", " == 1 && (true == true)");
      assert.equal((await loadPolicy(longer)).kind, "refused");
    }
  }
  assert.deepEqual(await loadedPolicy(PERMIT), { kind: "loaded", problems: [] });
});

test("no text makes the compiler throw, and it still works after each", async () => {
  const token = fc.constantFrom(
    ..."permit forbid ( ) , ; { } [ ] . :: && || ! - + * == != < in is has like if then else when unless".split(" "),
    ..."principal action resource context ?principal true 1 9223372036854775808 @id @x // \n".split(" "),
    '"a"',
    '("x")',
    '"',
    "\\",
    'Role::"a"',
    'Action::"read"',
    "\u0000",
    "é",
    "💥",
  );
  const text = fc.oneof(
    fc.array(token, { maxLength: 60 }).map((tokens) => tokens.join(" ")),
    fc.string({ unit: "binary", maxLength: 200 }),
    fc
      .tuple(fc.constantFrom("(", "[", "{a:", "!", "-", "if ", "principal.", "a::"), fc.nat(5_000))
      .map(([part, count]) => when(part.repeat(count))),
    fc.tuple(token, fc.nat(PERMIT.length)).map(([given, at]) => PERMIT.slice(0, at) + given + PERMIT.slice(at)),
  );
  await fc.assert(
    fc.asyncProperty(text, async (input) => {
      const outcome = await loadPolicy(input);
      if (outcome.kind === "refused") assert.ok(outcome.problems.length > 0);
      const lines = input.split("\n");
      for (const { line, column } of outcome.kind === "loaded" ? outcome.warnings : outcome.problems) {
        assert.ok(column >= 1 && column <= (lines[line - 1]?.length ?? -1) + 1, `${line}:${column}`);
      }
    }),
    { numRuns: 1_000 },
  );
  assert.deepEqual(await loadedPolicy(PERMIT), { kind: "loaded", problems: [] });
});
