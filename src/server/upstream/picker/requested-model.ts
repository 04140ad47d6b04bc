/** Reads and replaces the requested model, the only part of a request that a picker may change. */
import { memberValue, replaceValue, scanObject } from "../../core/dialects/index.ts";
import type { UpstreamRequest } from "../ports.ts";

/** Maximum length of a model's name. */
const MAX_MODEL_LENGTH = 512;

/** Returns the top-level `model` of a body that is a JSON object, or `undefined` if there is none. */
export function modelIn(body: Buffer): string | undefined {
  const model = modelMemberOf(body);
  return model !== undefined && model.length > 0 && model.length <= MAX_MODEL_LENGTH ? model : undefined;
}

function modelMemberOf(body: Buffer): string | undefined {
  const scan = scanObject(body, ["model"]);
  const member = scan.kind === "object" ? scan.members[0] : undefined;
  if (member === undefined) return undefined;
  try {
    const value = memberValue(body, member);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined; // Invalid escape.
  }
}

/** Headers with digests of the unmodified body (RFC 9530; RFC 3230; RFC 1864). */
const DIGESTS: ReadonlySet<string> = new Set(["content-digest", "repr-digest", "digest", "content-md5"]);

/** Returns the request for another model. Returns it unchanged if its body names no model that can be replaced. */
export function withModel(request: UpstreamRequest, model: string): UpstreamRequest {
  const { body, headers } = request;
  if (body === null || modelMemberOf(body) === model) return request;
  const scan = scanObject(body, ["model"]);
  const member = scan.kind === "object" ? scan.members[0] : undefined;
  if (member === undefined) return request;
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    if (!DIGESTS.has(name.toLowerCase())) kept.push(name, headers[i + 1] as string);
  }
  return { ...request, headers: kept, body: replaceValue(body, member, JSON.stringify(model)) };
}
