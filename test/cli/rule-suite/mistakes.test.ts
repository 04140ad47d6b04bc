/** Invalid suites: each error has its line and column, and no case is judged. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { AUTH, rule, runSuite, subject } from "./subject.ts";

const against = subject(
  {
    access_rules: [rule("no-local", 'model == "local"')],
    profiles: [
      { name: "staff", access_rules: [rule("small", 'model == "gpt-5"')] },
      { name: "research", allowed_models: ["gpt-5"] },
    ],
  },
  { servers: ["repo"], peers: ["travel"] },
);

/** A suite of one case with changed keys, at known lines. */
function suiteOf(changes: Readonly<Record<string, string>>): string {
  const lines = { caller: "k", request: "{ model: gpt-5 }", expect: "deny", ...changes };
  const own = Object.entries(lines).map(([key, value]) => `    ${key}: ${value}`);
  return ["suite: s", "callers:", "  k: { key: { name: k }, profile: staff }", "cases:", "  - name: it", ...own].join(
    "\n",
  );
}

const CASES: readonly (readonly [changes: Readonly<Record<string, string>>, mistake: RegExp])[] = [
  [{ expects: "deny" }, /^9:5: cases\[0\]\.expects: unknown key "expects"/],
  [{ expect: "denied" }, /^8:13: cases\[0\]\.expect: expected `allow`, `redact`, `deny` or `error`, found "denied"$/],
  [{ caller: "q" }, /^6:13: cases\[0\]\.caller: there is no such caller in `callers`$/],
  [{ caller: "{}" }, /^6:13: cases\[0\]\.caller: a caller is a `key`, an `agent` or a `user`$/],
  [{ caller: "[k]" }, /^6:13: cases\[0\]\.caller: expected a text or an object, found a list$/],
  [{ caller: "{ key: { name: k }, user: { issuer: corp, subject: u } }" }, /^6:\d+: .*`key` and `user` exclude/],
  [
    { caller: "{ key: { name: k }, profile: stuff }" },
    /^6:\d+: cases\[0\]\.caller\.profile: there is no profile `stuff`$/,
  ],
  [{ caller: "{ agent: { subject: a } }" }, /^6:22: cases\[0\]\.caller\.agent: the required key `issuer` is missing$/],
  [{ caller: "{ agent: { issuer: corp, subject: a } }" }, /agent: `auth` treats the subjects of this issuer as users$/],
  [
    { caller: "{ user: { issuer: corp, subject: a }, audience: other }" },
    /caller\.audience: `auth\.issuers` has this issuer with no such audience$/,
  ],
  [{ caller: "{ user: { issuer: mash, subject: a } }" }, /user\.issuer: is not an issuer of `auth\.issuers`$/],
  [
    { caller: "{ user: { issuer: corp, subject: a }, agent: { issuer: mesh, subject: b } }" },
    /agent\.issuer: is not the issuer of the user/,
  ],
  [{ request: "{}" }, /^7:14: cases\[0\]\.request: names neither `model`, `server` nor `peer`/],
  [{ request: "{ provider: home }" }, /request: names neither/],
  [
    { request: "{ model: m, server: repo, method: x }" },
    /^7:\d+: .*request\.model: does not belong to a request to an MCP server/,
  ],
  [
    { request: "{ model: m, method: x }" },
    /request\.method: does not belong to a request to a model, which has model, provider, route$/,
  ],
  [{ request: "{ server: repo }" }, /request: the required key `method` is missing$/],
  [{ request: "{ server: repos, method: x }" }, /request\.server: there is no such MCP server; did you mean `repo`\?$/],
  [{ request: "{ peer: x, method: x }" }, /request\.peer: there is no such agent$/],
  [{ request: "{ model: m, provider: hme }" }, /request\.provider: there is no such provider; did you mean `home`\?$/],
  [
    { request: "{ model: m, route: embedings }" },
    /request\.route: there is no such route; did you mean `embeddings`\?$/,
  ],
  [{ request: "{ model: '$" + "{HOME}' }" }, /^7:\d+: cases\[0\]\.request\.model: /],
  [{ by: "smal" }, /^9:9: cases\[0\]\.by: no such rule applies to profile staff; did you mean `small`\?$/],
  [{ by: "{ rule: small }" }, /by: no such rule \(deployment\) applies to profile staff$/],
  [{ by: "{ rule: no-local, profile: staff }" }, /by: no such rule \(profile staff\) applies to profile staff$/],
  [{ by: "allowed_models" }, /by: profile staff has no `allowed_models`/],
  [{ expect: "allow", message: "x" }, /message: only a request that a rule denies has a message$/],
  [{ reaches: "[home]" }, /reaches: `reaches` is only possible for an allowed request to a model$/],
  [
    { expect: "allow", request: "{ model: m, provider: home }", reaches: "[home]" },
    /reaches: `request` already names the provider/,
  ],
  [
    { expect: "allow", reaches: "[hom]" },
    /^9:15: cases\[0\]\.reaches\[0\]: there is no such provider; did you mean `home`\?$/,
  ],
];

for (const [changes, mistake] of CASES) {
  test(`${JSON.stringify(changes)} is an error`, () => {
    const { mistakes, judgements } = runSuite(suiteOf(changes), against);
    assert.equal(mistakes.length, 1, mistakes.join("\n"));
    assert.match(mistakes[0] ?? "", mistake);
    assert.deepEqual(judgements, []);
  });
}

test("a suite without the change has no error", () => {
  assert.deepEqual(runSuite(suiteOf({}), against).mistakes, []);
});

test("a suite without cases and one without text are errors", () => {
  assert.match(
    runSuite("suite: s\ncases: []", against).mistakes.join(),
    /^2:8: cases: expected at least 1 item, found 0$/,
  );
  assert.match(runSuite("suite: s", against).mistakes.join(), /the required key `cases` is missing$/);
  assert.match(runSuite("# nothing\n", against).mistakes.join(), /the suite is empty/);
});

test("two cases with the same name are an error of the second", () => {
  const one = "{ name: a, caller: { key: { name: k } }, request: { model: m }, expect: deny }";
  assert.deepEqual(runSuite(`suite: s\ncases:\n  - ${one}\n  - ${one}\n`, against).mistakes, [
    "4:13: cases[1].name: two cases have this name, the first is entry 1 of this list",
  ]);
});

test("a caller that cannot exist at the gateway is an error at its definition, used or not", () => {
  const closed = subject({ auth: { ...AUTH, virtual_keys: false } });
  assert.deepEqual(runSuite(suiteOf({}), closed).mistakes, ["3:13: callers.k.key: `auth` accepts no `virtual_keys`"]);
});

test("no text makes the parser throw, and an accepted suite has cases", () => {
  const word = fc.constantFrom(
    "suite",
    "cases",
    "name",
    "caller",
    "request",
    "expect",
    "by",
    "model",
    "key",
    "allow",
    "s",
  );
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      word,
      fc.integer(),
      fc.constant(null),
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(word, tie("tree"), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(tree, (value) => {
      const { mistakes, judgements } = runSuite(JSON.stringify(value), against);
      assert.ok(mistakes.length > 0 || judgements.length > 0);
    }),
  );
});
