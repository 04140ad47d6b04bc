/** An engine over tables in the test's memory. */

import { readFileSync } from "node:fs";
import { type QueryResult, TABLES, type TableName } from "../../../../src/admin-api/index.ts";
import { nullLog } from "../../../../src/base/index.ts";
import {
  openQueryEngine,
  type QueryEngineOptions,
  type QueryRequest,
  type QuerySource,
} from "../../../../src/server/admin/query/index.ts";

export type Rows = Partial<Readonly<Record<TableName, readonly unknown[]>>>;

export const ALL_TABLES = Object.keys(TABLES) as readonly TableName[];

/** 2026-01-10T00:00:00Z. */
export const NOW = Date.UTC(2026, 0, 10);
export const INDEX = 42;

export const readData = (name: string): string =>
  readFileSync(new URL(`../../../data/admin/query/${name}`, import.meta.url), "utf8");

export const fixedRows = (): Rows => JSON.parse(readData("rows.json")) as Rows;

export const sourceOf = (rows: readonly unknown[]): QuerySource => ({ version: () => 1, take: () => () => rows });

/** An engine with parsed answers. */
export interface TestEngine {
  run(request: QueryRequest): Promise<QueryResult>;
  close(): Promise<void>;
}

export function openParsingEngine(options: QueryEngineOptions): TestEngine {
  const engine = openQueryEngine(options);
  return {
    async run(request) {
      const { rows, ...answer } = await engine.run(request);
      return { ...answer, rows: JSON.parse(`[${rows.join("")}]`) as QueryResult["rows"] };
    },
    close: () => engine.close(),
  };
}

export function openTestEngine(rows: Rows, options: Partial<QueryEngineOptions> = {}): TestEngine {
  const sources = new Map(ALL_TABLES.map((name) => [name, sourceOf(rows[name] ?? [])]));
  return openParsingEngine({ sources, index: () => INDEX, now: () => NOW, log: nullLog, ...options });
}

export const never = (): AbortSignal => new AbortController().signal;
