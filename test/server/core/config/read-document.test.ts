import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatProblem } from "../../../../src/server/core/config/index.ts";
import { CANARY, lines, read, sample } from "./samples.ts";

const KEYS = Object.keys(sample.json["properties"] as object).join(", ");

/** A document, then every problem line exactly, in order. */
const BAD: Readonly<Record<string, readonly [string, readonly string[]]>> = {
  "an empty text": ["", ["f:1:1: the document is empty"]],
  "only comments": ["# nothing\n", ["f:1:1: the document is empty"]],
  "a list in place of an object": ["- a\n", ["f:1:1: expected an object, found a list"]],
  "a text in place of an object": [CANARY, ["f:1:1: expected an object, found a text"]],
  "a missing key": ["color: red\n", ["f:1:1: the required key `name` is missing"]],
  "a typo, which is not also reported as a missing key": [
    "nmae: x\n",
    [`f:1:1: nmae: unknown key "nmae", did you mean \`name\`? allowed: ${KEYS}`],
  ],
  "a key that resembles no known one": [
    "name: x\nzzzzzzzz: 1\n",
    [`f:2:1: zzzzzzzz: unknown key "zzzzzzzz"; allowed: ${KEYS}`],
  ],
  "a key that needs quotes in a path": [
    'name: x\nrules: {"a b": 1, c: x}\n',
    ['f:2:9: rules["a b"]: unknown key "a b"; allowed: a, b, c, d, e, f'],
  ],
  "values of other types": [
    'name: true\nport: "5"\non: yes\ntags: a\nrules: []\nratio:\n',
    [
      "f:1:7: name: expected a text, found a boolean; write it in quotes",
      'f:2:7: port: expected an integer, found "5"',
      'f:3:5: on: expected `true` or `false`, found "yes"',
      "f:4:7: tags: expected a list, found a text",
      "f:5:8: rules: expected an object, found a list",
      "f:6:7: ratio: expected a number, found nothing",
    ],
  ],
  "values out of range": [
    "name: morethan8\nport: 12\nratio: 0\ncolor: gren\ntags: []\n",
    [
      "f:1:7: name: must have at most 8 characters",
      "f:2:7: port: expected at least 1 and at most 9, found 12",
      "f:3:8: ratio: expected more than 0 and at most 1, found 0",
      'f:4:8: color: expected `red` or `green`, found "gren"; did you mean `green`?',
      "f:5:7: tags: expected at least 1 item, found 0",
    ],
  ],
  "texts of the wrong form": [
    "name: x\nwait: 5x\nat: nowhere\nroot: ftp://x\nday: 2026-02-30\ncode: A1\n",
    [
      'f:2:7: wait: expected a duration such as `250ms` or `1h30m`, found "5x"',
      'f:3:5: at: expected an address such as `127.0.0.1:8484` or `:8484`, found "nowhere"',
      'f:4:7: root: expected an absolute `http://` or `https://` URL without a user in it, found "ftp://x"',
      'f:5:6: day: expected a date such as `2026-01-31`, found "2026-02-30"',
      'f:6:7: code: expected a text such as "abc" that matches `^[a-z]+$`, found "A1"',
    ],
  ],
  "a URL with a password": [
    `name: x\nroot: https://me:${CANARY}@host/\n`,
    [
      "f:2:7: root: expected an absolute `http://` or `https://` URL without a user in it, found a URL with a user in it",
    ],
  ],
  "a credential of the wrong form": [
    `name: x\nkey: ${CANARY.toUpperCase()}\n`,
    ["f:2:6: key: expected a text that matches `^[a-z0-9-]+$`, found a value that is not shown"],
  ],
  "a negative duration": [
    "name: x\nwait: -5s\n",
    ['f:2:7: wait: expected a duration such as `250ms` or `1h30m`, found "-5s"'],
  ],
  "a duplicate item": ["name: x\ntags: [a, b, a]\n", ["f:2:14: tags[2]: is the same as item 0"]],
  "broken rules between keys": [
    "name: x\nrules:\n  a: 1st\n  b: 2nd\n  e: x\n",
    [
      "f:3:3: rules: exactly one of `c` and `d` is required, found none",
      "f:3:3: rules: `e` needs `f` beside it",
      "f:4:3: rules.b: `a` and `b` exclude each other; keep one",
    ],
  ],
  "two keys of which one is allowed": [
    "name: x\nrules: {d: x, c: y}\n",
    ["f:2:15: rules.c: exactly one of `c` and `d` is allowed, found `c` and `d`"],
  ],
  "a key that this version lacks, with problems inside it": [
    "name: x\nlater:\n  siz: 1\n  deeper: x\nlater_default: y\n",
    [
      "f:2:1: later: not supported by this version: later",
      'f:3:3: later.siz: unknown key "siz", did you mean `size`? allowed: size, deeper',
      "f:5:1: later_default: not supported by this version: later_default",
    ],
  ],
  "a broken line, reported alone": [
    "name: [a\ncolor: 1\n",
    ["f:2:1: not valid YAML: a closing `]` or `}` is missing, or the text before it is not indented"],
  ],
  "a key that is indented neither as its item nor as another": [
    "name: x\ntags:\n  - a: 1\n    b: 2\n   c: 3\n",
    ["f:5:1: not valid YAML: wrong indentation: this is neither within the item above nor one of its own (`- `)"],
  ],
  "keys of one object in two columns": [
    "rules:\n  a: x\n c: y\n",
    ["f:3:1: not valid YAML: wrong indentation: entries of one list or object must begin in the same column"],
  ],
  "an unquoted reference inside braces": [
    "rules: { a: ${secret:NAME} }\n",
    [
      'f:1:14: not valid YAML: within `{ }` and `[ ]` a text with a brace in it must stand in quotes, such as "${secret:NAME}"',
    ],
  ],
  "a text with a colon in it": [
    "name: Stop: not now\n",
    ["f:1:7: not valid YAML: there is a second `: ` on this line; quote a text that contains one"],
  ],
  "a quote that is not closed": [`name: "${CANARY}\n`, ['f:2:1: not valid YAML: a closing `"` is missing']],
  "an unknown escape": [
    `name: "\\q${CANARY}"\n`,
    [
      "f:1:8: not valid YAML: a double-quoted text contains an escape that YAML does not know; write `\\\\` for a backslash",
    ],
  ],
  "tabs, reported for each line": [
    "rules:\n\ta: x\ntags:\n\t- x\n",
    [
      "f:2:1: not valid YAML: a tab cannot indent; use spaces",
      "f:4:1: not valid YAML: a tab cannot indent; use spaces",
    ],
  ],
  "NUL characters behind a text, as a crash leaves them": [
    "name: x\n\0\0\0",
    [
      "f:2:1: not valid YAML: a NUL character, as a crash while writing or another encoding leaves it; write the file again as UTF-8",
    ],
  ],
  "UTF-16 without a mark": [
    "\0n\0a\0m\0e",
    [
      "f:1:1: not valid YAML: a NUL character, as a crash while writing or another encoding leaves it; write the file again as UTF-8",
    ],
  ],
  "an indentation of no-break spaces": [
    "name: x\nrules:\n\u00a0\u00a0a: x\n  b: y\n",
    ["f:3:6: not valid YAML: the line is indented with U+00A0, which is not a space; use spaces"],
  ],
  "a key with an invisible character": [
    "\u200bname: x\n",
    [`f:1:1: ["\\u200bname"]: unknown key "\\u200bname", did you mean \`name\`? allowed: ${KEYS}`],
  ],
  "a duplicate key and another problem": [
    "name: x\nport: 99\nname: y\n",
    [
      "f:2:7: port: expected at least 1 and at most 9, found 99",
      'f:3:1: name: the key "name" appears here a second time',
    ],
  ],
  "a second document": [
    "name: x\n---\nname: y\n",
    ["f:2:1: a second YAML document begins here; a file must contain only one"],
  ],
  "an alias without an anchor": ["name: *n\n", ["f:1:7: name: this alias names no anchor before it"]],
  "a merge key": ["name: x\n<<: {port: 1}\n", ["f:2:1: YAML merge keys (`<<`) are not supported"]],
  "a tag": ["name: !env X\n", ["f:1:12: name: YAML tags are not supported"]],
  "a YAML tag outside the core schema": ["name: !!binary aGk=\n", ["f:1:16: name: YAML tags are not supported"]],
  "a directive": ["%YAML 1.1\n---\nname: x\n", ["f:1:1: YAML directives (`%`) are not supported; remove the line"]],
  "a key that is not text": ["name: x\n? [a]\n: 1\n", ["f:2:3: a key must be a plain text"]],
  "a key that would change prototypes": ["name: x\nraw: {__proto__: 1}\n", ["f:2:7: raw: `__proto__` cannot be a key"]],
  "numbers that cannot be kept": [
    "name: x\nraw: [.inf, 9007199254740993]\n",
    [
      "f:2:6: raw: expected an object, found a list",
      "f:2:7: raw[0]: a number must be finite",
      "f:2:13: raw[1]: an integer above 2^53 cannot be represented exactly",
    ],
  ],
};

for (const [what, [text, expected]] of Object.entries(BAD)) {
  test(`${what} is reported with its problem`, () => {
    const result = read(sample, text);
    assert.deepEqual(lines(result), expected);
    assert.equal(result.document, undefined);
  });
}

test("a document in YAML or JSON is typed, complete and has its defaults", () => {
  const expected = { name: "x", inner: { size: 3 }, raw: { n: [1, null, { t: true }] }, color: "red", wait: "5s" };
  for (const text of [
    "name: x\ninner: {}\nraw:\n  n: [1, null, {t: true}]\n",
    '{\n\t"name": "x", "inner": {},\n\t"raw": {"n": [1, null, {"t": true}]}\n}',
    "\uFEFFname: x\r\ninner: {}\r\nraw:\r\n  n: [1, ~, {t: true}]\r\n",
  ]) {
    const { document, problems } = read(sample, text);
    assert.deepEqual(problems, []);
    assert.deepEqual({ ...document }, { ...expected, later_default: "x" });
  }
});

test("map keys are taken as written, whatever YAML would read them as", () => {
  const { document } = read(sample, "name: x\nraw: {200: a, true: b, 1.0: c, constructor: d}\n");
  assert.deepEqual(document?.raw, { "200": "a", true: "b", "1.0": "c", constructor: "d" });
});

test("a position can be looked up, and that of a missing key is its parent's", () => {
  const { locate, problem } = read(sample, "name: x\ntags:\n  - a\n  - b\n");
  assert.deepEqual(locate(["tags", 1]), { file: "f", line: 4, column: 5 });
  assert.deepEqual(locate(["tags", 7]), { file: "f", line: 3, column: 3 });
  assert.deepEqual(locate(["wait"]), { file: "f", line: 1, column: 1 });
  assert.equal(formatProblem(problem(["tags", 0], "is odd", "warning")), "f:3:5: tags[0]: warning: is odd");
});

test("checks see the document with its defaults and only the declared keys, and no document of another shape", () => {
  const checks = (document: { readonly wait: string }, problem: (path: string[], message: string) => never) => [
    problem(["wait"], `is ${document.wait}`),
  ];
  const run = (text: string) => lines(read(sample, text, { checks: checks as never }));
  assert.deepEqual(run("name: x\n"), ["f:1:1: wait: is 5s"]);
  assert.deepEqual(run("name: x\nlater_default: y\n"), [
    "f:1:1: wait: is 5s",
    "f:2:1: later_default: not supported by this version: later_default",
  ]);
  assert.equal(run("name: x\nport: 0\n").length, 1);
});

test("a document is returned with warnings and never with errors", () => {
  const warned = read(sample, "name: x\nkey: literal\n", { warnOfLiterals: true });
  assert.deepEqual(lines(warned), [
    "f:2:6: key: warning: a credential is written out in a document that travels through the cluster; use `${VAR}` or `${secret:NAME}`",
  ]);
  assert.equal(warned.document?.key, "literal");
  for (const foreign of ["$KEY", "$(cat key)", "'%KEY%'", "'{{ key }}'", "os.environ/KEY", "env.KEY"]) {
    assert.equal(
      lines(read(sample, `name: x\nkey: ${foreign}\n`, { warnOfLiterals: true })).at(-1),
      "f:2:6: key: warning: this text is sent as the credential itself; a variable is written `${VAR}`, a secret `${secret:NAME}`",
    );
  }
  assert.deepEqual(lines(read(sample, "name: x\nkey: literal\n")), []);
  assert.deepEqual(lines(read(sample, `name: x\ntoken: ${CANARY}\n`)), [
    "f:2:8: token: must be a reference such as `${secret:NAME}`, not the credential itself",
  ]);
});

test("the number of reported problems is limited", () => {
  const result = read(sample, `name: x\nrules:\n${Array.from({ length: 9000 }, (_, at) => `  k${at}: 1\n`).join("")}`);
  assert.equal(result.problems.length, 101);
  assert.match(lines(result).at(-1) ?? "", /^f:\d+:3: further problems are not shown$/);
  assert.equal(result.document, undefined);
});

test("a document that would need too much memory is refused beforehand", () => {
  const bomb = `k0: &k0 [x, x]\n${Array.from({ length: 40 }, (_, at) => `k${at + 1}: &k${at + 1} [*k${at}, *k${at}]\n`).join("")}`;
  const cases: readonly (readonly [string, RegExp])[] = [
    [`name: ${"x".repeat(4 * 1024 * 1024)}`, /^f:1:1: the document is longer than 4 MiB$/],
    [`raw: {a: ${"[".repeat(100_000)}`, /^f:1:\d+: nested deeper than 64 levels$/],
    ["- ".repeat(100_000), /^f:1:\d+: nested deeper than 64 levels$/],
    [`raw: {a: ${"[".repeat(80)}${"]".repeat(80)}}`, /nested deeper than 64 levels$/],
    [`raw: [${"1,".repeat(150_000)}]`, /^f:1:1: the document contains more than 100000 values$/],
    ["#\n".repeat(600_000), /the document is too large: it has more than 500000 tokens$/],
    [bomb, /more than 100000 values/],
  ];
  for (const [text, expected] of cases)
    assert.ok(
      lines(read(sample, text)).some((line) => expected.test(line)),
      `${expected}`,
    );
});

test("no text makes reading throw or its report unbounded", () => {
  const fragment = fc.constantFrom(
    ..."name: x|\n|  |- |: |{|}|[|]|,|\"|'|&a|*a|!t|# c|\t|---\n|...\n|%YAML|? |<<|${|$${|${KEY}|${secret:KEY}|raw|key: |later: |>|\\|\u0000|\ud800|null|1e999|__proto__: ".split(
      "|",
    ),
    "|",
  );
  const text = fc.oneof(
    fc.string({ maxLength: 200, unit: "binary" }),
    fc.array(fragment, { maxLength: 40 }).map((all) => all.join("")),
  );
  fc.assert(
    fc.property(text, (written) => {
      const { document, problems } = read(sample, written);
      assert.equal(
        document === undefined,
        problems.some(({ severity }) => severity === "error"),
      );
      for (const problem of problems) {
        assert.ok(problem.line >= 1 && problem.column >= 1 && problem.message.length < 2_000);
        assert.ok(!formatProblem(problem).includes(CANARY));
      }
    }),
    { numRuns: 1500 },
  );
});
