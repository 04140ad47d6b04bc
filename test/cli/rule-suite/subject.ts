/** A configuration for suites, compiled like by the gateway, and suites run on it. */

import assert from "node:assert/strict";
import { type Judgement, judgeCase } from "../../../src/cli/rule-suite/judge-case.ts";
import { readSuite } from "../../../src/cli/rule-suite/parse-suite.ts";
import { resolveCases } from "../../../src/cli/rule-suite/resolve-cases.ts";
import type { Subject } from "../../../src/cli/rule-suite/suite-subject.ts";
import { formatProblem, readDeployment } from "../../../src/server/core/config/index.ts";
import { compileDeployment, loadRules } from "../../../src/server/snapshot/index.ts";

const NOTHING = { kind: "problem", message: "no references here" } as const;
const REFERENCES = { env: () => undefined, secret: () => NOTHING, file: () => NOTHING };
const RULES = await loadRules(["access_rules"]);

const provider = (name: string, region: string, more: object = {}): object => ({
  name,
  dialect: "compat",
  base_url: "http://127.0.0.1:9/v1",
  api_key: "k",
  metadata: { region },
  ...more,
});

const PROVIDERS = [
  provider("home", "eu", { models: ["gpt-*", "local"], failover: { to: ["abroad", "spare"] } }),
  provider("abroad", "us"),
  provider("spare", "eu"),
  provider("claude", "us", { dialect: "messages", base_url: "http://127.0.0.1:9", models: ["claude-*"] }),
];

export const AUTH = {
  virtual_keys: true,
  issuers: [
    {
      issuer: "corp",
      audience: "models",
      subject: "user",
      profile: "staff",
      profiles: { claim: "groups", select: [{ value: "lab", profile: "research" }] },
    },
    { issuer: "mesh", audience: "models", subject: "agent" },
  ],
};

interface Rules {
  readonly access_rules?: readonly object[];
  readonly profiles?: readonly ({ readonly name: string } & Readonly<Record<string, unknown>>)[];
  readonly auth?: object | undefined;
}

/** A denying rule for models, unless `more` says otherwise. */
export const rule = (name: string, condition: string, more: object = {}): object => ({
  name,
  condition,
  at: ["llm"],
  action: "deny",
  ...more,
});

/** Two profiles, `staff` and `research`, always exist. */
export function subject({ profiles = [], ...document }: Rules = {}, over: Partial<Subject> = {}): Subject {
  const named = ["staff", "research"].map((name) => profiles.find((it) => it.name === name) ?? { name });
  const text = JSON.stringify({ auth: AUTH, ...document, providers: PROVIDERS, profiles: named });
  const deployment = readDeployment({ name: "deployment.yaml", text }, REFERENCES);
  const input = { deployment, fileOverlays: [], limitRev: 0, trusted: undefined, rules: RULES };
  const compiled = compileDeployment(input);
  assert.ok(compiled.kind === "compiled", compiled.problems.map(formatProblem).join("\n"));
  return { ...compiled.snapshot, servers: undefined, peers: undefined, ...over };
}

interface Ran {
  /** Printed form: `line:column: path: message`. */
  readonly mistakes: readonly string[];
  readonly judgements: readonly Judgement[];
}

/** `text` is the YAML of a suite. */
export function runSuite(text: string, against: Subject): Ran {
  const read = readSuite({ name: "suite.yaml", text });
  const found = read.problems.map(formatProblem);
  const resolved = read.document && resolveCases(read, read.document, against);
  const mistakes = [...found, ...(resolved?.mistakes ?? [])].map((line) => line.replace(/^suite\.yaml:/, ""));
  const cases = (resolved?.cases ?? []).flatMap((it) => (it.kind === "access" ? [it] : []));
  return { mistakes, judgements: cases.map(judgeCase) };
}

/** Judges one valid case, by default of a caller with a key of the profile `staff`. */
export function judged(text: string, against: Subject): Judgement {
  const caller = /^caller:/m.test(text) ? "" : "caller: { key: { name: k, metadata: { team: a } }, profile: staff }\n";
  const indented = `name: it\n${caller}${text.trim()}`.split("\n").join("\n    ");
  const { mistakes, judgements } = runSuite(`suite: s\ncases:\n  - ${indented}\n`, against);
  assert.deepEqual(mistakes, []);
  const [judgement] = judgements;
  assert.ok(judgement !== undefined && judgements.length === 1);
  return judgement;
}
