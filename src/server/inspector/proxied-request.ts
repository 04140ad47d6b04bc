/**
 * Reads the body of a proxied request, depending on path, headers and shape: both model dialects by their routes, MCP and A2A by
 * their messages at any path, and any other JSON, form or text by its strings. Anything else is counted as uninspected. Source:
 * design decisions, sections 11 and 19.
 */
import { isUtf8 } from "node:buffer";
import { GatewayError } from "../../base/index.ts";
import { type ProxiedRequest, type ProxiedShape, readProxied, TooManyTexts } from "../core/agents/index.ts";
import { findRoute, memberValue, pathReadings, type Route, readTexts, scanObject } from "../core/dialects/index.ts";
import { type Segment, segmentOf } from "../core/guardrails/index.ts";
import type { HeaderList } from "./exchange/index.ts";
import { arrivalOf, dialectPath, headerValue, pathOf } from "./header-list.ts";

/** One message, which is inspected separately. Fields that it does not have are empty strings. */
export interface ProxiedMessage {
  readonly segments: readonly Segment[];
  readonly model: string;
  readonly route: string;
  readonly method: string;
  readonly name: string;
}

export interface ProxiedTexts {
  /** Messages of the request, at least one. */
  readonly messages: readonly ProxiedMessage[];
  readonly uninspected: readonly string[];
  /** Builds the changed body. `changes`: the new text of each segment of all messages in order; `undefined` keeps a segment. */
  readonly rewrite: (changes: readonly (string | undefined)[]) => RewrittenRequest;
}

interface RewrittenRequest {
  readonly body: Buffer;
  /** New header values by lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
}

/** Refusal that is written in the protocol of the request. */
export class ShapedError extends GatewayError {
  readonly shape: ProxiedShape | undefined;

  constructor(code: GatewayError["code"], message: string, shape: ProxiedShape | undefined, cause?: unknown) {
    super(code, message, { cause });
    this.shape = shape;
  }
}

/** Refusal of a request that cannot be read. */
class UnreadableRequest extends ShapedError {
  constructor(message: string, shape?: ProxiedShape, cause?: unknown) {
    super("invalid_request", message, shape, cause);
  }
}

const NO_HEADERS: ReadonlyMap<string, string> = new Map();

interface ReadRequest {
  readonly texts: ProxiedTexts;
  /** Protocol and message; `undefined` for requests of neither agent protocol. */
  readonly shape: ProxiedShape | undefined;
  /** Whether the request asks an A2A agent to post its results to a URL. */
  readonly asksForPush: boolean;
}

const NO_AGENT_PROTOCOL = { shape: undefined, asksForPush: false } as const;

/**
 * Reads the request. `plain`: the decompressed body. `isRead`: false if no guardrail reads bodies. Throws `UnreadableRequest`.
 */
export function readProxiedRequest(headers: HeaderList, plain: Buffer, isRead: boolean): ReadRequest {
  const route = routeOf(headers);
  if (isKnown(route)) return { texts: modelTexts(route, headers, plain, isRead), ...NO_AGENT_PROTOCOL };
  const reading = readProxied(arrivalOf(headers), plain);
  if (reading.kind === "refused") throw new UnreadableRequest(reading.message, reading.shape);
  if (reading.kind === "other") return { texts: modelTexts(route, headers, plain, isRead), ...NO_AGENT_PROTOCOL };
  const { shape, asksForPush } = reading.request;
  return { texts: agentTexts(reading.request, plain, isRead), shape, asksForPush };
}

/** Route used for a body that belongs to no known route. */
const UNKNOWN = ((): Route => {
  const route = findRoute("POST", "/v1/unknown");
  if (route === undefined) throw new Error("there is no route for unknown requests");
  return route;
})();

export const isKnown = (route: Route): boolean => route.name !== UNKNOWN.name;

export const routeOf = (headers: HeaderList): Route =>
  findRoute(headerValue(headers, ":method"), dialectPath(pathOf(headers))) ?? UNKNOWN;

/** Returns the routes that the path may mean to the server behind the proxy. */
export const routesOf = (headers: HeaderList): readonly Route[] =>
  pathReadings(pathOf(headers)).flatMap(
    (path) => findRoute(headerValue(headers, ":method"), dialectPath(path.replace(AZURE, "/v1/"))) ?? [],
  );

/** Matches Azure OpenAI paths without a version, which is in their query. */
const AZURE = /^.*\/openai\/(?!v1\/)/;

function agentTexts({ calls, shape, texts }: ProxiedRequest, plain: Buffer, isRead: boolean): ProxiedTexts {
  const nothing = { model: "", route: "", segments: [] };
  if (!isRead) {
    return {
      messages: calls.map((call) => ({ ...nothing, ...call })),
      uninspected: [],
      rewrite: () => withSameHeaders(plain),
    };
  }
  const read = readTextsOrRefuse(texts, shape);
  let from = 0;
  const messages = calls.map((call, at) => {
    const segments = read.texts.slice(from, read.endIndexes[at]);
    from = read.endIndexes[at] ?? from;
    return { ...nothing, ...call, segments };
  });
  return {
    messages,
    uninspected: read.uninspected,
    rewrite(changes) {
      const { body, headers } = read.rewrite(changes);
      return { body: Buffer.from(body), headers };
    },
  };
}

function readTextsOrRefuse(read: ProxiedRequest["texts"], shape: ProxiedShape): ReturnType<ProxiedRequest["texts"]> {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof TooManyTexts)) throw cause;
    const message = "Guardrails cannot inspect the request, because it has too many texts: send it in parts.";
    throw new UnreadableRequest(message, shape, cause);
  }
}

const withSameHeaders = (body: Buffer): RewrittenRequest => ({ body, headers: NO_HEADERS });

function modelTexts(route: Route, headers: HeaderList, plain: Buffer, isRead: boolean): ProxiedTexts {
  const facts = { model: modelIn(plain), route: route.name, method: "", name: "" };
  const contentType = headerValue(headers, "content-type");
  const isKnownRoute = isKnown(route);
  const what = isRead && !isKnownRoute ? uninspectedKind(contentType, plain) : undefined;
  if (!isRead || what !== undefined) {
    const uninspected = what === undefined ? [] : [what];
    return { messages: [{ ...facts, segments: [] }], uninspected, rewrite: () => withSameHeaders(plain) };
  }
  const type = isKnownRoute ? contentType : contentTypeToReadAs(contentType, plain);
  const { texts, seams, problem, uninspected, rewrite } = readTexts(route, "compat", {
    plain,
    contentType: type,
    isJson: false,
  });
  if (problem !== undefined) throw new UnreadableRequest(`Guardrails cannot inspect the request: ${problem}.`);
  return {
    messages: [{ ...facts, segments: [...texts, ...seams].map(segmentOf) }],
    uninspected,
    rewrite: (changes) => withSameHeaders(rewrite(changes)),
  };
}

/** Content types that hold text, in any character set. */
const TEXTUAL =
  /^\s*(?:text\/|multipart\/|application\/(?:[\w.-]+\+)?(?:json|xml|yaml|x-yaml|graphql|javascript|sql|toml|sdp|x-ndjson|jsonl)\b|application\/x-www-form-urlencoded\b)/i;
/** Content types that the text reader recognizes and counts itself. */
const MEDIA = /^\s*(?:image\/|audio\/|video\/|application\/octet-stream\b)/i;
const GRPC = /^\s*application\/grpc\b/i;
const CONTROLS = /[\0-\x08\x0e-\x1f]/;
/** Character sets whose bytes below 0x80 mean the same as in ASCII. */
const LIKE_ASCII = /^(?:us-ascii|ascii|iso-8859-\d{1,2}|latin-?1|windows-125\d|cp125\d)$/i;
const UTF8 = /^utf-?8$/i;

/** Returns the label under which an uninspected body is counted, or `undefined` if the body is read or refused. */
function uninspectedKind(contentType: string, plain: Buffer): string | undefined {
  if (plain.length === 0 || contentType === "" || TEXTUAL.test(contentType) || MEDIA.test(contentType))
    return undefined;
  if (GRPC.test(contentType)) return "grpc";
  return isPlainText(plain) ? undefined : "other";
}

const isPlainText = (plain: Buffer): boolean => isUtf8(plain) && !CONTROLS.test(plain.toString("latin1"));

/** Returns the content type by which the body is read. Throws `UnreadableRequest`. */
function contentTypeToReadAs(contentType: string, plain: Buffer): string {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(contentType)?.[1] ?? "utf-8";
  const isRead = UTF8.test(charset) || (LIKE_ASCII.test(charset) && plain.every((byte) => byte < 0x80));
  if (!isRead && plain.length > 0) {
    throw new UnreadableRequest(
      "Guardrails cannot inspect the request: its body is in a character set that is not read.",
    );
  }
  const isText = !/^\s*(?:multipart\/|application\/(?:x-www-form-urlencoded|sdp)\b)/i.test(contentType);
  return isText && !MEDIA.test(contentType) && isPlainText(plain) ? "text/plain" : contentType;
}

/** Returns the `model` member, or an empty string if it is missing, not a string, or the body is not a JSON object. */
function modelIn(body: Buffer): string {
  const scan = scanObject(body, ["model"], true);
  const [member] = scan.kind === "object" ? scan.members : [];
  if (member === undefined) return "";
  try {
    const value = memberValue(body, member);
    return typeof value === "string" ? value : "";
  } catch {
    return "";
  }
}
