import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatProblem } from "../../../../../src/server/core/config/index.ts";
import { readDocument } from "../../../../../src/server/core/config/read-document.ts";
import { MAX_EXPANDED_LENGTH } from "../../../../../src/server/core/config/references/value-references.ts";
import { anything, list, map, mayBeSecret, object, text } from "../../../../../src/server/core/config/schema/schema.ts";
import { CANARY, lines, read, references, sample } from "../samples.ts";

const texts = map("Texts.", mayBeSecret(text("A text.")));

test("references are resolved wherever a text is, also inside it and at any depth", () => {
  const { document, problems } = read(
    map("Texts.", mayBeSecret(anything("Any value."))),
    [
      "env: ${NAME}",
      "secret: ${secret:KEY}",
      'file: "${file:pem}"',
      "within: a-${NAME}-${PORT}-z",
      "deep: [{x: '${NAME}'}]",
      "literal: $${NAME} and $NAME and {NAME}",
      "dollars: $$${NAME}",
    ].join("\n"),
  );
  assert.deepEqual(problems, []);
  assert.deepEqual(document, {
    env: "west",
    secret: CANARY,
    file: `${CANARY}\n`,
    within: "a-west-80-z",
    deep: [{ x: "west" }],
    literal: "${NAME} and $NAME and {NAME}",
    dollars: "$${NAME}",
  });
});

test("a resolved value is not searched for references", () => {
  const { document } = readDocument(
    texts,
    { name: "f", text: "a: ${A}" },
    { ...references, env: () => "${B} $${" },
    { fileAllowed: true },
  );
  assert.deepEqual(document, { a: "${B} $${" });
});

test("the requested names are reported, found or not", () => {
  const { used } = read(texts, "a: ${PORT}${NAME}\nb: ${NONE} ${secret:KEY}\nc: ${secret:none}\nd: ${file:none}\n");
  assert.deepEqual(used, { environment: ["NAME", "NONE", "PORT"], secrets: ["KEY", "none"], files: ["none"] });
});

const BAD: Readonly<Record<string, readonly [string, readonly string[]]>> = {
  "an unset variable": ["name: x\ntitle: ${NONE}\n", ["f:2:8: title: environment variable `NONE` is not set"]],
  "a missing secret": ["name: x\ntitle: ${secret:NONE}\n", ["f:2:8: title: `${secret:NONE}`: there is no such secret"]],
  "a missing file": ["name: x\ntitle: ${file:NONE}\n", ["f:2:8: title: `${file:NONE}`: there is no such file"]],
  "a path for a name": [
    "name: x\ntitle: ${secret:../KEY}\nkey: ${file:/etc/passwd}\ntoken: ${secret:..}\n",
    [
      "f:2:8: title: the name in `${secret:NAME}` is one file name, never a path",
      "f:3:6: key: the name in `${file:NAME}` is one file name, never a path",
      "f:4:8: token: the name in `${secret:NAME}` is one file name, never a path",
    ],
  ],
  "text that is not a reference": [
    `name: x\ncode: a\${${CANARY}}\nday: \${\n`,
    [2, 3].map(
      (line) =>
        `f:${line}:${line === 2 ? 7 : 6}: ${line === 2 ? "code" : "day"}: \`\${\` begins no reference here; a reference is \`\${VAR}\`, \`\${secret:NAME}\` or \`\${file:NAME}\`, and \`$\${\` is a literal \`\${\``,
    ),
  ],
  "a reference for a number or a flag": [
    "name: x\nport: ${PORT}\non: ${NAME}\nratio: ${NONE}\n",
    [
      "f:2:7: port: expected an integer, found the value of `${PORT}`; a reference is replaced by a text and cannot be used here",
      "f:3:5: on: expected `true` or `false`, found the value of `${NAME}`; a reference is replaced by a text and cannot be used here",
      "f:4:8: ratio: environment variable `NONE` is not set",
      "f:4:8: ratio: expected a number, found a reference; a reference is replaced by a text and cannot be used here",
    ],
  ],
  "an invalid value, reported by its reference and not by the value": [
    "name: x\ntitle: ${KEY}\ncolor: a${KEY}b${NAME}\nat: ${KEY}\nkey: A${file:pem}\ntags: ${KEY}\n",
    [
      "f:2:8: title: must have at most 8 characters",
      "f:3:8: color: expected `red` or `green`, found the value of `${KEY}` and `${NAME}`",
      "f:4:5: at: expected an address such as `127.0.0.1:8484` or `:8484`, found the value of `${KEY}`",
      "f:5:6: key: expected a text that matches `^[a-z0-9-]+$`, found the value of `${file:pem}`",
      "f:6:7: tags: expected a list, found the value of `${KEY}`",
    ],
  ],
  "a secret or a file where neither is allowed": [
    "name: x\ncolor: ${secret:KEY}\nraw: {a: ['${file:pem}'], name: '${secret:KEY}'}\n",
    [
      "f:2:8: color: `${secret:KEY}` cannot be used here, only `${VAR}`",
      "f:3:11: raw.a[0]: `${file:pem}` cannot be used here, only `${VAR}`",
      "f:3:33: raw.name: `${secret:KEY}` cannot be used here, only `${VAR}`",
    ],
  ],
  "a name that is a reference": [
    "name: a${NAME}\n",
    ["f:1:7: name: `${NAME}` cannot be used here, since a name must be the same on every node"],
  ],
  "a key": ["name: x\nraw: {'${NAME}': 1}\n", ["f:2:7: raw: a reference is not allowed in a key"]],
};

for (const [what, [text, expected]] of Object.entries(BAD)) {
  test(`${what} is reported with its problem`, () => assert.deepEqual(lines(read(sample, text)), expected));
}

test("file references, or all references, are refused in documents that allow none", () => {
  assert.deepEqual(lines(read(texts, "a: ${file:pem}\nb: ${NAME}\n", { fileAllowed: false })), [
    "f:1:4: a: `${file:pem}` cannot be used in this document, only `${VAR}` and `${secret:NAME}`",
  ]);
  assert.deepEqual(lines(read(texts, "b: ${NAME}\n", { noneAllowed: true })), [
    "f:1:4: b: `${NAME}` cannot be used in this document, in which no references are allowed",
  ]);
});

test("a small document cannot expand a large value into a huge one", () => {
  const large = { ...references, env: () => "x".repeat(MAX_EXPANDED_LENGTH / 4) };
  const text = Array.from({ length: 50 }, (_, at) => `k${at}: \${A}\n`).join("");
  const { problems, document } = readDocument(texts, { name: "f", text }, large, { fileAllowed: true });
  assert.deepEqual(problems.map(formatProblem), [
    "f:5:5: k4: the document's references expand to more than 16 MiB of text",
  ]);
  assert.equal(document, undefined);
});

test("a value quoted by a check is replaced by its reference", () => {
  const result = read(texts, "a: x${secret:KEY}\n", {
    checks: (document, problem) => [problem(["a"], `${JSON.stringify(document["a"])} is odd`)],
  });
  assert.deepEqual(lines(result), ['f:1:4: a: "x${secret:KEY}" is odd']);
  assert.equal(formatProblem(result.problem(["a"], `again ${CANARY}`)), "f:1:4: a: again ${secret:KEY}");
});

test("the written text is kept beside each value, including defaults", () => {
  const { document, asWritten } = read(
    sample,
    "name: x\ntitle: a${NAME}\nkey: ${secret:KEY}\nraw: {a: [b, '${PORT}', '$${c']}\nrules: {c: x}\n",
  );
  assert.equal(document?.key, CANARY);
  assert.deepEqual(asWritten, {
    ...document,
    title: "a${NAME}",
    key: "${secret:KEY}",
    raw: { a: ["b", "${PORT}", "${c"] },
  });
  const plain = read(sample, "name: x\n");
  assert.deepEqual(plain.asWritten, plain.document);
  assert.equal(read(sample, "name: 1\ncolor: x\n").asWritten, undefined);
});

test("a secret at a place that allows none is not even looked up", () => {
  const names: string[] = [];
  const ask = (name: string) => {
    names.push(name);
    return { kind: "value", value: CANARY } as const;
  };
  const named = object("A thing.", { name: text("A name."), tags: list("Tags.", text("A tag.")) });
  const source = { name: "f", text: "name: '${secret:A}${B}'\ntags: ['${file:C}']\n" };
  const env = (name: string) => ask(name).value;
  const { used } = readDocument(named, source, { env, secret: ask, file: ask }, { fileAllowed: true });
  assert.deepEqual([names, used], [[], { environment: [], secrets: [], files: [] }]);
});

test("no part of a value appears in messages about its text, not even a truncated end", () => {
  const value = 'alpha/beta+gamma "delta"'.padEnd(120, "x");
  const problemsOf = (written: string, say: (value: string) => string) =>
    lines(
      readDocument(
        texts,
        { name: "f", text: `a: '${written}'` },
        { ...references, env: () => value },
        {
          fileAllowed: true,
          checks: (document, problem) => [problem(["a"], say(String(document["a"])))],
        },
      ),
    );
  assert.deepEqual(
    problemsOf("x == ${KEY}", () => 'no `beta`, no "delta\\"x", no `x`, no `nothing`'),
    ["f:1:4: a: no `${KEY}`, no `${KEY}`, no `x`, no `nothing`"],
  );
  assert.deepEqual(
    problemsOf("prefix-${KEY}", (text) => `no ${JSON.stringify(`${text.slice(0, 80)}…`)}`),
    ['f:1:4: a: no "prefix-${KEY}…"'],
  );
});

test("a secret appears in no problem, wherever its reference is and whatever is wrong there", () => {
  const key = fc.constantFrom(...Object.keys(sample.json["properties"] as object), "nmae", "rules.a");
  const value = fc.constantFrom(
    "${KEY}",
    "${secret:KEY}",
    "${file:pem}",
    "a ${KEY}",
    "[${KEY}]",
    "['${KEY}']",
    "{a: '${KEY}'}",
    "!x ${KEY}",
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(key, value), { maxLength: 6 }), (pairs) => {
      const output = lines(read(sample, pairs.map(([name, written]) => `${name}: ${written}\n`).join(""))).join("\n");
      assert.ok(!output.includes(CANARY), output);
    }),
  );
});
