/** What the body of a request is sent as, for a caller that has a method and a path and no operation. */

import type { Operation } from "./operation.ts";
import { OPERATIONS } from "./operations.ts";
import { BASE_PATH } from "./paths.ts";

export interface SentAs {
  readonly contentType: string;
  /** Taken as it comes; any other body is bounded by what the gateway holds. */
  readonly isStream: boolean;
}

const JSON_TYPE = "application/json";

/** `path` from the root of the gateway, with or without a query. JSON where no operation says otherwise. */
export function bodyShapeOf(method: string, path: string): SentAs {
  const bare = path.split("?", 1)[0] ?? "";
  const operations: readonly Operation[] = Object.values(OPERATIONS);
  const found = operations.find((operation) => operation.method === method && formOf(operation).test(bare));
  if (found?.body.kind === "document") return { contentType: "application/yaml", isStream: false };
  if (found?.body.kind === "stream") return { contentType: found.body.contentType, isStream: true };
  return { contentType: JSON_TYPE, isStream: false };
}

function formOf({ path }: Operation): RegExp {
  return new RegExp(`^${BASE_PATH}${path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`);
}
