/**
 * Finds the texts of a request body with their kinds, and rewrites the body with other texts. Source: design decisions,
 * section 11; dialects reference, sections 2 to 5.
 *
 * Positions are found in the JSON text itself, so that both texts of a repeated name are read and rewritten, and every byte
 * outside a changed string stays. A body is read as JSON whatever its content type, like servers do that accept both. If
 * another reader could take it for a form, it is read as a form too; it can then be refused but not rewritten. Time is linear
 * in the body.
 */
import { isUtf8 } from "node:buffer";
import { isFormEncoded } from "../batch-file.ts";
import { createVerbatimOf } from "../json/json-source.ts";
import { tryParseJson } from "../json/json-values.ts";
import { boundaryOf } from "../multipart.ts";
import type { Dialect, Route } from "../routes/routes.ts";
import { Collector } from "./collector.ts";
import { readFormEncoded, readMultipart } from "./form-texts.ts";
import { applySeamChanges } from "./join-texts.ts";
import { type MemberRules, readMembers } from "./request-members.ts";
import { type Source, treeOf } from "./text-tree.ts";
import { type RequestTexts, type TextBody, Unreadable } from "./types.ts";
import { utf16In } from "./utf16.ts";

const TEXTS: MemberRules = { hasItems: false, isEvent: false };
const ITEMS: MemberRules = { hasItems: true, isEvent: false };
const EVENT: MemberRules = { hasItems: true, isEvent: true };

/** Members of the routes that are known. On any other route, every string of a JSON body is a `user` text. */
const ROUTES: ReadonlyMap<string, MemberRules> = new Map([
  ["chat_completions", TEXTS],
  ["completions", TEXTS],
  ["embeddings", TEXTS],
  ["images_generations", TEXTS],
  ["images_edits", TEXTS],
  ["audio_speech", TEXTS],
  ["moderations", TEXTS],
  ["rerank", TEXTS],
  ["messages", TEXTS],
  ["count_tokens", TEXTS],
  ["message_batches", TEXTS],
  ["complete", TEXTS],
  ["responses", ITEMS],
  ["responses_input_tokens", ITEMS],
  ["responses_compact", ITEMS],
  ["conversations", ITEMS],
  ["threads", ITEMS],
  ["assistants", ITEMS],
  ["realtime_client_secrets", EVENT],
  ["realtime_sessions", EVENT],
  ["responses_ws", EVENT],
  ["realtime", EVENT],
]);

/**
 * Reads the texts of a body. `body` may also be one client event of a session, under the route of its handshake. Bodies of both
 * dialects are read in the same way: the same names have the same meaning in both, and a gateway behind this one may accept
 * either.
 */
export function readTexts(route: Route, _dialect: Dialect, body: TextBody): RequestTexts {
  const { plain } = body;
  try {
    return plain.length === 0 ? noTexts(plain, undefined) : textsOf(route, body);
  } catch (error) {
    if (error instanceof Unreadable) return noTexts(plain, error.message);
    // A name has an invalid escape, or the JSON is nested too deep.
    if (error instanceof SyntaxError) return noTexts(plain, "the body is not JSON");
    throw error;
  }
}

function textsOf(route: Route, { plain, contentType, isJson }: TextBody): RequestTexts {
  const collector = new Collector();
  const boundary = /^\s*multipart\//i.test(contentType) ? boundaryOf(contentType) : undefined;
  const isForm = isFormEncoded(contentType);
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(contentType)?.[1];
  const utf16 = boundary === undefined && TEXT.test(contentType) ? utf16In(plain, charset) : undefined;
  if (utf16 !== undefined) {
    const source: Source = { text: utf16.text, spot: undefined };
    collector.add(utf16.text, { source, start: 0, end: utf16.text.length, write: (changed) => changed }, USER);
    return requestTexts(collector, plain, source, utf16.encode);
  }
  const isText = boundary === undefined && isUtf8(plain);
  const text = isText ? plain.toString("utf8") : "";
  if (isText && (isJson || isJsonText(text))) {
    const source: Source = { text, spot: undefined };
    const tree = treeOf(source);
    const members = ROUTES.get(route.name);
    if (members === undefined || tree.kind !== "object") collector.addAll(tree, { kind: "user", turn: 0 });
    else readMembers(collector, tree, members);
    if (isForm) readFormEncoded(collector, source, true);
    return requestTexts(collector, plain, source, "utf8");
  }
  if (boundary !== undefined) return readForm(collector, plain, boundary);
  if (isText && /^\s*[[{]/.test(text)) throw new Unreadable("the body is not JSON");
  if (isText && (isForm || TEXT.test(contentType))) {
    const source: Source = { text, spot: undefined };
    if (isForm) readFormEncoded(collector, source, false);
    else collector.add(text, { source, start: 0, end: text.length, write: (changed) => changed }, USER);
    return requestTexts(collector, plain, source, "utf8");
  }
  const media = /^\s*(?:(image|audio|video)\/|application\/octet-stream)/i.exec(contentType);
  if (media === null) throw new Unreadable("the type of the body is not supported");
  collector.uninspected.push(media[1]?.toLowerCase() ?? "file");
  return requestTexts(collector, plain, { text: "", spot: undefined }, "utf8");
}

const TEXT = /^\s*(?:text\/|application\/sdp)/i;
const USER = { kind: "user", turn: 0 } as const;

/** Returns whether the text is a JSON object, list or string. Throws `SyntaxError` if it is nested too deep. */
function isJsonText(text: string): boolean {
  if (!/^\s*[[{"]/.test(text)) return false;
  const value = tryParseJson(text);
  if (value === undefined) return false;
  createVerbatimOf(text, value);
  return true;
}

function readForm(collector: Collector, plain: Buffer, boundary: string): RequestTexts {
  // The text is created only when needed: most forms contain a file and are never rewritten.
  const body: Source = {
    spot: undefined,
    get text() {
      return plain.toString("latin1");
    },
  };
  readMultipart(collector, plain, { boundary, body });
  return requestTexts(collector, plain, body, "latin1");
}

function requestTexts(
  collector: Collector,
  plain: Buffer,
  body: Source,
  encoding: "utf8" | "latin1" | ((text: string) => Buffer),
): RequestTexts {
  const { texts, uninspected } = collector;
  const joined = collector.joined();
  const rewrite = (changes: readonly (string | undefined)[]): Buffer => {
    const text = collector.rewrite(body, joined.length === 0 ? changes : applySeamChanges(texts, joined, changes));
    if (text === undefined) return plain;
    return typeof encoding === "string" ? Buffer.from(text, encoding) : encoding(text);
  };
  return { texts, seams: joined.map((seam) => seam.text), uninspected, problem: undefined, rewrite };
}

const noTexts = (plain: Buffer, problem: string | undefined): RequestTexts => ({
  texts: [],
  seams: [],
  uninspected: [],
  problem,
  rewrite: () => plain,
});
