/** Finds out what a request is addressed to: its route, its model, and the provider that serves it. */
import { GatewayError } from "../../base/index.ts";
import {
  boundaryOf,
  findField,
  type Member,
  memberValue,
  type Route,
  type RouteDialect,
  scanObject,
} from "../core/dialects/index.ts";
import type { Routed, Snapshot } from "../snapshot/index.ts";

/** Where the model's name stands, so that an alias can be written in its place. */
export type ModelSpot =
  | { readonly kind: "none" }
  | { readonly kind: "json"; readonly member: Member }
  | { readonly kind: "form"; readonly start: number; readonly end: number }
  | { readonly kind: "path"; readonly prefix: string }
  | { readonly kind: "query" };

export interface Target extends Routed {
  readonly route: Route;
  readonly dialect: RouteDialect;
  readonly path: string;
  /** With its question mark, or empty. */
  readonly query: string;
  /** As the client asked for it. */
  readonly model: string | undefined;
  readonly spot: ModelSpot;
  /** The body as it goes upstream when nothing changes. */
  readonly original: Buffer;
  /** The body with its content encoding taken off; the same buffer where there was none. */
  readonly plain: Buffer;
  /** True when `plain` is a JSON object. */
  readonly isJson: boolean;
  readonly streams: boolean;
  readonly streamOptions: Member | undefined;
}

export interface Addressed {
  readonly route: Route;
  readonly dialect: RouteDialect;
  readonly path: string;
  readonly query: string;
  readonly contentType: string;
  readonly body: Buffer;
  /** The body with its content encoding taken off. */
  readonly plain: Buffer;
}

type Body = Pick<Target, "original" | "plain" | "isJson" | "streams" | "streamOptions" | "model" | "spot">;

const WANTED = ["model", "stream", "stream_options"] as const;

/** Throws `invalid_request` or `model_not_found`. */
export function address(snapshot: Snapshot, request: Addressed): Target {
  const { route, dialect, path, query } = request;
  const body = readModel(snapshot, request);
  if (body.model === undefined && route.modelRequired) {
    throw new GatewayError("invalid_request", "The request names no model.", { param: "model" });
  }
  const routed =
    body.model === undefined
      ? snapshot.defaultProvider && { provider: snapshot.defaultProvider, label: "none" }
      : snapshot.route(body.model);
  if (routed === undefined) {
    const what = body.model === undefined ? "requests without a model" : "this model";
    throw new GatewayError("model_not_found", `No provider serves ${what}, and there is no default provider.`, {
      param: "model",
    });
  }
  return { ...body, route, dialect, path, query, provider: routed.provider, label: routed.label };
}

function readModel(snapshot: Snapshot, request: Addressed): Body {
  const { route } = request;
  const raw: Body = {
    original: request.body,
    plain: request.plain,
    isJson: false,
    streams: false,
    streamOptions: undefined,
    model: undefined,
    spot: { kind: "none" },
  };
  switch (route.model) {
    case "none":
      return raw;
    case "path": {
      const prefix = "/v1/models/";
      return { ...raw, model: decodePath(request.path.slice(prefix.length)), spot: { kind: "path", prefix } };
    }
    case "query": {
      const model = new URLSearchParams(request.query).getAll("model");
      if (model.length > 1)
        throw new GatewayError("invalid_request", "The query names the model twice.", { param: "model" });
      return { ...raw, model: model[0], spot: { kind: "query" } };
    }
    case "batch":
      return { ...readJson(raw), ...readBatch(snapshot, raw) };
    case "json":
      return request.body.length === 0 && !route.modelRequired ? raw : readJson(raw);
    case "form": {
      const { contentType } = request;
      if (/^application\/([a-z.+-]+\+)?json/i.test(contentType)) return readJson(raw);
      const boundary = /^multipart\/form-data/i.test(contentType) ? boundaryOf(contentType) : undefined;
      return boundary === undefined ? raw : readForm(raw, boundary);
    }
    default:
      return route.model satisfies never;
  }
}

function readJson(raw: Body): Body {
  const { plain } = raw;
  const scan = scanObject(plain, WANTED);
  if (scan.kind === "problem") throw new GatewayError("invalid_request", `Cannot read the request: ${scan.message}.`);
  const [model, stream, streamOptions] = scan.members;
  const value = model === undefined ? undefined : valueOrRefuse(plain, model);
  // Null is absence where the model is optional; where it is required it is refused as absent.
  if (value !== undefined && value !== null && typeof value !== "string") {
    throw new GatewayError("invalid_request", "The model must be a string.", { param: "model" });
  }
  return {
    ...raw,
    isJson: true,
    streams: stream !== undefined && plain[stream.valueStart] === 0x74,
    streamOptions,
    model: value ?? undefined,
    spot: model === undefined ? { kind: "none" } : { kind: "json", member: model },
  };
}

function valueOrRefuse(plain: Buffer, member: Member): unknown {
  try {
    return memberValue(plain, member);
  } catch {
    throw new GatewayError("invalid_request", "The model must be a string.", { param: "model" });
  }
}

function readForm(raw: Body, boundary: string): Body {
  const field = findField(raw.plain, boundary, "model");
  if (field.kind === "problem") throw new GatewayError("invalid_request", `Cannot read the request: ${field.message}.`);
  if (field.kind === "absent") return raw;
  return { ...raw, model: field.value, spot: { kind: "form", start: field.start, end: field.end } };
}

/** A batch names a model in each entry; one request goes to one provider, so they must agree on it. */
function readBatch(snapshot: Snapshot, { plain }: Body): Pick<Body, "model" | "spot"> {
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
