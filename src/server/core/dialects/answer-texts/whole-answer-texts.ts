/**
 * Reads the texts of a whole answer, and rewrites some of them. Only changed strings are written again; every other byte stays.
 * Source: design decisions, section 11; guardrails reference, 5.4.
 */
import { isUtf8 } from "node:buffer";
import type { Dialect } from "../routes/routes.ts";
import {
  isThought,
  type Media,
  repeatsRequest,
  type StringSelection,
  scopeOf,
  visitStrings,
} from "./answer-strings.ts";
import { applySplices, type JsonNode, memberOf, parseJsonTree, type Splice, stringIn } from "./positioned-json.ts";

/** Text of an answer, in the form of a segment. */
interface AnswerText {
  readonly kind: "output";
  readonly text: string;
  readonly ref: "";
  readonly turn: 0;
  readonly isReadOnly: false;
}

export interface AnswerTexts {
  readonly texts: readonly AnswerText[];
  /** Media types of content that is not text or could not be read, one entry each. */
  readonly uninspected: readonly Media[];
  /**
   * Returns the body with the changed texts, or the same buffer if nothing changes. `changes` has one entry per text;
   * `undefined` keeps it.
   */
  readonly rewrite: (changes: readonly (string | undefined)[]) => Buffer;
}

/** Position of a text in the body. `inner` is its position in the JSON text that the string at `node` contains. */
interface Spot {
  readonly path: string;
  readonly node: JsonNode;
  readonly text: string;
  readonly inner: { readonly json: string; readonly at: JsonNode } | undefined;
}

interface BodyTexts {
  readonly spots: Spot[];
  readonly uninspected: Media[];
  readonly seals: {
    readonly path: string;
    readonly node: JsonNode;
    readonly json: string;
    readonly kind: "seal" | "tokens";
  }[];
}

const KNOWN_ROUTES: ReadonlySet<string> = new Set([
  "chat_completions",
  "chat_completions_stored",
  "completions",
  "responses",
  "responses_item",
  "responses_compact",
  "messages",
  "complete",
]);
const BYTE_ORDER_MARK = "\ufeff";

/** Returns whether the members of the route's answers are known. */
function selectionOf(routeName: string): StringSelection {
  return KNOWN_ROUTES.has(routeName) ? "known" : "every";
}

function answerText(text: string): AnswerText {
  return { kind: "output", text, ref: "", turn: 0, isReadOnly: false };
}

/**
 * Reads the texts of an answer. `plain` is the body without content encoding. JSON, or JSON lines, is read string by string;
 * any other text is one text; bytes that are not UTF-8 are not inspected.
 */
export function readAnswerTexts(routeName: string, dialect: Dialect, plain: Buffer): AnswerTexts {
  if (!isUtf8(plain)) return { texts: [], uninspected: ["file"], rewrite: () => plain };
  const source = plain.toString("utf8");
  const start = source.startsWith(BYTE_ORDER_MARK) ? 1 : 0;
  const body: BodyTexts = { spots: [], uninspected: [], seals: [] };
  const text = start === 0 ? source : ` ${source.slice(1)}`;
  const root = parseJsonTree(text);
  if (root !== undefined) readTree(text, root, selectionOf(routeName), dialect, body);
  else if (!readLines(text, body)) return singleText(source, plain);
  const { spots, seals, uninspected } = body;
  return {
    texts: spots.map((spot) => answerText(spot.text)),
    uninspected,
    rewrite: (changes) => {
      const changed = spots.flatMap((spot, i) => {
        const change = changes[i];
        return change === undefined || change === spot.text ? [] : [{ spot, change }];
      });
      if (changed.length === 0) return plain;
      return Buffer.from(applySplices(source, [...stringSplices(changed), ...sealSplices(changed, seals)]));
    },
  };
}

interface ChangedText {
  readonly spot: Spot;
  readonly change: string;
}

function stringSplices(changed: readonly ChangedText[]): readonly Splice[] {
  const splices: Splice[] = [];
  const inner = new Map<JsonNode, { readonly json: string; readonly splices: Splice[] }>();
  for (const { spot, change } of changed) {
    const json = JSON.stringify(change);
    if (spot.inner === undefined) {
      splices.push({ ...bounds(spot.node), text: json });
      continue;
    }
    const within = inner.get(spot.node) ?? { json: spot.inner.json, splices: [] };
    inner.set(spot.node, within);
    within.splices.push({ ...bounds(spot.inner.at), text: json });
  }
  for (const [node, within] of inner) {
    splices.push({ ...bounds(node), text: JSON.stringify(applySplices(within.json, within.splices)) });
  }
  return splices;
}

/** Returns the splices that remove the tokens of a scope with a changed text, and the signature of a changed thought. */
function sealSplices(changed: readonly ChangedText[], seals: BodyTexts["seals"]): readonly Splice[] {
  const scopes = new Set(changed.map(({ spot }) => scopeOf(spot.path)));
  const thoughts = new Set(changed.filter(({ spot }) => isThought(spot.path)).map(({ spot }) => scopeOf(spot.path)));
  return seals
    .filter(({ path, kind }) => (kind === "seal" ? thoughts : scopes).has(scopeOf(path)))
    .map(({ node, json }) => ({ ...bounds(node), text: json }));
}

const bounds = ({ start, end }: JsonNode): { start: number; end: number } => ({ start, end });

function readTree(text: string, root: JsonNode, reading: StringSelection, dialect: Dialect, body: BodyTexts): void {
  const isResponse = dialect === "compat" && stringIn(text, memberOf(root, "object")) === "response";
  const parts =
    isResponse && root.kind === "object"
      ? root.members.filter(({ name }) => !repeatsRequest(name)).map(({ name, value }) => ({ path: name, node: value }))
      : [{ path: "", node: root }];
  for (const { path, node } of parts) {
    visitStrings(text, node, path, reading, (found) => {
      if (found.kind === "media") body.uninspected.push(found.media);
      else if (found.kind === "seal")
        body.seals.push({ path: found.path, node: found.node, json: removedSealJson(found.path), kind: found.kind });
      else if (found.kind === "tokens") {
        body.seals.push({ path: found.path, node: found.node, json: removedTokensJson(found.path), kind: found.kind });
      } else if (found.kind === "text" || !readArguments(found.text, found.path, found.node, body)) {
        body.spots.push({ path: found.path, node: found.node, text: found.text, inner: undefined });
      }
    });
  }
}

/** Returns the JSON that replaces a seal whose text was changed. */
export function removedSealJson(path: string): string {
  return path.endsWith(".encrypted_content") ? "null" : '""';
}

/** Returns the JSON that replaces tokens: a response always has a list there. */
export function removedTokensJson(path: string): string {
  return path.startsWith("choices.") ? "null" : "[]";
}

/** Reads the strings of call arguments. Returns false if the text is not JSON. */
function readArguments(json: string, path: string, node: JsonNode, body: BodyTexts): boolean {
  const root = parseJsonTree(json);
  if (root === undefined || root.kind === "scalar") return false;
  visitStrings(json, root, "", "every", (found) => {
    if (found.kind !== "text" && found.kind !== "arguments") return;
    body.spots.push({ path, node, text: found.text, inner: { json, at: found.node } });
  });
  return true;
}

/** Reads lines of JSON: results of a batch. Returns false if a line is not JSON. */
function readLines(text: string, body: BodyTexts): boolean {
  const trees: JsonNode[] = [];
  let start = 0;
  for (const line of text.split("\n")) {
    if (line.trim() !== "") {
      const root = parseJsonTree(line);
      if (root === undefined || root.kind === "scalar") return false;
      trees.push(shiftNode(root, start));
    }
    start += line.length + 1;
  }
  for (const root of trees) readTree(text, root, "every", "compat", body);
  return trees.length > 0;
}

function shiftNode(node: JsonNode, by: number): JsonNode {
  const place = { start: node.start + by, end: node.end + by };
  if (node.kind === "array") return { kind: "array", ...place, items: node.items.map((item) => shiftNode(item, by)) };
  if (node.kind !== "object") return { kind: node.kind, ...place };
  return {
    kind: "object",
    ...place,
    members: node.members.map(({ name, value }) => ({ name, value: shiftNode(value, by) })),
  };
}

function singleText(source: string, plain: Buffer): AnswerTexts {
  return {
    texts: source === "" ? [] : [answerText(source)],
    uninspected: [],
    rewrite: ([change]) => (change === undefined || change === source ? plain : Buffer.from(change)),
  };
}
