/** Finds out what a request is addressed to: its route, its model, and the provider that serves it. */
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
import type { Holding } from "../../../memory/index.ts";
import type { Routed, Snapshot } from "../../../snapshot/index.ts";
import { holdValues, RequestContent } from "./request-content.ts";

/** Where the model's name stands, so that an alias can be written in its place. */
export type ModelSpot =
  | { readonly kind: "none" }
  | { readonly kind: "json"; readonly member: Member }
  | { readonly kind: "form"; readonly start: number; readonly end: number }
  | { readonly kind: "path"; readonly prefix: string }
  | { readonly kind: "query" }
  /** Of a form-encoded body. */
  | { readonly kind: "parameter" };

export interface Target extends Routed {
  readonly route: Route;
  readonly dialect: Dialect;
  readonly path: string;
  /** With its question mark, or empty. */
  readonly query: string;
  /** As the client asked for it. */
  readonly model: string | undefined;
  readonly spot: ModelSpot;
  /** Of the body; empty where the request names none. */
  readonly contentType: string;
  /** The body as it goes upstream when nothing changes. */
  readonly original: Buffer;
  /** The body with its content encoding taken off; the same buffer where there was none. */
  readonly plain: Buffer;
  /** True when `plain` is a JSON object. */
  readonly isJson: boolean;
  /** There is a body in which a model may stand, and it is neither JSON nor the form that it says it is. */
  readonly isUnread: boolean;
  readonly streams: boolean;
  readonly streamOptions: Member | undefined;
  /** Of a chat or messages request; undefined on routes that nobody translates. */
  readonly content: RequestContent | undefined;
  /** Of a message: what it asks of a conversation that the provider holds. */
  readonly thread: ThreadUse;
  /** Where the body names models that some hosts fall back on by themselves; empty where it does not. */
  readonly fallbacks: readonly Member[];
  /** Guardrails rewrote it: `original` is not what the client sent, and has no content encoding. */
  readonly isRewritten: boolean;
}

/** A request's line, read. */
export interface Place {
  readonly route: Route;
  readonly dialect: Dialect;
  readonly path: string;
  readonly query: string;
}

export interface Payload {
  readonly contentType: string;
  /** As the client sent it. */
  readonly original: Buffer;
  /** With its content encoding taken off. */
  readonly plain: Buffer;
  /** Holds what reading it takes. */
  readonly held: Holding;
  /** Told the model as soon as it is read, also of a request that is refused for it. */
  readonly facts?: { model: string | undefined };
  /** Who serves a request that names no model, where that is not the default provider. */
  readonly modelless?: () => Routed | undefined;
}

type Found = Pick<
  Target,
  "isJson" | "isUnread" | "streams" | "streamOptions" | "thread" | "fallbacks" | "model" | "spot"
> & {
  /** Of a JSON object: as the scan found it. */
  readonly mayLose: boolean;
  readonly values: number;
};

const NOTHING: Found = {
  isJson: false,
  isUnread: false,
  mayLose: false,
  values: 0,
  streams: false,
  streamOptions: undefined,
  thread: "none",
  fallbacks: [],
  model: undefined,
  spot: { kind: "none" },
};

/** In characters, as in a form: rules and routing go through it, and no model has a name that comes near. */
const MAX_MODEL_LENGTH = 1_024;

/** White space before a JSON object. */
const MAX_SPACE = 1_024;

/** `models` is OpenRouter's, `fallbacks` LiteLLM's. */
const WANTED = ["model", "stream", "stream_options", "thread", "models", "fallbacks"] as const;

/** Throws `invalid_request` or `model_not_found`. */
export function address(snapshot: Snapshot, place: Place, payload: Payload): Target {
  const found = readModel(snapshot, place, payload);
  const { model } = found;
  if (payload.facts !== undefined) payload.facts.model = model;
  if (model === undefined && place.route.modelRequired) {
    throw new GatewayError("invalid_request", "The request names no model.", { param: "model" });
  }
  const { modelless = () => snapshot.modelless } = payload;
  const routed = model === undefined ? modelless() : snapshot.route(model);
  if (routed === undefined) {
    const what = model === undefined ? "requests without a model" : `the model ${shownModelName(model)}`;
    throw new GatewayError("model_not_found", `No provider serves ${what}, and there is no default provider.`, {
      param: "model",
    });
  }
  return {
    provider: routed.provider,
    label: routed.label,
    route: place.route,
    dialect: place.dialect,
    path: place.path,
    query: place.query,
    model,
    spot: found.spot,
    contentType: payload.contentType,
    original: payload.original,
    plain: payload.plain,
    isJson: found.isJson,
    isUnread: found.isUnread,
    streams: found.streams,
    streamOptions: found.streamOptions,
    thread: place.dialect === "messages" ? found.thread : "none",
    content:
      place.route.form !== undefined && found.isJson
        ? new RequestContent(
            place.route.form,
            { plain: payload.plain, mayLose: found.mayLose, values: found.values },
            payload.held,
          )
        : undefined,
    fallbacks: found.fallbacks,
    isRewritten: false,
  };
}

function readModel(snapshot: Snapshot, { route, path, query }: Place, { contentType, plain, held }: Payload): Found {
  switch (route.model) {
    case "none":
      return NOTHING;
    case "path": {
      const prefix = "/v1/models/";
      return { ...NOTHING, model: decodePath(path.slice(prefix.length)), spot: { kind: "path", prefix } };
    }
    case "query": {
      return { ...NOTHING, model: oneParameter(query.slice(1), "query"), spot: { kind: "query" } };
    }
    case "batch":
      return readBatch(snapshot, plain, held);
    case "json":
      return plain.length === 0 && !route.modelRequired ? NOTHING : readJson(plain);
    case "form":
      return readAny(plain, contentType);
    default:
      return route.model satisfies never;
  }
}

/** What parses as JSON is read as JSON, whatever it says it is: so do servers that take both. */
function readAny(plain: Buffer, contentType: string): Found {
  if (/^application\/([a-z.+-]+\+)?json/i.test(contentType)) return readJson(plain);
  if (plain.length === 0) return NOTHING;
  const scan = /^\s*\{/.test(plain.toString("latin1", 0, MAX_SPACE)) ? scanObject(plain, WANTED, true) : undefined;
  if (scan?.kind === "object") return foundIn(plain, scan);
  const boundary = formBoundary(contentType);
  if (boundary !== undefined) return readForm(plain, boundary);
  if (scan !== undefined || !isFormEncoded(contentType)) return { ...NOTHING, isUnread: true };
  return { ...NOTHING, model: oneParameter(plain.toString("utf8"), "form"), spot: { kind: "parameter" } };
}

/** Of whatever is in parts: some servers take them all for a form. */
export const formBoundary = (contentType: string): string | undefined =>
  /^multipart\//i.test(contentType) ? boundaryOf(contentType) : undefined;

function oneParameter(text: string, where: "query" | "form"): string | undefined {
  const [only, second] = parametersNamed(text, "model");
  if (second !== undefined || only?.isPlain === false) {
    throw new GatewayError("invalid_request", `The ${where} names the model twice, or in other letters.`, {
      param: "model",
    });
  }
  return only === undefined ? undefined : short(only.value);
}

function readJson(plain: Buffer): Found {
  const scan = scanObject(plain, WANTED, true);
  if (scan.kind === "problem") throw new GatewayError("invalid_request", `Cannot read the request: ${scan.message}.`);
  return foundIn(plain, scan);
}

function short(model: string): string {
  if (model.length <= MAX_MODEL_LENGTH) return model;
  throw new GatewayError("invalid_request", "The model's name is too long.", { param: "model" });
}

function foundIn(plain: Buffer, scan: Extract<JsonScan, { kind: "object" }>): Found {
  const [model, stream, streamOptions, thread, ...fallbacks] = scan.members;
  const value = model === undefined ? undefined : valueOrRefuse(plain, model);
  // Null is absence where the model is optional; where it is required it is refused as absent.
  if (value !== undefined && value !== null && typeof value !== "string") {
    throw new GatewayError("invalid_request", "The model must be a string.", { param: "model" });
  }
  if (typeof value === "string") short(value);
  return {
    isJson: true,
    isUnread: false,
    mayLose: scan.mayLose,
    values: scan.values,
    streams: stream !== undefined && plain[stream.valueStart] === 0x74,
    streamOptions,
    thread: threadUse(plain, thread),
    fallbacks: fallbacks.filter((it) => it !== undefined),
    model: value ?? undefined,
    spot: model === undefined ? NOTHING.spot : { kind: "json", member: model },
  };
}

function valueOrRefuse(plain: Buffer, member: Member): unknown {
  try {
    return memberValue(plain, member);
  } catch {
    throw new GatewayError("invalid_request", "The model must be a string.", { param: "model" });
  }
}

function readForm(plain: Buffer, boundary: string): Found {
  const field = findField(plain, boundary, "model");
  if (field.kind === "problem") throw new GatewayError("invalid_request", `Cannot read the request: ${field.message}.`);
  if (field.kind === "absent") return NOTHING;
  return { ...NOTHING, model: field.value, spot: { kind: "form", start: field.start, end: field.end } };
}

/** A batch names a model in each entry; one request goes to one provider, so they must agree on it. */
function readBatch(snapshot: Snapshot, plain: Buffer, held: Holding): Found {
  const found = readJson(plain);
  holdValues({ plain, values: found.values }, held);
  const models = new Set<string>();
  try {
    const { requests } = JSON.parse(plain.toString("utf8")) as { requests: { params: { model: unknown } }[] };
    for (const { params } of requests) models.add(String(params.model));
  } catch (cause) {
    throw new GatewayError("invalid_request", "A batch is an object whose requests each have params with a model.", {
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
  return { ...found, model: [...models][0], spot: { kind: "none" } };
}

function decodePath(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new GatewayError("invalid_request", "The path is not correctly percent-encoded.");
  }
}
