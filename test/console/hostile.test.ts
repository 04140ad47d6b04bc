/**
 * Every view over lists in which each text is hostile to a screen: control characters, direction marks, combining
 * marks, emoji, and 10,000 characters. The rows are generated from the gateway's schemas, so a new column is tested
 * automatically. Everything a view draws stays in its cells and contains no terminal escape.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { OPERATIONS, TABLES } from "../../src/admin-api/index.ts";
import { cellsOf } from "../../src/base/index.ts";
import { drawScreen } from "../../src/console/draw/draw-screen.ts";
import { type ReaderNode, type ReaderTree, renderTree } from "../../src/console/draw/screen-reader.ts";
import type { Data } from "../../src/console/model/data.ts";
import { VERBS } from "../../src/console/model/key-bindings.ts";
import type { State } from "../../src/console/model/state.ts";
import { textOfLine } from "../../src/console/model/text.ts";
import type { View } from "../../src/console/model/view.ts";
import { createStep } from "../../src/console/store/reducer.ts";
import { VIEWS } from "../../src/console/views/all.ts";
import { drawWorkbench } from "../../src/console/workbench/draw-workbench.ts";
import { stepWorkbench } from "../../src/console/workbench/step-workbench.ts";
import { dataOf as incident, NOW, online, startOf } from "../e2e/console/incident/readings.ts";
import { isShort } from "../support/random-length.ts";

const HOSTILE: Readonly<Record<string, string>> = {
  controls: "a\u001b[2J\u001b]52;c;eXl5\u0007b\r\n\tc\u0000\u0085\u009b31md",
  directions: "a\u202eb\u2066c\u200ed\u061ce\u2069",
  "invisible characters": "a\u200bb\u2060c\ufeffd\u00ade\u2028f\u{e0041}g",
  "combining marks": `z${"\u0301\u0489".repeat(200)}a`,
  emoji: "👩‍👩‍👧‍👦🇩🇪🏳️‍🌈👍🏽1️⃣漢字ｆक्षि",
  "half of a surrogate pair": "a\ud800b\udc00c",
  "ten thousand characters": "x".repeat(10_000),
  "ten thousand wide characters": "漢".repeat(10_000),
  nothing: "",
};

interface JsonOf {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly items?: JsonOf;
  readonly properties?: Readonly<Record<string, JsonOf>>;
  readonly additionalProperties?: JsonOf | boolean;
}

/** A value of the schema with `text` in all texts; `at` distinguishes rows and cycles through choices. */
function sampleOf(schema: JsonOf, text: string, at: number): unknown {
  const { enum: choices, format: shape, items, properties, additionalProperties } = schema;
  const kinds = [schema.type ?? "string"].flat();
  if (at % 3 === 2 && kinds.includes("null")) return null;
  if (choices !== undefined)
    return choices.filter((one) => one !== null)[at % Math.max(1, choices.length)] ?? choices[0];
  switch (kinds[0]) {
    case "integer":
      return at === 0 ? 0 : Number.MAX_SAFE_INTEGER >> at;
    case "number":
      return at / 3;
    case "boolean":
      return at % 2 === 0;
    case "array":
      return items === undefined ? [] : [sampleOf(items, text, at), sampleOf(items, `${text}2`, at)];
    case "object":
      if (properties !== undefined) return objectOf(properties, text, at);
      return typeof additionalProperties === "object" ? { [text]: sampleOf(additionalProperties, text, at) } : {};
    default:
      if (shape === "date-time") return new Date(NOW - at * 60_000).toISOString();
      return shape === undefined ? `${text}${at === 0 ? "" : at}` : "1h0m0s";
  }
}

const objectOf = (properties: Readonly<Record<string, JsonOf>>, text: string, at: number): object =>
  Object.fromEntries(Object.entries(properties).map(([name, of]) => [name, sampleOf(of, text, at)]));

const ROWS = [0, 1, 2, 3];

function schemaOf(id: keyof typeof OPERATIONS): JsonOf {
  const { answer } = OPERATIONS[id];
  assert.ok(answer.kind === "json", id);
  return answer.schema.json;
}

/** All lists, and the other answers that views read. */
function readingsOf(text: string): ReadonlyMap<string, unknown> {
  const lists = Object.entries(TABLES).map(
    ([table, { json }]) => [`list_${table}`, ROWS.map((at) => sampleOf(json as JsonOf, text, at))] as const,
  );
  const others = (
    ["list_audit_records", "list_backend_errors", "list_backend_members", "list_source_revisions"] as const
  ).map((id) => {
    const answer = sampleOf(schemaOf(id), text, 1) as { readonly items?: readonly unknown[] };
    return [id, answer.items ?? []] as const;
  });
  const single = (["get_status", "get_whoami", "get_config"] as const).map(
    (id) => [id, sampleOf(schemaOf(id), text, 1)] as const,
  );
  return new Map<string, unknown>([...lists, ...others, ...single]);
}

function dataOf(text: string): Data {
  const known = readingsOf(text);
  const usual = incident();
  return {
    get: ((need: { readonly id: string }) =>
      known.has(need.id)
        ? { value: known.get(need.id), freshAt: NOW, requestedAt: NOW, failure: undefined }
        : usual.get(need as never)) as Data["get"],
  };
}

const step = createStep({ views: VIEWS, stepWorkbench });

/** Characters that control a terminal or reorder text. */
const OBEYED = /[\p{Cc}\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\u2028\u2029]|\p{Cs}/u;

function assertDrawn(state: State, what: string): void {
  const { columns, rows } = state.size;
  const lines = drawScreen(state, VIEWS, drawWorkbench);
  assert.equal(lines.length, rows - 1, what);
  for (const line of lines) {
    const text = textOfLine(line);
    assert.ok(cellsOf(text) <= columns, `${what}: ${cellsOf(text)} cells of ${columns}: ${text.slice(0, 300)}`);
    assert.doesNotMatch(text, OBEYED, what);
  }
}

const textsOf = (nodes: ReaderTree): readonly string[] =>
  nodes.flatMap((node: ReaderNode) => [node.text, ...textsOf(node.children ?? [])]);

const SIZES = [
  [120, 35],
  [200, 60],
  [80, 24],
  [60, 16],
] as const;

/** Keys that show a row: its fields, its JSON, its target, and each verb's dialog. */
const LOOKS = ["d", "J", "enter", "t", "space", "b", "#", "K", "?", "ctrl-s"] as const;
const KEYS = [...LOOKS, ...Object.values(VERBS).map(({ chord }) => chord)];

/** Fewer keys for long texts, which are expensive to measure. */
const FEW = ["d", "enter"];
const LONG = 300;

const placesOf = (view: View, text: string) =>
  view.subject === undefined ? [{ view: view.id }] : [{ view: view.id }, { view: view.id, subject: text }];

/**
 * In a short run each place takes every fourth of the sizes and keys, and its neighbors the others; long texts take
 * every fourth place.
 */
const STRIDE = isShort ? 4 : 1;
const turnOf = <Item>(items: readonly Item[], turn: number): readonly Item[] =>
  items.filter((_, index) => index % STRIDE === turn % STRIDE);

for (const [what, text] of Object.entries(HOSTILE)) {
  test(`${what} in every text of every list break no view`, () => {
    const data = dataOf(text);
    let turn = what.length;
    for (const view of VIEWS) {
      for (const place of placesOf(view, text)) {
        turn += 1;
        if (text.length > LONG && turn % STRIDE !== 0) continue;
        const begun = { ...startOf(false), place };
        const at = step(step(begun, { kind: "data", data, now: NOW }).state, online).state;
        for (const [columns, rows] of text.length > LONG ? SIZES.slice(-1) : turnOf(SIZES, turn)) {
          const there = step(at, { kind: "size", columns, rows }).state;
          assertDrawn(there, `${view.id} at ${columns}x${rows}`);
          assertDrawn(step(there, { kind: "key", chord: ":" }).state, `${view.id}, where one may go`);
        }
        const readerTree = textsOf(renderTree(at, VIEWS, drawWorkbench)).join("");
        assert.doesNotMatch(readerTree, OBEYED, `${view.id}, spoken`);
        for (const chord of text.length > LONG ? FEW : turnOf(KEYS, turn)) {
          const { state } = step(at, { kind: "key", chord });
          assertDrawn(state, `${view.id}, ${chord}`);
          assertDrawn(step(state, { kind: "size", columns: 60, rows: 16 }).state, `${view.id}, ${chord} at 60x16`);
        }
      }
    }
  });
}
