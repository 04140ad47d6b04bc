/** Typical statements of operators with their results on fixed rows, and refused statements. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { after, describe, it } from "node:test";
import { GatewayError } from "../../../../src/base/index.ts";
import { cpuMs } from "../../../support/cpu-time.ts";
import { ALL_TABLES, fixedRows, INDEX, never, openTestEngine, readData } from "./support.ts";

interface Example {
  readonly sql: string;
  readonly params: readonly unknown[];
  /** Name and type, separated by a space. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

const engine = openTestEngine(fixedRows());
after(() => engine.close());

describe("statements", () => {
  for (const { sql, params, columns, rows } of JSON.parse(readData("statements.json")) as readonly Example[]) {
    it(sql, async () => {
      const result = await engine.run({ sql, params, tables: ALL_TABLES, signal: never() });
      assert.deepEqual(
        result.columns.map(({ name, type }) => `${name} ${type}`),
        columns,
      );
      assert.deepEqual(result.rows, rows);
      assert.equal(result.index, INDEX);
    });
  }
});

describe("refusals", () => {
  const hostile = readData("hostile.txt")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("## "));
  const tables = ALL_TABLES.filter((name) => name !== "secrets" && name !== "audit_heads");

  it("refuse every hostile statement with a sentence, and the engine continues", async () => {
    assert.ok(hostile.length >= 200);
    const globals = Reflect.ownKeys(globalThis);
    const files = readdirSync(".");
    for (const sql of hostile) {
      await assert.rejects(
        engine.run({ sql, params: [], tables, signal: never() }),
        (error) => error instanceof GatewayError && error.code === "invalid" && /^.{8,}[.?]$/s.test(error.message),
        sql,
      );
    }
    assert.deepEqual(Reflect.ownKeys(globalThis), globals);
    assert.deepEqual(readdirSync("."), files);
    const { rows } = await engine.run({ sql: "SELECT count(*) FROM keys", params: [], tables, signal: never() });
    assert.deepEqual(rows, [[5]]);
  });

  const refused = async (sql: string, params: readonly unknown[] = []): Promise<string> => {
    const error = await engine.run({ sql, params, tables, signal: never() }).then(
      () => undefined,
      (it: unknown) => it,
    );
    assert.ok(error instanceof GatewayError && error.code === "invalid", `${sql} was not refused`);
    return error.message;
  };

  it("do not distinguish a forbidden table from an unknown one", async () => {
    const known = await refused("SELECT * FROM secrets");
    const unknown = await refused("SELECT * FROM xyzzyzy");
    assert.equal(known.replace("secrets", "xyzzyzy"), unknown);
    assert.match(
      known,
      /^There is no table `secrets` that you may read: there are a2a_agents, acknowledgements, artifacts, /,
    );
  });

  it("name an unknown column and the nearest known one", async () => {
    assert.equal(await refused("SELECT profil FROM keys"), "There is no column `profil`; did you mean `profile`?");
    assert.match(
      await refused('SELECT name FROM keys WHERE name = "ci"'),
      /no column "ci"; a text is written in single/,
    );
  });

  it("suggest a known name for an unknown one", async () => {
    assert.match(await refused("SELECT metadata -> 'team' FROM keys"), /`->>` reads/);
    assert.match(await refused("SELECT concat(name, id) FROM keys"), /joined with `\|\|`/);
    const recent = "SELECT name FROM keys WHERE created_at > now() - interval '1 day'";
    assert.match(await refused(recent), /`INTERVAL` is not known: a span is seconds, as in `epoch\(now\(\)\) - /);
    assert.match(await refused("SELECT lenght(name) FROM keys"), /did you mean `length`\?/);
  });

  it("require as many values as parameters, of supported types", async () => {
    assert.match(await refused("SELECT ?"), /has 1 `\?`, and 0 values/);
    assert.match(await refused("SELECT 1", ["x"]), /has 0 `\?`, and 1 values/);
    assert.match(await refused("SELECT ?", [{}]), /A parameter is/);
    assert.match(await refused("SELECT ?", [Number.POSITIVE_INFINITY]), /A parameter is/);
  });

  it("stop deep nesting and excessive length quickly", async () => {
    const began = cpuMs();
    for (const sql of [
      `SELECT ${"(".repeat(101)}1${")".repeat(101)}`,
      `SELECT ${"(".repeat(60_000)}`,
      `SELECT ${"NOT ".repeat(16_000)}true`,
      `SELECT ${"- ".repeat(30_000)}1`,
      `SELECT ${"1+".repeat(30_000)}1`,
      `SELECT ${"CASE WHEN ".repeat(6_000)}1`,
      `SELECT ${"CASE ".repeat(12_000)}1`,
      `SELECT 1 ${"UNION SELECT 1 ".repeat(4_000)}`,
      `SELECT 1 FROM keys ${"JOIN keys ON 1=1 ".repeat(3_000)}`,
      `SELECT 1 FROM keys ORDER BY ${"1+1,".repeat(16_000)}1`,
      `SELECT ${"count(1),".repeat(7_000)}1 FROM keys`,
      `SELECT ${Array.from({ length: 5_000 }, (_, n) => `sum(${n})`).join(" OR ")} FROM budgets`,
      `SELECT 'a' ${"->> 'b' ".repeat(8_000)}`,
      `SELECT 1${" ".repeat(65_536)}`,
    ]) {
      await refused(sql);
    }
    assert.ok(cpuMs() - began < 5_000);
  });
});
