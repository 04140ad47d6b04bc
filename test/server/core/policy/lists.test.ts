/** Listed tools and servers, by the rules that can be decided before a call. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AccessRule } from "../../../../src/server/core/policy/index.ts";
import { mcpVariables } from "../../../../src/server/core/policy/variables/index.ts";
import { caller, policiesOf, rule } from "./rules.ts";

const BY_CALLER = 'key.name == "ci"';
const BY_OTHER_CALLER = 'key.name == "somebody else"';
const BY_SERVER = 'server == "tickets"';
const BY_TOOL = 'name == "delete"';
const BY_ARGUMENTS = 'has(args.force) && args.force == "yes"';
const FAILS = 'key.metadata.absent == "x"';

type Rule = readonly [action: AccessRule["action"], condition: string];

const CASES: readonly {
  readonly what: string;
  readonly deployment: readonly Rule[];
  readonly profile?: readonly Rule[];
  /** The tool `delete` is listed. */
  readonly lists: boolean;
  /** The server `tickets` is shown. */
  readonly reaches: boolean;
}[] = [
  { what: "no rule", deployment: [], lists: true, reaches: true },
  { what: "a denied caller", deployment: [["deny", BY_CALLER]], lists: false, reaches: false },
  { what: "another caller is denied", deployment: [["deny", BY_OTHER_CALLER]], lists: true, reaches: true },
  { what: "a denied server", deployment: [["deny", BY_SERVER]], lists: false, reaches: false },
  { what: "a denied tool", deployment: [["deny", BY_TOOL]], lists: false, reaches: true },
  { what: "denied arguments", deployment: [["deny", BY_ARGUMENTS]], lists: true, reaches: true },
  { what: "a failing rule", deployment: [["deny", FAILS]], lists: true, reaches: true },
  {
    what: "an allowed caller before a denial of all",
    deployment: [
      ["allow", BY_CALLER],
      ["deny", BY_SERVER],
    ],
    lists: true,
    reaches: true,
  },
  {
    what: "allowed arguments before a denial of all",
    deployment: [
      ["allow", BY_ARGUMENTS],
      ["deny", BY_SERVER],
    ],
    lists: true,
    reaches: true,
  },
  {
    what: "an allowed tool before a denial of all",
    deployment: [
      ["allow", BY_TOOL],
      ["deny", BY_SERVER],
    ],
    lists: true,
    reaches: true,
  },
  {
    what: "denied arguments before a denied caller",
    deployment: [
      ["deny", BY_ARGUMENTS],
      ["deny", BY_CALLER],
    ],
    lists: false,
    reaches: false,
  },
  {
    what: "allowed arguments after a denied caller",
    deployment: [
      ["deny", BY_CALLER],
      ["allow", BY_ARGUMENTS],
    ],
    lists: false,
    reaches: false,
  },
  {
    what: "a profile that denies what the deployment allows",
    deployment: [["allow", BY_ARGUMENTS]],
    profile: [["deny", BY_CALLER]],
    lists: false,
    reaches: false,
  },
  {
    what: "a profile that allows what the deployment denies",
    deployment: [["deny", BY_SERVER]],
    profile: [["allow", BY_ARGUMENTS]],
    lists: false,
    reaches: false,
  },
];

const rulesOf = (rules: readonly Rule[]): readonly AccessRule[] =>
  rules.map(([action, condition], at) => rule(condition, { name: `r${at}`, action, at: ["mcp"] }));

const CALL = mcpVariables(caller, { server: "tickets", method: "tools/call", name: "delete" });

for (const { what, deployment, profile = [], lists, reaches } of CASES) {
  test(`${what}: the tool is ${lists ? "" : "not "}listed, the server is ${reaches ? "" : "not "}shown`, () => {
    const access = policiesOf({
      access_rules: rulesOf(deployment),
      profiles: [{ name: "p", access_rules: rulesOf(profile) }],
    }).of("p");
    assert.deepEqual({ lists: access.mayListTool(CALL), reaches: access.mayReachServer(CALL) }, { lists, reaches });
  });
}
