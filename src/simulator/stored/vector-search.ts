/**
 * Answers `POST /v1/vector_stores/{id}/search`: pieces of files, ranked by the share of the query's words that they
 * contain.
 */

import { Refused } from "../dialect-errors.ts";
import { arrayOf, integerOf, type Json, type JsonObject, objectOf, objectsOf, stringOf } from "../json-fields.ts";
import { type Answer, json, type RoutedCall } from "../route-types.ts";
import { COMPAT } from "../rules/compat-wording.ts";
import { anything, byType, choice, decimal, flag, list, object, text, whole } from "../rules/shape-rules.ts";
import { storeOf } from "./vector-stores.ts";

const PIECE_WORDS = 400;

/** Maximum depth of filters; deeper ones are refused. */
const MAX_DEPTH = 8;

const rule = object(
  {
    query: byType({ string: text({ min: 1 }), array: list(text({ min: 1 }), { min: 1 }) }),
    filters: anything,
    max_num_results: whole(1, 50),
    ranking_options: object({
      ranker: choice("none", "auto", "default-2024-11-15"),
      score_threshold: decimal(0, 1),
    }),
    rewrite_query: flag,
  },
  ["query"],
);

export function searchVectorStore(call: RoutedCall): Answer {
  const { body, stored } = call;
  const store = storeOf(call);
  rule(body, "", COMPAT);
  const query = body["query"];
  const queries = typeof query === "string" ? [query] : (arrayOf(query) ?? []).map((each) => stringOf(each) ?? "");
  const wanted = new Set(wordsOf(queries.join(" ")));
  const threshold = Number(objectOf(body["ranking_options"])?.["score_threshold"] ?? 0);
  const found = store.files
    .values()
    .filter(({ status, attributes }) => status === "completed" && isMet(body["filters"], attributes, 0))
    .flatMap(({ id, attributes }) => {
      const file = stored.files.get(id);
      if (file === undefined) return [];
      return piecesOf(file.content.toString("utf8")).map((piece) => {
        const met = new Set(wordsOf(piece).filter((word) => wanted.has(word)));
        const score = wanted.size === 0 ? 0 : met.size / wanted.size;
        return { file_id: id, filename: file.filename, score, attributes, content: [{ type: "text", text: piece }] };
      });
    })
    .filter(({ score }) => score > 0 && score >= threshold)
    .sort((a, b) => b.score - a.score || (a.file_id < b.file_id ? -1 : 1));
  const most = integerOf(body["max_num_results"]) ?? 10;
  const page = { search_query: queries, data: found.slice(0, most), has_more: found.length > most, next_page: null };
  return json(JSON.stringify({ object: "vector_store.search_results.page", ...page }));
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

export function piecesOf(text: string): readonly string[] {
  const words = text.match(/\S+\s*/g) ?? [];
  const pieces: string[] = [];
  for (let at = 0; at < words.length; at += PIECE_WORDS) {
    pieces.push(
      words
        .slice(at, at + PIECE_WORDS)
        .join("")
        .trimEnd(),
    );
  }
  return pieces;
}

const COMPARE: Readonly<Record<string, (has: Json | undefined, value: Json) => boolean>> = {
  eq: (has, value) => has === value,
  ne: (has, value) => has !== value,
  gt: (has, value) => typeof has === "number" && typeof value === "number" && has > value,
  gte: (has, value) => typeof has === "number" && typeof value === "number" && has >= value,
  lt: (has, value) => typeof has === "number" && typeof value === "number" && has < value,
  lte: (has, value) => typeof has === "number" && typeof value === "number" && has <= value,
  in: (has, value) => has !== undefined && (arrayOf(value)?.includes(has) ?? false),
  nin: (has, value) => has === undefined || !(arrayOf(value)?.includes(has) ?? false),
};

/** Returns whether the attributes match the filter: a comparison, or `and` and `or` of other filters. */
function isMet(filters: Json | undefined, attributes: JsonObject, depth: number): boolean {
  if (filters === undefined || filters === null) return true;
  const filter = objectOf(filters);
  const type = stringOf(filter?.["type"]) ?? "";
  if (filter !== undefined && depth < MAX_DEPTH) {
    const inner = objectsOf(filter["filters"]);
    if (type === "and") return inner.every((each) => isMet(each, attributes, depth + 1));
    if (type === "or") return inner.some((each) => isMet(each, attributes, depth + 1));
    const [key, value] = [stringOf(filter["key"]), filter["value"]];
    const compare = Object.hasOwn(COMPARE, type) ? COMPARE[type] : undefined;
    if (compare !== undefined && key !== undefined && value !== undefined) {
      return compare(Object.hasOwn(attributes, key) ? attributes[key] : undefined, value);
    }
  }
  throw new Refused(400, "Invalid 'filters': not a comparison or compound filter.", "filters", "invalid_value");
}
