/** Refusals of a pack: on its own, and beside the packs it builds on. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkPack, readPack } from "../../../../src/server/core/packs/index.ts";
import { BASE, BASE_FRAGMENT, BASE_PACK, baseOf, filesOf, packOf, UPPER } from "./packs.ts";

const READ: readonly (readonly [name: string, pack: string, fragment: string, problem: RegExp])[] = [
  ["no citation", BASE_PACK.replace(", citation: F 1 A", ""), BASE_FRAGMENT, /citation/],
  [
    "an id with white space",
    BASE_PACK.replace("f-1:A", "f-1:A B"),
    BASE_FRAGMENT,
    /pack\.yaml:5:\d+: controls\[0\]\.id/,
  ],
  ["an id without an edition", BASE_PACK.replace("f-1:A", "A"), BASE_FRAGMENT, /controls\[0\]\.id/],
  ["a duplicate control", `${BASE_PACK}  - { id: 'f-1:A', title: B, citation: B }\n`, BASE_FRAGMENT, /is cited twice/],
  [
    "a rule's control that is not cited",
    BASE_PACK.replace("f-1:A", "f-1:Z"),
    BASE_FRAGMENT,
    /`no-cards` carries f-1:A/,
  ],
  [
    "an invalid mechanism",
    `${BASE_PACK}mechanisms: [{ control: 'f-1:A', mechanism: luck, note: n }]\n`,
    "{}",
    /mechanism/,
  ],
  ["a key of the deployment that packs do not bring", BASE_PACK, "public_url: https://a.example\n", /public_url/],
  [
    "a duplicate object",
    BASE_PACK,
    `${BASE_FRAGMENT}  - { name: no-shell, condition: 'true', action: deny }\n`,
    /another access rule/,
  ],
  ["a reference", BASE_PACK, "access_rules: [{ name: a, condition: '$" + "{X}', action: deny }]", /reference/],
  [
    "two attachments to one rule",
    `${BASE_PACK}builds_on: [x]\nattaches:\n${"  - { pack: x, rule: r, controls: ['f-1:A'] }\n".repeat(2)}`,
    BASE_FRAGMENT,
    /attaches\[1\]\.rule: another entry/,
  ],
  ["an empty fragment", BASE_PACK, "", /write `\{\}`/],
];

for (const [name, pack, fragment, problem] of READ) {
  test(`a pack with ${name} is refused`, () => {
    const read = readPack(filesOf(pack, fragment));
    assert.ok(read.kind === "refused");
    assert.match(read.problems.join("\n"), problem);
  });
}

test("a pack is checked against the packs it builds on", () => {
  assert.deepEqual(checkPack(BASE, baseOf), []);
  assert.deepEqual(checkPack(UPPER, baseOf), []);
  assert.match(checkPack(UPPER, () => undefined).join("\n"), /there is no pack `base`/);
  const head =
    "id: own\nversion: 1.0.0\ntitle: Own\nbuilds_on: [base]\ncontrols: [{ id: 'g:B', title: B, citation: B }]\n";
  const check = (more: string, fragment: string): string => checkPack(packOf(head + more, fragment), baseOf).join("\n");
  assert.match(
    check("attaches: [{ pack: base, rule: none, controls: ['g:B'] }]\n", "{}"),
    /the pack `base` has no rule `none`/,
  );
  const requires = "guardrails: { rules: [{ name: r, action: deny, requires: [nobody] }] }";
  assert.match(check("", requires), /requires `nobody`, which is a detector of neither/);
  const taken = "access_rules: [{ name: no-shell, condition: 'true', action: deny }]";
  assert.match(check("", taken), /is one of the pack `base` already/);
});
