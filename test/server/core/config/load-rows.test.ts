/** Load errors that operators have met, one table each. Source: design decisions, section 20. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  compareVersions,
  type References,
  readDeployment,
  readNodeFile,
  registryOwners,
} from "../../../../src/server/core/config/index.ts";
import { isIso7064 } from "../../../../src/server/core/guardrails/index.ts";

type Json = Readonly<Record<string, unknown>>;

const NONE: References = {
  env: () => "value",
  secret: () => ({ kind: "value", value: "value" }),
  file: () => ({ kind: "value", value: "value" }),
};
const readText = (text: string) => readDeployment({ name: "d.yaml", text }, NONE);
const read = (document: Json) => readText(JSON.stringify(document));
const linesOf = ({ problems }: ReturnType<typeof readText>, severity: "error" | "warning") =>
  problems.filter((each) => each.severity === severity).map(({ path, message }) => `${path}: ${message}`);

const provider = { name: "p", dialect: "compat", base_url: "https://api.test/v1" };
const detector = (facts: Json): Json => ({ guardrails: { detectors: [{ type: "pii", ...facts }] } });
const nlp = (facts: Json): Json => detector({ type: "nlp", nlp: { tokenizer: "/t", labels: ["O"], ...facts } });

test("a zero timeout is refused everywhere, and empty values count as absent where document 3 says so", () => {
  const remote = { endpoint: "https://r.test", model: "m" };
  const pool = (picker: Json): Json => ({
    providers: [
      {
        name: "p",
        dialect: "compat",
        pool: { service: "http://s.test:80", picker: { service: "http://s.test:9", ...picker } },
      },
    ],
  });
  for (const zero of ["0s", "0", "0ms", "0h0m"]) {
    const rows: readonly (readonly [string, Json])[] = [
      ["guardrails.detectors[0].timeout", detector({ timeout: zero })],
      ["guardrails.async.timeout", { guardrails: { detectors: [], async: { timeout: zero } } }],
      ["guardrails.detectors[0].nlp.remote.timeout", nlp({ remote: { ...remote, timeout: zero } })],
      ["providers[0].pool.picker.timeout", pool({ timeout: zero })],
      [
        "providers[0].first_byte_timeout",
        { providers: [{ ...provider, first_byte_timeout: zero, retry: { attempts: 1, when: ["timeout"] } }] },
      ],
    ];
    for (const [path, document] of rows) {
      const lines = linesOf(read(document), "error");
      assert.ok(
        lines.some((line) => line.startsWith(`${path}: expected a duration above zero`)),
        `${path} ${zero}: ${lines.join("\n")}`,
      );
    }
  }
  const overlay = { op: "add", name: "x", base_url: "https://x.test", schema: { name: "compat", version: "" } };
  const channel = { id: "c", dialect: "", tier: "provider", op: "" };
  const empties: readonly Json[] = [
    {
      credentials: [
        { name: "c", cloudsig: { access_key_id: "", secret_access_key: "", session_token: "", service: "" } },
      ],
    },
    { catalog_overlays: [{ name: "o", providers: [{ ...overlay, channels: [channel] }] }] },
    { providers: [{ preset: "openai", dialect: "" }] },
    { profiles: [{ name: "f", budget: "", pool_subset: "" }] },
    { mcp: [{ name: "m", url: "https://m.test", registry: { name: "a.b/c", description: "d", version: "" } }] },
    nlp({ model: "", remote: { ...remote, version: "" } }),
    detector({ type: "classify", classify: { tokenizer: "/t", labels: ["O"], model: "/m", activation: "" } }),
    detector({ custom_recognizers: [{ name: "r", entity: "E", deny_list: ["x"], category: "" }] }),
    { guardrails: { detectors: [], pseudonym_key: "", fpe_key: "" } },
    { guardrails: { detectors: [{ type: "pii" }], rules: [{ name: "r", action: "annotate", when: "" }] } },
  ];
  for (const document of empties) assert.deepEqual(linesOf(read(document), "error"), [], JSON.stringify(document));
  assert.equal(read(empties[2] ?? {}).document?.providers[0]?.dialect, undefined);
});

test("anchors and at most 100 aliases are read; recursive or undefined ones are refused", () => {
  const shared = "base: &a";
  assert.match(linesOf(readText(shared), "error").join(), /base/);
  const { document } = readText(
    'providers:\n  - &first { name: one, dialect: compat, base_url: "https://a.test/v1", models: &m [a, b] }\n  - { name: two, dialect: compat, base_url: "https://b.test/v1", models: *m }\n',
  );
  assert.deepEqual(
    document?.providers.map(({ models }) => models),
    [
      ["a", "b"],
      ["a", "b"],
    ],
  );
  const many = (count: number) =>
    readText(
      `profiles:\n  - { name: p, allowed_models: &x [m] }\n${Array.from({ length: count }, (_, at) => `  - { name: p${at}, allowed_models: *x }`).join("\n")}\n`,
    );
  assert.deepEqual(linesOf(many(100), "error"), []);
  assert.match(linesOf(many(101), "error").join(), /more than 100 aliases/);
  const laughs = `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefgh"
    .split("")
    .map((it, at) => `${it}: &${it} [${Array(9).fill(`*${"abcdefg"[at]}`).join(",")}]`)
    .join("\n")}\n`;
  assert.match(linesOf(readText(laughs), "error").join(), /more than 100000 values/);
  assert.match(linesOf(readText("version: *nothing\n"), "error").join(), /names no anchor before it/);
  assert.match(linesOf(readText("providers: &p [*p]\n"), "error").join(), /names the node that contains it/);
  assert.match(linesOf(readText("auth: &a {}\nreconcile: { <<: *a }\n"), "error").join(), /merge keys/);
  const node = "cluster: { node_id: n, data_dir: &d /data, bootstrap: true }\naudit: { dir: *d }\n";
  assert.equal(readNodeFile({ name: "n.yaml", text: node }, NONE).document?.audit?.dir, "/data");
});

test("a setting without an effect causes a warning", () => {
  const custom = (validator: Json): Json =>
    detector({
      custom_recognizers: [{ name: "r", entity: "E", patterns: [{ regex: "[0-9]{4}", score: 0.5 }], validator }],
    });
  const at = "guardrails.detectors[0].custom_recognizers[0].validator";
  const rows: readonly (readonly [Json, string])[] = [
    [
      detector({ schedule: "async", apply_to: ["output"] }),
      "guardrails.detectors[0].schedule: `async` only applies to requests",
    ],
    [
      detector({ schedule: "overlap", apply_to: ["output"] }),
      "guardrails.detectors[0].schedule: `overlap` only applies to requests",
    ],
    [custom({ kind: "luhn", weights: [1, 2] }), `${at}.weights: is read only by a validator of kind \`weighted\``],
    [custom({ kind: "verhoeff", modulus: 7 }), `${at}.modulus: is read only by a validator of kind \`weighted\``],
    [custom({ kind: "iban", mod: "97-10" }), `${at}.mod: is read only by a validator of kind \`iso7064\``],
    [
      custom({ kind: "luhn", prefix: "x", sum_len: 2 }),
      `${at}.prefix: is read only by a validator of kind \`crc32_base62\``,
    ],
    [
      { providers: [{ ...provider, api_key: "sk-abc$" + "{V}" }] },
      "providers[0].api_key: only a part of this credential is a reference",
    ],
    [
      { providers: [{ ...provider, api_key: "$" + "{secret:A}-tail" }] },
      "providers[0].api_key: only a part of this credential is a reference",
    ],
  ];
  for (const [document, expected] of rows) {
    const result = read(document);
    assert.deepEqual(linesOf(result, "error"), [], JSON.stringify(document));
    assert.ok(
      linesOf(result, "warning").some((line) => line.startsWith(expected)),
      linesOf(result, "warning").join("\n"),
    );
  }
  for (const api_key of ["$" + "{V}", "$" + "{secret:A}", "$" + "{secret:A}$" + "{V}"]) {
    assert.deepEqual(linesOf(read({ providers: [{ ...provider, api_key }] }), "warning"), [], api_key);
  }
});

test("dead_after below ten seconds causes a warning", () => {
  const of = (dead_after: string) =>
    readNodeFile(
      {
        name: "n.yaml",
        text: JSON.stringify({ cluster: { node_id: "n", data_dir: "/d", bootstrap: true, dead_after } }),
      },
      NONE,
    );
  for (const [value, warns] of [
    ["9s", true],
    ["1ms", true],
    ["10s", false],
    ["1h", false],
    ["", false],
  ] as const) {
    const { problems, document } = of(value);
    assert.ok(document !== undefined, value);
    assert.equal(
      problems.some(({ path, severity }) => path === "cluster.dead_after" && severity === "warning"),
      warns,
      value,
    );
  }
});

test("among servers with one registry name the highest version gets it, and of equal ones the later", () => {
  const server = (name: string, version?: string): Json => ({
    name,
    url: `https://${name}.test`,
    registry: { name: "a.b/c", description: "d", ...(version !== undefined && { version }) },
  });
  const rows = [
    [["1.0.0", "2.0.0"], 1],
    [["2.0.0", "1.9.9"], 0],
    [["1.10.0", "1.9.0"], 0],
    [["1.0.0", "1.0.0"], 1],
    [["1.0.0", "1.0.0-rc.1"], 0],
    [["1.0.0-rc.2", "1.0.0-rc.10"], 1],
    [["1.0.0-alpha", "1.0.0-alpha.1"], 1],
    [["1.0.0+b", "1.0.0+a"], 1],
    [["0.1.0", undefined], 0],
    [[undefined, ""], 1],
    [["v2", "1.9"], 0],
    [["1.0", "1.0.0"], 1],
    [["99999999999999999999.0.0", "9.0.0"], 0],
  ] as const;
  for (const [versions, owner] of rows) {
    const mcp = versions.map((version, at) => server(`s${at}`, version));
    assert.equal(registryOwners(mcp as never).get("a.b/c"), owner, versions.join(" "));
    const result = read({ mcp });
    assert.deepEqual(linesOf(result, "error"), []);
    const loser = 1 - owner;
    assert.deepEqual(linesOf(result, "warning"), [
      `mcp[${loser}].registry.name: entry ${owner + 1} of this list has this name with a higher version: this server can only be reached at \`/mcp/s${loser}\` alone`,
    ]);
  }
  assert.ok(compareVersions("1.0.0-1", "1.0.0-a") < 0);
});

test("each system of ISO 7064 accepts its published examples and refuses each altered digit", () => {
  const rows = [
    ["11-2", "000000012146438X", "0123456789X"],
    ["11-2", "0794" + "0", "0123456789X"],
    ["37-2", "G123489654321Y", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ*"],
    ["97-10", "79444", "0123456789"],
    ["37-36", "A12425GABC1234002M", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"],
  ] as const;
  for (const [system, value, alphabet] of rows) {
    assert.ok(isIso7064(value, system), `${system} ${value}`);
    for (let at = 0; at < value.length; at += 1) {
      for (const other of alphabet) {
        if (other === value[at]) continue;
        const altered = value.slice(0, at) + other + value.slice(at + 1);
        assert.ok(!isIso7064(altered, system), `${system} ${altered}`);
      }
    }
  }
  for (const [value, system] of [
    ["", "11-2"],
    ["X", "11-2"],
    ["1", "97-10"],
    ["12", "37-36"],
    ["1X0", "11-2"],
    ["é1", "37-36"],
  ] as const) {
    assert.ok(!isIso7064(value, system), `${system} ${value}`);
  }
});
