/** Content type of a request's body, for a client that knows a method and a path but no operation. */

import { BASE_PATH } from "./admin-paths.ts";
import type { Operation } from "./operation-definition.ts";
import { OPERATIONS } from "./operation-table.ts";

interface RequestContentType {
  readonly contentType: string;
  /** True for a body that is streamed; any other is limited by the gateway's memory. */
  readonly isStream: boolean;
}

const JSON_TYPE = "application/json";

/**
 * Returns the content type of a request's body; JSON if no operation defines another type. `path` starts at the root of the
 * gateway, with or without a query.
 */
export function bodyShapeOf(method: string, path: string): RequestContentType {
  const pathname = path.split("?", 1)[0] ?? "";
  const operations: readonly Operation[] = Object.values(OPERATIONS);
  const found = operations.find((operation) => operation.method === method && formOf(operation).test(pathname));
  if (found?.body.kind === "document") return { contentType: "application/yaml", isStream: false };
  if (found?.body.kind === "stream") return { contentType: found.body.contentType, isStream: true };
  return { contentType: JSON_TYPE, isStream: false };
}

function formOf({ path }: Operation): RegExp {
  return new RegExp(`^${BASE_PATH}${path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`);
}
