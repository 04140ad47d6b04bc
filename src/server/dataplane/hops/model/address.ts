/** Finds out what a request is addressed to: its route, its model, and the provider that serves it. */
import { GatewayError } from "../../../../base/index.ts";
import {
  boundaryOf,
  type Dialect,
  findField,
  type Member,
  memberValue,
  type Route,
  scanObject,
  shownModelName,
  type ThreadUse,
  threadUse,
} from "../../../core/dialects/index.ts";
import type { Routed, Snapshot } from "../../../snapshot/index.ts";
import { RequestContent } from "./request-content.ts";

/** Where the model's name stands, so that an alias can be written in its place. */
export type ModelSpot =
  | { readonly kind: "none" }
  | { readonly kind: "json"; readonly member: Member }
  | { readonly kind: "form"; readonly start: number; readonly end: number }
  | { readonly kind: "path"; readonly prefix: string }
  | { readonly kind: "query" };

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
  readonly streams: boolean;
  readonly streamOptions: Member | undefined;
  /** Of a chat or messages request; undefined on routes that nobody translates. */
  readonly content: RequestContent | undefined;
  /** Of a message: what it asks of a conversation that the provider holds. */
  readonly thread: ThreadUse;
  /** Where the body names models that some hosts fall back on by themselves; empty where it does not. */
  readonly fallbacks: readonly Member[];
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
}

type Found = Pick<Target, "isJson" | "streams" | "streamOptions" | "thread" | "fallbacks" | "model" | "spot"> & {
  /** Of a JSON object: as the scan found it. */
  readonly mayLose: boolean;
};

const NOTHING: Found = {
  isJson: false,
  mayLose: false,
  streams: false,
  streamOptions: undefined,
  thread: "none",
  fallbacks: [],
  model: undefined,
  spot: { kind: "none" },
};

/** In characters, as in a form: rules and routing go through it, and no model has a name that comes near. */
const MAX_MODEL_LENGTH = 1_024;

/** `models` is OpenRouter's, `fallbacks` LiteLLM's. */
const WANTED = ["model", "stream", "stream_options", "thread", "models", "fallbacks"] as const;

/** Throws `invalid_request` or `model_not_found`. */
export function address(snapshot: Snapshot, place: Place, payload: Payload): Target {
  const found = readModel(snapshot, place, payload);
  const { model } = found;
  if (model === undefined && place.route.modelRequired) {
    throw new GatewayError("invalid_request", "The request names no model.", { param: "model" });
  }
  const routed = model === undefined ? snapshot.modelless : snapshot.route(model);
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
    streams: found.streams,
    streamOptions: found.streamOptions,
    thread: place.dialect === "messages" ? found.thread : "none",
    content:
      place.route.counterpart !== undefined && found.isJson
        ? new RequestContent(place.dialect, payload.plain, found.mayLose)
        : undefined,
    fallbacks: found.fallbacks,
  };
}

function readModel(snapshot: Snapshot, { route, path, query }: Place, { contentType, plain }: Payload): Found {
  switch (route.model) {
    case "none":
      return NOTHING;
    case "path": {
      const prefix = "/v1/models/";
      return { ...NOTHING, model: decodePath(path.slice(prefix.length)), spot: { kind: "path", prefix } };
    }
    case "query": {
      const model = new URLSearchParams(query).getAll("model");
      if (model.length <= 1) return { ...NOTHING, model: model[0], spot: { kind: "query" } };
      throw new GatewayError("invalid_request", "The query names the model twice.", { param: "model" });
    }
    case "batch":
      return { ...readJson(plain), ...readBatch(snapshot, plain) };
    case "json":
      return plain.length === 0 && !route.modelRequired ? NOTHING : readJson(plain);
    case "form": {
      if (/^application\/([a-z.+-]+\+)?json/i.test(contentType)) return readJson(plain);
      const boundary = /^multipart\/form-data/i.test(contentType) ? boundaryOf(contentType) : undefined;
      return boundary === undefined ? NOTHING : readForm(plain, boundary);
    }
    default:
      return route.model satisfies never;
  }
}

function readJson(plain: Buffer): Found {
  const scan = scanObject(plain, WANTED, true);
  if (scan.kind === "problem") throw new GatewayError("invalid_request", `Cannot read the request: ${scan.message}.`);
  const [model, stream, streamOptions, thread, ...fallbacks] = scan.members;
  const value = model === undefined ? undefined : valueOrRefuse(plain, model);
  // Null is absence where the model is optional; where it is required it is refused as absent.
  if (value !== undefined && value !== null && typeof value !== "string") {
    throw new GatewayError("invalid_request", "The model must be a string.", { param: "model" });
  }
  if (typeof value === "string" && value.length > MAX_MODEL_LENGTH) {
    throw new GatewayError("invalid_request", "The model's name is too long.", { param: "model" });
  }
  return {
    isJson: true,
    mayLose: scan.mayLose,
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
function readBatch(snapshot: Snapshot, plain: Buffer): Pick<Found, "model" | "spot"> {
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
  return { model: [...models][0], spot: { kind: "none" } };
}

function decodePath(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new GatewayError("invalid_request", "The path is not correctly percent-encoded.");
  }
}
