import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  composeDeployment,
  formatProblem,
  readDeployment,
  readNodeFile,
  readOverlay,
} from "../../../../src/server/core/config/index.ts";
import { CANARY, lines, references } from "./samples.ts";

const DEPLOYMENT = `version: 1
providers:
  - name: main
    preset: openai
    api_key: \${secret:KEY}
    models: [gpt-*]
    retry: {attempts: 2, when: [connect, "429"]}
  - name: own
    dialect: compat
    base_url: http://10.0.0.1:8000/v1
    api_key: \${KEY}
    models: ["own/*"]
    stream_usage: false
default_provider: main
`;

const NODE = `listen: :1
cluster:
  node_id: a
  data_dir: /d
  secret: \${secret:KEY}
  peers: [{id: a, raft_addr: 'a:1'}]
`;

test("a deployment is read, and a literal credential in it causes a warning", () => {
  assert.deepEqual(lines(readDeployment({ name: "d", text: DEPLOYMENT }, references)), []);
  const { document, problems } = readDeployment(
    { name: "d", text: `providers: [{preset: openai, api_key: ${CANARY}, models: ['*']}]\n` },
    references,
  );
  assert.equal(document?.providers[0]?.api_key, CANARY);
  assert.deepEqual(problems.map(formatProblem), [
    "d:1:39: providers[0].api_key: warning: a credential is written out in a document that travels through the cluster; use `${VAR}` or `${secret:NAME}`",
  ]);
});

test("a node-file key in the deployment document is identified, and an empty document is not a deployment", () => {
  const read = (text: string) => lines(readDeployment({ name: "d", text }, references));
  assert.deepEqual(read("version: 1\nlisten: :80\n"), [
    "d:2:1: listen: `listen` is a node-file key and does not belong in the deployment document",
  ]);
  assert.deepEqual(read("# all gone\n"), [
    "d:1:1: the deployment document is empty; write `{}` for an empty deployment",
  ]);
});

test("a document that is given in place of the other causes one problem, which says what to type", () => {
  const isDeployment =
    "/etc/d.yaml:1:1: this is a deployment document, not a node file; `-config` takes a node file that names it (`deployment: d.yaml`). `gateway config diff FILE` compares it with what a gateway runs, `gateway config apply FILE` puts it in force";
  const isNodeFile =
    "n.yaml:1:1: this is a node file, not a deployment document; name the file that its `deployment` key names. `gateway check -config FILE` checks a node file";
  for (const text of [DEPLOYMENT, "providers: []\n", "version: 1\nprovider: []\n", "auth: ${secret:KEY}\n"])
    assert.deepEqual(lines(readNodeFile({ name: "/etc/d.yaml", text }, references)), [isDeployment], text);
  for (const text of [NODE, "listen: :80\n", "cluster: {}\nadmin: 1\nlisten_: :1\n"]) {
    assert.deepEqual(lines(readDeployment({ name: "n.yaml", text }, references)), [isNodeFile], text);
    assert.deepEqual(lines(composeDeployment([{ name: "n.yaml", text }], references)), [isNodeFile], text);
  }
});

test("an overlay file has one operation on the provider it is named after, and no references", () => {
  const read = (name: string, text: string) => lines(readOverlay({ name, text }));
  assert.deepEqual(read("/overlays/acme.yaml", "op: remove\nname: acme\n"), []);
  assert.deepEqual(read("/overlays/acme.yaml", "op: remove\nname: acne\n"), [
    '/overlays/acme.yaml:2:7: name: must equal the file\'s base name, which is "acme"',
  ]);
  assert.deepEqual(read("acme.yaml", "op: remove\nname: ${NAME}\n"), [
    "acme.yaml:2:7: name: `${NAME}` cannot be used in this document, in which no references are allowed",
  ]);
});

/** Removes, duplicates or replaces a piece of the text with something meaningful in YAML or here. */
const mutation = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.nat({ max: 12 }),
  insert: fc.oneof(
    fc.constantFrom(
      "",
      "\n",
      "  ",
      "\t",
      ": ",
      "- ",
      "[",
      "]",
      "{",
      "}",
      '"',
      "&a ",
      "*a",
      "${",
      "${KEY}",
      "${secret:KEY}",
      "null",
      "-1",
      "auth: ",
    ),
    fc.string({ maxLength: 4 }),
  ),
});

test("no mutation of a valid document makes reading throw or discloses a secret", () => {
  fc.assert(
    fc.property(fc.boolean(), fc.array(mutation, { minLength: 1, maxLength: 4 }), (isNode, mutations) => {
      let text = isNode ? NODE : DEPLOYMENT;
      for (const { at, length, insert } of mutations) {
        const start = Math.floor(at * text.length);
        text = text.slice(0, start) + insert + text.slice(start + length);
      }
      const { document, problems } = (isNode ? readNodeFile : readDeployment)({ name: "d", text }, references);
      assert.equal(
        document === undefined,
        problems.some(({ severity }) => severity === "error"),
      );
      assert.ok(!problems.map(formatProblem).join("\n").includes(CANARY));
    }),
    { numRuns: 1500 },
  );
});
