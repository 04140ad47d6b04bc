/** Outcomes of cases: by the gateway's rules, in its order, for each candidate. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { coverageOf } from "../../../src/cli/rule-suite/rule-coverage.ts";
import { coverageLine, judgementLine, summaryLine } from "../../../src/cli/rule-suite/suite-report.ts";
import { judged, rule, runSuite, subject } from "./subject.ts";

const line = (text: string, against = subject()): string => judgementLine(judged(text, against));

test("a request that no rule denies is allowed, and goes to the model's route, then through its failover", () => {
  assert.equal(
    line("request: { model: gpt-5 }\nexpect: allow"),
    "ok    s: it: allowed by no rule; sent to home, then abroad, then spare",
  );
  assert.equal(line("request: { model: claude-x }\nexpect: allow"), "ok    s: it: allowed by no rule; sent to claude");
});

test("a rule of the deployment denies with its message, whatever the profile", () => {
  const against = subject({
    access_rules: [rule("no-local", 'model == "local"', { message: "Not on this machine." })],
    profiles: [{ name: "staff", access_rules: [rule("all", "true", { action: "allow" })] }],
  });
  const text = "request: { model: local }\nexpect: deny\nby: no-local\nmessage: Not on this machine.";
  assert.equal(line(text, against), "ok    s: it: denied by no-local (deployment): Not on this machine.");
});

test("of two layers with a rule of the same name the profile identifies the intended one", () => {
  const against = subject({
    access_rules: [rule("limit", 'model == "local"')],
    profiles: [{ name: "staff", access_rules: [rule("limit", 'model == "gpt-5"')] }],
  });
  const asking = (by: string) => judged(`request: { model: gpt-5 }\nexpect: deny\nby: ${by}`, against).passes;
  assert.equal(asking("limit"), true);
  assert.equal(asking("{ rule: limit, profile: staff }"), true);
  assert.equal(asking("{ rule: limit }"), false);
});

test("an allow may come from either layer", () => {
  const against = subject({
    access_rules: [rule("mine", 'key.metadata.team == "a"', { action: "allow" })],
    profiles: [{ name: "staff", access_rules: [rule("theirs", "true", { action: "allow" })] }],
  });
  for (const by of ["mine", "theirs"]) {
    assert.equal(
      line(`request: { model: claude-x }\nexpect: allow\nby: ${by}`, against),
      "ok    s: it: allowed by mine (deployment) and theirs (profile staff); sent to claude",
    );
  }
});

test("the model list denies after the rules, and is named as `allowed_models`", () => {
  const against = subject({
    access_rules: [rule("no-local", 'model == "local"')],
    profiles: [{ name: "staff", allowed_models: ["gpt-5"] }],
  });
  assert.equal(
    line("request: { model: gpt-4 }\nexpect: deny\nby: allowed_models", against),
    "ok    s: it: denied by allowed_models (profile staff)",
  );
  assert.equal(judged("request: { model: gpt-5 }\nexpect: allow", against).passes, true);
  assert.equal(judged("request: { model: local }\nexpect: deny\nby: no-local", against).passes, true);
  assert.equal(judged("request: { model: local }\nexpect: deny\nby: allowed_models", against).passes, false);
  assert.equal(judged("request: { model: gpt-4 }\nexpect: deny\nmessage: no", against).passes, false);
});

test("each failover candidate is judged separately, and a refused one is skipped", () => {
  const against = subject({ access_rules: [rule("stay", 'provider.metadata.region == "us"')] });
  assert.equal(
    line("request: { model: gpt-5 }\nexpect: allow\nreaches: [home, spare]", against),
    "ok    s: it: allowed by no rule; sent to home, then spare; not sent to abroad, denied by stay (deployment): denied by rule stay",
  );
  const wrong = line("request: { model: gpt-5 }\nexpect: allow\nreaches: [home, abroad, spare]", against);
  assert.match(wrong, /^fail {2}s: it: suite\.yaml:3:5: expected allow reaching home, then abroad, then spare; /);
  assert.equal(judged("request: { model: gpt-5, provider: abroad }\nexpect: deny\nby: stay", against).passes, true);
});

test("a failing condition is an error, unless the rule is skipped for it", () => {
  const missing = 'key.metadata.cost_centre == "1"';
  const closed = subject({ access_rules: [rule("centre", missing)] });
  assert.match(
    line("request: { model: gpt-5 }\nexpect: error\nby: centre", closed),
    /^ok {4}s: it: refused by an error of centre \(deployment\): .+/,
  );
  assert.equal(judged("request: { model: gpt-5 }\nexpect: deny", closed).passes, false);
  const open = subject({ access_rules: [rule("centre", missing, { on_error: "fail_open" })] });
  assert.equal(judged("request: { model: gpt-5 }\nexpect: allow", open).passes, true);
  assert.equal(
    coverageOf([judged("request: { model: gpt-5 }\nexpect: allow", open)], open.governance.policies, []).undecided
      .length,
    1,
  );
});

test("a model without a provider fails, whatever is expected", () => {
  for (const expect of ["allow", "deny", "error"]) {
    assert.equal(
      line(`request: { model: nowhere }\nexpect: ${expect}`),
      `fail  s: it: suite.yaml:3:5: expected ${expect}; no provider serves it`,
    );
  }
});

test("rules see the caller as in the gateway", () => {
  const isAllowed = (caller: string, condition: string): boolean => {
    const against = subject({ access_rules: [rule("r", condition, { action: "allow" })] });
    return judged(`caller: ${caller}\nrequest: { model: gpt-5 }\nexpect: allow\nby: r`, against).passes;
  };
  const user = "{ user: { issuer: corp, subject: u1, email: a@b.c }, agent: { subject: app } }";
  assert.ok(isAllowed(user, 'user.name == "a@b.c" && user.subject == "u1" && user.issuer == "corp"'));
  assert.ok(isAllowed(user, 'agent.name == "app" && agent.issuer == "corp" && key.name == ""'));
  assert.ok(isAllowed("{ user: { issuer: corp, subject: u1 } }", 'user.name == "u1" && agent.subject == ""'));
  assert.ok(isAllowed("{ agent: { issuer: mesh, subject: w1, name: w } }", 'agent.name == "w" && user.subject == ""'));
  assert.ok(isAllowed("{ key: { name: k, metadata: { team: 7 } } }", 'key.metadata.team == "7"'));
  assert.ok(!isAllowed("{ key: { name: k } }", 'key.name == "another"'));
});

test("the profile of a token is the one its claims select, else its issuer's", () => {
  const against = subject({ profiles: [{ name: "research", access_rules: [rule("lab", "true")] }] });
  const asking = (claims: string): boolean =>
    judged(
      `caller: { user: { issuer: corp, subject: u }${claims} }\nrequest: { model: gpt-5 }\nexpect: deny\nby: lab`,
      // A rule missing in a profile is an error, so each expects a denial by any rule.
      against,
    ).passes;
  assert.equal(asking(", claims: { groups: [others, lab] }"), true);
  assert.equal(asking(", claims: { groups: lab }"), true);
  assert.equal(asking(", profile: research"), true);
  for (const claims of ["", ", claims: { groups: [others] }", ", claims: { roles: lab }"]) {
    const text = `caller: { user: { issuer: corp, subject: u }${claims} }\nrequest: { model: gpt-5 }\nexpect: allow`;
    assert.equal(judged(text, against).passes, true, claims);
  }
});

test("requests to MCP servers and agents are judged by the rules of their traffic types", () => {
  const against = subject({
    access_rules: [
      rule("no-delete", 'method == "tools/call" && name == "delete" && args.force == true', { at: ["mcp"] }),
      rule("no-files", 'parts.exists(p, p.kind == "file")', { at: ["a2a"] }),
    ],
  });
  const passes = (text: string): boolean => judged(text, against).passes;
  const call = "server: repo, method: tools/call, name: delete";
  assert.ok(passes(`request: { ${call}, args: { force: true } }\nexpect: deny\nby: no-delete`));
  assert.ok(passes(`request: { ${call}, args: { force: false } }\nexpect: allow`));
  assert.ok(passes(`request: { ${call} }\nexpect: error\nby: no-delete`));
  const send = "peer: travel, method: SendMessage, role: ROLE_USER";
  assert.ok(passes(`request: { ${send}, parts: [{ kind: text }, { kind: file, url: "https://x" }] }\nexpect: deny`));
  assert.ok(passes(`request: { ${send}, parts: [{ kind: text }] }\nexpect: allow`));
});

test("a request without a model goes to the default provider under its route", () => {
  const against = subject({ access_rules: [rule("no-files", 'route == "files"')] });
  const modelless = against.route("claude-x");
  assert.ok(modelless !== undefined);
  const passes = (text: string): boolean => judged(text, { ...against, modelless }).passes;
  assert.ok(passes("request: { route: files }\nexpect: deny\nby: no-files"));
  assert.ok(passes("request: { route: models }\nexpect: allow\nreaches: [claude]"));
});

test("without `auth` a case has no caller, and with it each case has one", () => {
  const against = subject({ auth: undefined });
  const text = "suite: s\ncases: [{ name: a, request: { model: gpt-5 }, expect: allow }]";
  assert.equal(runSuite(text, against).judgements[0]?.passes, true);
  assert.match(runSuite(text, subject()).mistakes[0] ?? "", /^2:9: cases\[0\]: `caller` is missing, /);
});

test("the summary and the coverage name failed cases and rules that never decided", () => {
  const against = subject({
    access_rules: [rule("a", 'model == "local"')],
    profiles: [{ name: "staff", access_rules: [rule("b", 'model == "gpt-5"')] }],
  });
  const { judgements, mistakes } = runSuite(
    `suite: s
callers: { k: { key: { name: k }, profile: staff } }
cases:
  - { name: one, caller: k, request: { model: local }, expect: deny }
  - { name: two, caller: k, request: { model: gpt-4 }, expect: deny }
`,
    against,
  );
  assert.deepEqual(mistakes, []);
  assert.equal(summaryLine(judgements), "2 cases: 1 passes, 1 fails");
  const coverage = coverageOf(judgements, against.governance.policies, []);
  assert.equal(coverageLine(coverage), "rules without a case: b (profile staff)");
  assert.equal(coverageLine({ rules: 2, undecided: [] }), "all 2 rules have a case");
});
