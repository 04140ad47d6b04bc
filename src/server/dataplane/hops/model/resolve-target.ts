/** Determines the target of a request: its route, its model and the provider that serves it. */
import { GatewayError } from "../../../../base/index.ts";
import {
  boundaryOf,
  type Dialect,
  findField,
  isFormEncoded,
  type JsonScan,
  type Member,
  memberValue,
  parametersNamed,
  type Route,
  scanObject,
  shownModelName,
  type ThreadUse,
  threadUse,
} from "../../../core/dialects/index.ts";
import type { RequestMemory } from "../../../memory/index.ts";
import type { Routed, Snapshot } from "../../../snapshot/index.ts";
import { holdValues, RequestContent } from "./request-content.ts";

/** Location of the model's name in the request, needed to replace an alias. */
type ModelLocation =
  | { readonly kind: "none" }
  | { readonly kind: "json"; readonly member: Member }
  | { readonly kind: "form"; readonly start: number; readonly end: number }
  | { readonly kind: "path"; readonly prefix: string }
  | { readonly kind: "query" }
  /** Parameter of a form-encoded body. */
  | { readonly kind: "parameter" };

export interface Target extends Routed {
  readonly route: Route;
  readonly dialect: Dialect;
  readonly path: string;
  /** Query with its question mark, or empty. */
  readonly query: string;
  /** Model as the client requested it. */
  readonly model: string | undefined;
  readonly modelLocation: ModelLocation;
  /** Content type of the body; empty if the request has none. */
  readonly contentType: string;
  /** Body as it is sent upstream if nothing changes. */
  readonly original: Buffer;
  /** Body without its content encoding; the same buffer as `original` if it has none. */
  readonly plain: Buffer;
  /** Whether `plain` is a JSON object. */
  readonly isJson: boolean;
  /**
   * Whether the body could name a model but cannot be read: it is neither JSON nor the kind of form that its content type
   * declares.
   */
  readonly isUnread: boolean;
  readonly streams: boolean;
  readonly streamOptions: Member | undefined;
  /** Parsed content of a chat, messages or Responses request; `undefined` on routes that are never translated. */
  readonly content: RequestContent | undefined;
  /** How the request uses a thread that the provider stores. Messages dialect only. */
  readonly thread: ThreadUse;
  /** Members that name fallback models, which some hosts use by themselves; empty without any. */
  readonly fallbacks: readonly Member[];
  /** Whether the body was rewritten. `original` is then the rewritten body, without content encoding. */
  readonly isRewritten: boolean;
}

/** Parsed request line. */
export interface RouteMatch {
  readonly route: Route;
  readonly dialect: Dialect;
  readonly path: string;
  readonly query: string;
}

interface Payload {
  readonly contentType: string;
  /** Body as the client sent it. */
  readonly original: Buffer;
  /** Body without its content encoding. */
  readonly plain: Buffer;
  /** Memory account for parsing. */
  readonly memory: RequestMemory;
  /** Receives the model as soon as it is known, even if the request is then refused. */
  readonly facts?: { model: string | undefined };
  /** Returns the provider for a request without a model; `undefined` for the default provider. */
  readonly routeWithoutModel?: () => Routed | undefined;
}

type ParsedBody = Pick<
  Target,
  "isJson" | "isUnread" | "streams" | "streamOptions" | "thread" | "fallbacks" | "model" | "modelLocation"
> & {
  /** Whether parsing might lose the spelling of a number or the order of names; false unless the body is a JSON object. */
  readonly mayLoseSpelling: boolean;
  readonly values: number;
};

const NONE: readonly Member[] = [];
const isPresent = (member: Member | undefined): member is Member => member !== undefined;

const NOTHING_FOUND: ParsedBody = {
  isJson: false,
  isUnread: false,
  mayLoseSpelling: false,
  values: 0,
  streams: false,
  streamOptions: undefined,
  thread: "none",
  fallbacks: NONE,
  model: undefined,
  modelLocation: { kind: "none" },
};

/** Maximum length of a model name, in UTF-16 units. Rules and routing process the name, and real names are far shorter. */
const MAX_MODEL_LENGTH = 1_024;

/** Maximum length of the white space before a JSON object. */
const MAX_SPACE = 1_024;

/** Members in the order in which `parseMembers` reads them. `models` is a field of OpenRouter, `fallbacks` of LiteLLM. */
const MEMBERS = ["model", "stream", "stream_options", "thread", "models", "fallbacks"] as const;

/**
 * Returns the target of a request. Throws `invalid_request` or `model_not_found`, and for a batch also `body_too_large` or
 * `overloaded`.
 */
export function resolveTarget(snapshot: Snapshot, match: RouteMatch, payload: Payload): Target {
  const found = readModel(snapshot, match, payload);
  const { model } = found;
  if (payload.facts !== undefined) payload.facts.model = model;
  if (model === undefined && match.route.modelRequired) {
    throw new GatewayError("invalid_request", "The request names no model.", { param: "model" });
  }
  const { routeWithoutModel = () => snapshot.modelless } = payload;
  const routed = model === undefined ? routeWithoutModel() : snapshot.route(model);
  if (routed === undefined) {
    const what = model === undefined ? "requests without a model" : `the model ${shownModelName(model)}`;
    throw new GatewayError("model_not_found", `No provider serves ${what}, and there is no default provider.`, {
      param: "model",
    });
  }
  return {
    provider: routed.provider,
    label: routed.label,
    route: match.route,
    dialect: match.dialect,
    path: match.path,
    query: match.query,
    model,
    modelLocation: found.modelLocation,
    contentType: payload.contentType,
    original: payload.original,
    plain: payload.plain,
    isJson: found.isJson,
    isUnread: found.isUnread,
    streams: found.streams,
    streamOptions: found.streamOptions,
    thread: match.dialect === "messages" ? found.thread : "none",
    content:
      match.route.form !== undefined && found.isJson
        ? new RequestContent(
            match.route.form,
            { plain: payload.plain, mayLoseSpelling: found.mayLoseSpelling, values: found.values },
            payload.memory,
          )
        : undefined,
    fallbacks: found.fallbacks,
    isRewritten: false,
  };
}

function readModel(
  snapshot: Snapshot,
  { route, path, query }: RouteMatch,
  { contentType, plain, memory }: Payload,
): ParsedBody {
  switch (route.model) {
    case "none":
      return NOTHING_FOUND;
    case "path": {
      const prefix = "/v1/models/";
      return {
        ...NOTHING_FOUND,
        model: decodePath(path.slice(prefix.length)),
        modelLocation: { kind: "path", prefix },
      };
    }
    case "query": {
      return {
        ...NOTHING_FOUND,
        model: singleModelParameter(query.slice(1), "query"),
        modelLocation: { kind: "query" },
      };
    }
    case "batch":
      return readBatch(snapshot, plain, memory);
    case "json":
      return plain.length === 0 && !route.modelRequired ? NOTHING_FOUND : readJson(plain);
    case "form":
      // Many clients announce JSON on requests without a body too, such as GET.
      return plain.length === 0 && !route.modelRequired ? NOTHING_FOUND : readJsonOrForm(plain, contentType);
    default:
      return route.model satisfies never;
  }
}

/**
 * Finds the model in a body that is JSON or a form. Anything that parses as JSON is read as JSON regardless of its content type,
 * because servers that accept both do the same.
 */
function readJsonOrForm(plain: Buffer, contentType: string): ParsedBody {
  if (/^application\/([a-z.+-]+\+)?json/i.test(contentType)) return readJson(plain);
  if (plain.length === 0) return NOTHING_FOUND;
  const scan = /^\s*\{/.test(plain.toString("latin1", 0, MAX_SPACE)) ? scanObject(plain, MEMBERS, true) : undefined;
  if (scan?.kind === "object") return parseMembers(plain, scan);
  const boundary = formBoundary(contentType);
  if (boundary !== undefined) return readForm(plain, boundary);
  if (scan !== undefined || !isFormEncoded(contentType)) return { ...NOTHING_FOUND, isUnread: true };
  return {
    ...NOTHING_FOUND,
    model: singleModelParameter(plain.toString("utf8"), "form"),
    modelLocation: { kind: "parameter" },
  };
}

/** Returns the path with the model as it is sent to the provider, on routes whose path names it. */
export function pathWithModel({ path, modelLocation, model: asked }: Target, model: string | undefined): string {
  if (modelLocation.kind !== "path" || model === undefined || model === asked) return path;
  return modelLocation.prefix + model.split("/").map(encodeURIComponent).join("/");
}

/** Returns the boundary of any multipart type, because some servers read all of them as forms. */
export const formBoundary = (contentType: string): string | undefined =>
  /^multipart\//i.test(contentType) ? boundaryOf(contentType) : undefined;

function singleModelParameter(text: string, where: "query" | "form"): string | undefined {
  const [only, second] = parametersNamed(text, "model");
  if (second !== undefined || only?.isPlain === false) {
    throw new GatewayError("invalid_request", `The ${where} names the model twice, or in other letters.`, {
      param: "model",
    });
  }
  return only === undefined ? undefined : checkLength(only.value);
}

function readJson(plain: Buffer): ParsedBody {
  const scan = scanObject(plain, MEMBERS, true);
  if (scan.kind === "problem") throw new GatewayError("invalid_request", `Cannot read the request: ${scan.message}.`);
  return parseMembers(plain, scan);
}

function checkLength(model: string): string {
  if (model.length <= MAX_MODEL_LENGTH) return model;
  throw new GatewayError("invalid_request", "The model's name is too long.", { param: "model" });
}

function parseMembers(plain: Buffer, scan: Extract<JsonScan, { kind: "object" }>): ParsedBody {
  const { members } = scan;
  const model = members[0];
  const stream = members[1];
  const value = model === undefined ? undefined : valueOrRefuse(plain, model);
  // `null` counts as absent: it is allowed where the model is optional, and refused as missing where it is required.
  if (value !== undefined && value !== null && typeof value !== "string") {
    throw new GatewayError("invalid_request", "The model must be a string.", { param: "model" });
  }
  if (typeof value === "string") checkLength(value);
  return {
    isJson: true,
    isUnread: false,
    mayLoseSpelling: scan.mayLoseSpelling,
    values: scan.values,
    streams: stream !== undefined && plain[stream.valueStart] === 0x74,
    streamOptions: members[2],
    thread: threadUse(plain, members[3]),
    fallbacks: members[4] === undefined && members[5] === undefined ? NONE : members.slice(4).filter(isPresent),
    model: value ?? undefined,
    modelLocation: model === undefined ? NOTHING_FOUND.modelLocation : { kind: "json", member: model },
  };
}

function valueOrRefuse(plain: Buffer, member: Member): unknown {
  try {
    return memberValue(plain, member);
  } catch {
    throw new GatewayError("invalid_request", "The model must be a string.", { param: "model" });
  }
}

function readForm(plain: Buffer, boundary: string): ParsedBody {
  const field = findField(plain, boundary, "model");
  if (field.kind === "problem") throw new GatewayError("invalid_request", `Cannot read the request: ${field.message}.`);
  if (field.kind === "absent") return NOTHING_FOUND;
  return { ...NOTHING_FOUND, model: field.value, modelLocation: { kind: "form", start: field.start, end: field.end } };
}

/**
 * Finds the model of a batch. Each entry names a model, and all of them must have the same provider, because a request is sent to
 * one provider.
 */
function readBatch(snapshot: Snapshot, plain: Buffer, memory: RequestMemory): ParsedBody {
  const found = readJson(plain);
  holdValues({ plain, values: found.values }, memory);
  const models = new Set<string>();
  try {
    const { requests } = JSON.parse(plain.toString("utf8")) as { requests: { params: { model: unknown } }[] };
    for (const { params } of requests) models.add(String(params.model));
  } catch (cause) {
    throw new GatewayError("invalid_request", "Each request of the batch must have `params` with a model.", {
      cause,
    });
  }
  const providers = new Set([...models].map((model) => snapshot.route(model)?.provider));
  if (providers.size > 1) {
    throw new GatewayError("invalid_request", "The batch names models of several providers: send one batch to each.");
  }
  if ([...models].some((model) => [...providers][0]?.aliases.has(model) === true)) {
    throw new GatewayError("invalid_request", "A batch must name the provider's own models, not aliases.", {
      param: "model",
    });
  }
  return { ...found, model: [...models][0], modelLocation: { kind: "none" } };
}

function decodePath(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new GatewayError("invalid_request", "The path is not correctly percent-encoded.");
  }
}
